// SPDX-License-Identifier: Apache-2.0
// Which detours of a recording are to be made again, where, and how long.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "noisectl/commands/replay_noise.h"
#include "recording/player.h"
#include "unit/base/tree.h"

using namespace noised;
using namespace noised::client;

namespace {

Result<std::vector<selftest::ReplayPlan>> planned(const ReplayNoiseOptions& options,
                                                  const std::string& file = "tests/data/node.recording") {
  auto player = recording::Player::open(test::in_tree(file));
  REQUIRE(player);
  return plan_replay(player.value(), options);
}

ReplayNoiseOptions onto(std::vector<unsigned> cpus) {
  ReplayNoiseOptions options;
  options.cpus = std::move(cpus);
  return options;
}

std::uint64_t total_ns(const selftest::ReplayPlan& plan) {
  std::uint64_t sum = 0;
  for (const selftest::PlannedDetour& each : *plan.detours) sum += each.length_ns;
  return sum;
}

// As the report has it.
ReportCpu recorded() {
  auto player = recording::Player::open(test::in_tree("tests/data/node.recording"));
  REQUIRE(player);
  while (player.value().step()) {
  }
  return player.value().report().cpus.at(0);
}

}  // namespace

TEST_CASE("replay-noise: every detour of the recording, on each CPU that is given", "[noisectl]") {
  const ReportCpu cpu = recorded();
  const auto plans = planned(onto({3, 5}));
  REQUIRE(plans);
  REQUIRE(plans.value().size() == 2);
  CHECK(plans.value()[0].cpu == 3);
  CHECK(plans.value()[1].cpu == 5);
  for (const selftest::ReplayPlan& plan : plans.value()) {
    CHECK(plan.detours->size() == cpu.detours);
    CHECK(total_ns(plan) == cpu.detour_ns);
    CHECK(std::ranges::is_sorted(*plan.detours, {}, &selftest::PlannedDetour::at_ns));
    CHECK(plan.detours->back().at_ns < 10'000'000'000);
  }
}

TEST_CASE("replay-noise: of several CPUs each has its own, and there are as many", "[noisectl]") {
  const std::string guest = "tests/data/guest.recording";
  auto player = recording::Player::open(test::in_tree(guest));
  REQUIRE(player);
  while (player.value().step()) {
  }
  const Report report = player.value().report();
  REQUIRE(report.cpus.size() == 3);
  const auto plans = planned(onto({4, 6, 7}), guest);
  REQUIRE(plans);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(plans.value()[i].cpu == std::vector<unsigned>{4, 6, 7}[i]);
    CHECK(plans.value()[i].detours->size() == report.cpus[i].detours);
    CHECK(total_ns(plans.value()[i]) == report.cpus[i].detour_ns);
  }
  for (const std::vector<unsigned>& cpus : {std::vector<unsigned>{1}, std::vector<unsigned>{1, 2, 3, 4}}) {
    const auto refused = planned(onto(cpus), guest);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ExitCode::usage);
  }
}

TEST_CASE("replay-noise: of a source what would go with it, and only for so long", "[noisectl]") {
  ReplayNoiseOptions timer = onto({1});
  timer.sources = {"vector:local_timer"};
  ReplayNoiseOptions more = onto({1});
  more.sources = {"vector:local_timer", "softirq:SCHED"};
  const auto whole = planned(onto({1}));
  const auto one = planned(timer);
  const auto two = planned(more);
  REQUIRE((whole && one && two));
  CHECK(one.value()[0].detours->size() > 10);
  CHECK(one.value()[0].detours->size() <= two.value()[0].detours->size());
  CHECK(total_ns(one.value()[0]) < total_ns(two.value()[0]));
  CHECK(total_ns(two.value()[0]) < total_ns(whole.value()[0]));

  ReplayNoiseOptions first = onto({1});
  first.duration_ns = 1'000'000'000;
  const auto begun = planned(first);
  REQUIRE(begun);
  CHECK(begun.value()[0].detours->size() > 10);
  CHECK(begun.value()[0].detours->size() < whole.value()[0].detours->size());
  CHECK(begun.value()[0].detours->back().at_ns < 1'000'000'000);
}

TEST_CASE("replay-noise: what a recording has not is a usage error", "[noisectl]") {
  ReplayNoiseOptions unknown = onto({1});
  unknown.sources = {"vector:local_timer", "task:nobody"};
  const auto refused = planned(unknown);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ExitCode::usage);
  CHECK(refused.error().line().find("task:nobody") != std::string::npos);
  unknown.sources = {"local_timer"};
  CHECK(planned(unknown).error().code == ExitCode::usage);
  ReplayNoiseOptions none = onto({1});
  none.duration_ns = 0;
  CHECK(planned(none).error().line().find("no detour") != std::string::npos);
}
