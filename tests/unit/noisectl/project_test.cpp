// SPDX-License-Identifier: Apache-2.0
// Which time of a recording counts as observed: a quiet hour that nobody watched must not become one without noise.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/projection/estimate.h"
#include "noisectl/commands/project.h"
#include "recording/block.h"
#include "recording/records.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;
using namespace noised::recording;

namespace {

using Stretch = std::pair<std::uint64_t, std::uint64_t>;

class Stretches : public client::ObservedVisitor {
 public:
  explicit Stretches(const Playback& playback) : ObservedVisitor(playback) {}
  std::vector<Stretch> seen;
  std::uint64_t detours = 0;

 protected:
  void begin_stretch(std::size_t /*cpu*/, std::uint64_t first_ns) override { seen.emplace_back(first_ns, 0); }
  void add(std::size_t /*cpu*/, const DetourLedger& /*ledger*/) override { ++detours; }
  void end_stretch(std::size_t /*cpu*/, std::uint64_t last_ns) override { seen.back().second = last_ns; }
};

constexpr std::uint64_t kObservedBefore = 400;

Description description_of(std::uint64_t recorded_from_ns) {
  Description description;
  description.base.cpus.resize(1);
  description.base.cpus[0].observed_ns = kObservedBefore;
  description.base.clock.monotonic_ns = recorded_from_ns;
  return description;
}

std::unique_ptr<Playback> playback_from(std::uint64_t recorded_from_ns) {
  auto playback = Playback::begin(to_json(description_of(recorded_from_ns)));
  REQUIRE(playback.ok());
  return std::move(playback).value();
}

/// Tells what was counted by then: so much observed of the recording, at this time.
void play_counts(Playback& playback, std::uint64_t observed_ns, std::uint64_t now_ns) {
  Counts counts = description_of(now_ns).base;
  counts.cpus[0].observed_ns += observed_ns;
  std::vector<char> room(4'096 + to_json(counts).size());
  RecordWriter writer;
  writer.begin(room, 1);
  writer.checkpoint(to_json(counts));
  REQUIRE_FALSE(playback.play({room.data(), writer.size()}, nullptr).has_value());
}

DetourLedger stretch_detour(std::uint64_t start_ns, std::uint64_t end_ns) {
  DetourLedger ledger;
  ledger.detour = {start_ns, end_ns, false};
  return ledger;
}

}  // namespace

TEST_CASE("of a daemon that ran before, only what was recorded counts", "[projection]") {
  const auto playback = playback_from(1'000);
  Stretches stretches(*playback);
  stretches.begins(0, 10);
  stretches.detour(0, stretch_detour(1'500, 1'600), "");
  stretches.gap(0, 1'700, 1'800);
  stretches.detour(0, stretch_detour(1'900, 2'000), "");
  play_counts(*playback, 1'200, 3'000);  // 700 are in the first stretch
  stretches.finish();
  CHECK(stretches.seen == std::vector<Stretch>{{1'000, 1'700}, {1'800, 2'300}});
  CHECK(stretches.detours == 2);
}

TEST_CASE("what was observed after the last event counts, up to the last time that anybody looked", "[projection]") {
  const auto playback = playback_from(1'000);
  Stretches stretches(*playback);
  stretches.begins(0, 2'000);
  play_counts(*playback, 50'000, 9'000);
  stretches.finish();
  CHECK(stretches.seen == std::vector<Stretch>{{2'000, 9'000}});
}

TEST_CASE("time that had no room in a recording is no quiet time", "[projection]") {
  const auto playback = playback_from(1'000);
  Stretches stretches(*playback);
  stretches.begins(0, 10);
  stretches.detour(0, stretch_detour(1'500, 1'600), "");
  stretches.begins(0, 10);  // a new part, and when observation began, again
  stretches.detour(0, stretch_detour(8'000, 8'100), "");
  stretches.sample(0, 8'500, 1);
  play_counts(*playback, 9'000, 10'000);
  stretches.finish();
  CHECK(stretches.seen == std::vector<Stretch>{{1'000, 1'600}, {8'000, 8'500}});
}

TEST_CASE("a list of delays is of shares, rising and each once, and the usual ones are those that p is told for") {
  const auto usual = client::parse_delays(client::kUsualDelayText);
  REQUIRE(usual);
  CHECK(usual.value() == std::vector<double>(kUsualDelays.begin(), kUsualDelays.end()));
  const auto given = client::parse_delays("50%,0%,12.5%,50%");
  REQUIRE(given);
  CHECK(given.value() == std::vector<double>{0, 0.125, 0.5});
  for (const char* const wrong : {"", "1", "1%,", "-1%", "nan%", "1%%", "100001%", "x%"}) {
    INFO(wrong);
    const auto refused = client::parse_delays(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ExitCode::usage);
  }
}
