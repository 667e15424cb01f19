// SPDX-License-Identifier: Apache-2.0
// Who makes up a peak, against the detours of the same recording as they were shown.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <vector>

#include "analysis/density/peak.h"
#include "unit/recording/scene.h"
#include "views/peak.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;
using namespace noised::recording;
using namespace noised::test;

namespace {

constexpr std::uint64_t kLow = 1'000;
constexpr std::uint64_t kHigh = 6'000;

class Counted : public PlayerVisitor {
 public:
  explicit Counted(const Playback& playback) : counter(playback.sources(), kLow, kHigh) {}
  void detour(std::size_t /*cpu*/, const DetourLedger& ledger, std::string_view /*details*/) override {
    counter.add(ledger);
  }

  PeakCounter counter;
};

struct PeakTruth {
  std::map<std::vector<std::string>, std::uint64_t> combinations;
  std::map<std::string, std::uint64_t> sources;
  std::uint64_t detours = 0;
  std::uint64_t total_ns = 0;

  void add(const DetourView& detour) {
    std::vector<std::string> together;
    for (const DetourEntryView& entry : detour.entries) {
      const std::string label = entry.kind + ":" + entry.name;
      if (std::find(together.begin(), together.end(), label) == together.end()) together.push_back(label);
      if (entry.self_ns >= kLow && entry.self_ns <= kHigh) ++sources[label];
    }
    if (detour.overhead_ns >= kLow && detour.overhead_ns <= kHigh) ++sources["overhead:overhead"];
    if (detour.duration_ns < kLow || detour.duration_ns > kHigh) return;
    ++detours;
    total_ns += detour.duration_ns;
    ++combinations[together];
  }
};

}  // namespace

TEST_CASE("a peak of a recording has the detours and self times of that length, and no others", "[analysis]") {
  const TemporaryDirectory directory;
  RecordedRun run;
  Recorder recorder(run.sources, run.status, run.description);
  auto file = create_recording(directory.path("run"));
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  for (int i = 0; i < 50; ++i) {
    run.drain(&recorder, 10);
    write_blocks(recorder, file.value());
  }
  finish(run, recorder);
  write_blocks(recorder, file.value());
  PeakTruth truth;
  for (const std::string& text : run.detours) truth.add(views::parse_detour(text).value());

  auto player = Player::open(directory.path("run"));
  REQUIRE(player);
  Counted counted(player.value().playback());
  while (player.value().step(&counted)) {
  }
  const views::PeakView peak =
      views::peak_of(counted.counter, player.value().playback().sources(), kLow, kHigh, player.value().report());
  CHECK(truth.detours > 50);
  CHECK(peak.detours == truth.detours);
  CHECK(peak.total_ns == truth.total_ns);
  CHECK(peak.unsupported == std::vector<std::string>{"nothing of it"});
  CHECK(to_text(peak).find("unsupported:\n  nothing of it\n") != std::string::npos);
  CHECK(to_json(peak).ends_with(R"("unsupported":["nothing of it"]})"));
  std::map<std::string, std::uint64_t> sources;
  for (const views::PeakPart& part : peak.sources) sources[part.sources.at(0)] = part.count;
  CHECK(sources == truth.sources);
  std::map<std::vector<std::string>, std::uint64_t> combinations;
  for (const views::PeakPart& part : *peak.combinations) combinations[part.sources] = part.count;
  CHECK(combinations == truth.combinations);
}

TEST_CASE("faults that were only counted are no self times of 0 ns, and are named", "[analysis]") {
  SourceTable sources;
  const SourceId fault = sources.intern(Kind::page_fault, "user");
  PeakCounter low(sources, 0, 100);
  PeakCounter high(sources, 50, 100);
  DetourLedger ledger;
  ledger.detour = {1'000, 1'080, false};
  ledger.unexplained_ns = 80;
  ledger.entries.resize(1);
  ledger.entries[0].source = fault;
  ledger.entries[0].kind = Kind::page_fault;
  low.add(ledger);
  high.add(ledger);
  REQUIRE(low.source_counts().size() == 1);
  CHECK(low.source_counts()[0].id != fault);
  REQUIRE(low.untimed().size() == 1);
  CHECK(low.untimed()[0].id == fault);
  CHECK_FALSE(high.next_self_times().below_ns.has_value());
  const std::string text = to_text(views::peak_of(low, sources, 0, 100, Report()));
  CHECK(text.find("not timed, and in no range: page_fault:user (1)\n") != std::string::npos);

  ledger.entries[0].self_ns = 7;  // this kernel does time them: the first took 0 ns
  low.add(ledger);
  high.add(ledger);
  CHECK(low.untimed().empty());
  const auto counts = low.source_counts();
  const auto counted = std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.id == fault; });
  REQUIRE(counted != counts.end());
  CHECK(counted->moments.count() == 2);
  CHECK(counted->moments.total_ns() == 7);
  CHECK(high.next_self_times().below_ns == 7);
}
