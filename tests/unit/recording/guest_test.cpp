// SPDX-License-Identifier: Apache-2.0
// A real recording of three measured CPUs in a guest (6.12), each with a task of its own, beside what these tasks say
// that they did.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <map>

#include "recording/player.h"
#include "selftest/compare.h"
#include "unit/base/tree.h"
#include "views/views.h"

using namespace noised;
using namespace noised::account;
using namespace noised::recording;

namespace {

class DetoursOf : public PlayerVisitor {
 public:
  explicit DetoursOf(const Playback& playback) : playback_(playback) {}
  void interval(std::size_t /*cpu*/, const Interval& /*interval*/) override {}
  void detour(std::size_t cpu, const DetourLedger& ledger, std::string_view details) override {
    const DetourView view = to_view(playback_, cpu, ledger, details);
    by_cpu[view.cpu].push_back(view);
  }

  std::map<unsigned, std::vector<DetourView>> by_cpu;

 private:
  const Playback& playback_;
};

}  // namespace

TEST_CASE("a recording of three CPUs tells of each what its own task did", "[recording]") {
  auto player = Player::open(test::in_tree("tests/data/guest.recording"));
  REQUIRE(player);
  DetoursOf detours(player.value().playback());
  while (player.value().step(&detours)) {
  }
  REQUIRE(player.value().damage().empty());
  const Report report = player.value().report();
  REQUIRE(report.cpus.size() == 3);
  std::ifstream truths(test::in_tree("tests/data/guest.truth"));
  std::size_t compared = 0;
  for (std::string line; std::getline(truths, line); ++compared) {
    const auto truth = selftest::parse_truth(line);
    REQUIRE(truth);
    const unsigned cpu = truth.value().cpu;
    const selftest::Row row = selftest::compare(truth.value(), detours.by_cpu[cpu], {});
    INFO("CPU " << cpu << ": injected " << row.injected << ", found " << row.found << ", missed " << row.missed
                << ", misattributed " << row.misattributed << ", in doubt " << row.in_doubt << " " << row.reason);
    CHECK(row.injected > 40);
    CHECK(row.found + row.in_doubt == row.injected);
    CHECK(row.found > row.injected * 8 / 10);
    CHECK(row.missed == 0);
    CHECK(row.misattributed == 0);
    // Told of another CPU, none of it would be found.
    for (const auto& [other, shown] : detours.by_cpu) {
      if (other != cpu) CHECK(selftest::compare(truth.value(), shown, {}).found == 0);
    }
    const auto& own = *std::ranges::find_if(report.cpus, [&](const ReportCpu& each) { return each.cpu == cpu; });
    CHECK(own.detours == detours.by_cpu[cpu].size());
    CHECK(own.containment == 1.0);
    for (const ReportSource& source : report.sources) {
      if (source.name.starts_with("only-cpu")) CHECK(source.name == "only-cpu" + std::to_string(source.cpu));
    }
  }
  CHECK(compared == 3);
}
