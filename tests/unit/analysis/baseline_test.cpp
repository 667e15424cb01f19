// SPDX-License-Identifier: Apache-2.0
// Two runs compared: what chance does is no difference, what was put in is found by its name.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "analysis/baseline/baseline_diff.h"
#include "unit/analysis/baseline_scene.h"

using namespace noised;
using namespace noised::analysis;
using Catch::Approx;
using noised::test::add_source;
using noised::test::at_random;
using noised::test::empty_run;

namespace {

/// A machine with a tick and 20 tasks at rates from rare to frequent, each of 300 us: large enough to matter.
Baseline machine(std::mt19937_64& random, std::size_t blocks) {
  Baseline run = empty_run(blocks);
  add_source(run, Kind::vector, "local_timer", std::vector<std::uint64_t>(blocks, 160), 4'000);
  for (int task = 0; task < 20; ++task)
    add_source(run, Kind::task, "task" + std::to_string(task), at_random(random, blocks, 0.05 * (1 << task / 2)),
               300'000);
  for (DurationCounts& block : run.detours)
    for (int i = 0; i < 50; ++i) ++block[duration_bucket(5'000 + random() % 3'000)];
  return run;
}

BaselineDiff compared(const Baseline& before, const Baseline& after) {
  const auto diff = compare(before, after);
  REQUIRE(diff.ok());
  return diff.value();
}

/// The change of this name, which is the only one.
SourceChange only_change(const BaselineDiff& diff, const std::string& name) {
  REQUIRE(diff.changes.size() == 1);
  CHECK(diff.changes[0].name == name);
  CHECK(diff.changes[0].p <= kFamilyLevel);
  return diff.changes[0];
}

}  // namespace

TEST_CASE("baseline: two runs of one machine are not different, also of different length", "[analysis][baseline]") {
  std::mt19937_64 random(21);  // NOLINT(cert-msc51-cpp): the same every time
  int different = 0;
  for (int round = 0; round < 12; ++round) {
    const std::size_t later = round % 3 == 0 ? 124 : round % 3 == 1 ? 31 : 16;
    different += compared(machine(random, 31), machine(random, later)).different() ? 1 : 0;
  }
  CHECK(different == 0);  // of 12 at a level of 1%
}

TEST_CASE("baseline: a daemon of 200 us every second is found by its name, and so is its end", "[analysis][baseline]") {
  std::mt19937_64 random(2);  // NOLINT(cert-msc51-cpp)
  const Baseline before = machine(random, 31);
  Baseline after = machine(random, 31);
  std::vector<std::uint64_t> counts;
  for (std::uint64_t block = 0; block < 31; ++block) counts.push_back((block + 1) * 64 / 100 - block * 64 / 100);
  add_source(after, Kind::task, "synthetic", counts, 200'000);
  const SourceChange appeared = only_change(compared(before, after), "synthetic");
  CHECK(appeared.change == ChangeKind::appeared);
  CHECK(appeared.before.count == 0);
  CHECK_FALSE(appeared.before.self_ns);
  CHECK(appeared.after.self_ns == 200'000);
  CHECK(appeared.added_ns == Approx(200'000).epsilon(0.2));
  const SourceChange gone = only_change(compared(after, before), "synthetic");
  CHECK(gone.change == ChangeKind::gone);
  CHECK(gone.added_ns == Approx(-appeared.added_ns));
}

TEST_CASE("baseline: a new source is found however noisy it is", "[analysis][baseline]") {
  const Baseline before = empty_run(31);
  Baseline after = empty_run(31);
  std::vector<std::uint64_t> drifting;
  for (std::uint64_t block = 0; block < 31; ++block) drifting.push_back(10 + 3 * block);
  add_source(after, Kind::task, "drifting", drifting, 100'000);
  CHECK(only_change(compared(before, after), "drifting").change == ChangeKind::appeared);
  CHECK(only_change(compared(after, before), "drifting").change == ChangeKind::gone);
}

TEST_CASE("baseline: more frequent and longer are told apart", "[analysis][baseline]") {
  std::mt19937_64 random(4);  // NOLINT(cert-msc51-cpp)
  const Baseline before = machine(random, 31);
  Baseline often = machine(random, 31);
  Baseline slow = often;
  for (BaselineSource* const source : {&often.sources.back(), &slow.sources.back()}) REQUIRE(source->name == "task9");
  for (SourceBlock& block : often.sources.back().blocks) block = {5 * block.count + 3, 5 * block.self_ns + 900'000};
  for (SourceBlock& block : slow.sources.back().blocks) block.self_ns *= 5;
  CHECK(only_change(compared(before, often), "task9").change == ChangeKind::more_frequent);
  CHECK(only_change(compared(often, before), "task9").change == ChangeKind::less_frequent);
  CHECK(only_change(compared(before, slow), "task9").change == ChangeKind::longer);
  CHECK(only_change(compared(slow, before), "task9").change == ChangeKind::shorter);
}

TEST_CASE("baseline: a burst, what takes nearly nothing, and what began halfway are no change",
          "[analysis][baseline]") {
  std::mt19937_64 random(6);  // NOLINT(cert-msc51-cpp)
  const Baseline before = machine(random, 31);
  Baseline after = machine(random, 31);
  std::vector<std::uint64_t> burst(31, 0);
  burst[7] = burst[8] = 5'000;
  add_source(after, Kind::task, "burst", burst, 10'000);
  add_source(after, Kind::task, "small", std::vector<std::uint64_t>(31, 5), 1'000);
  std::vector<std::uint64_t> halfway(31, 0);
  for (std::size_t i = 15; i < 31; ++i) halfway[i] = 40 + i % 3;
  add_source(after, Kind::task, "halfway", halfway, 10'000);
  const BaselineDiff diff = compared(before, after);
  CHECK(diff.changes.empty());
  REQUIRE(diff.undecided.size() == 1);  // not a word less than what is known
  CHECK(diff.undecided[0].name == "halfway");
}

TEST_CASE("baseline: durations that moved are told, with where they were and are", "[analysis][baseline]") {
  std::mt19937_64 random(8);  // NOLINT(cert-msc51-cpp)
  const Baseline before = machine(random, 31);
  Baseline after = before;
  for (DurationCounts& block : after.detours) {
    DurationCounts moved;
    for (const auto& [low_ns, count] : block) moved[duration_bucket(10 * low_ns)] += count;
    block = moved;
  }
  const BaselineDiff diff = compared(before, after);
  CHECK(diff.density_differs);
  CHECK(diff.density->area > 0.95);
  CHECK(diff.density->more_at_ns == Approx(65'000).epsilon(0.3));
  CHECK(diff.density->fewer_at_ns == Approx(6'500).epsilon(0.3));
  CHECK(compared(before, before).density->area == Approx(0).margin(1e-9));
}

TEST_CASE("baseline: which of hypervisor and hardware it was is not compared, both together are",
          "[analysis][baseline]") {
  Baseline before = empty_run(31);
  Baseline after = empty_run(31);
  const auto constant = [](std::uint64_t count) { return std::vector<std::uint64_t>(31, count); };
  add_source(before, Kind::hypervisor, "hypervisor", constant(900), 10'000);
  add_source(before, Kind::hardware, "hardware", constant(100), 10'000);
  add_source(after, Kind::hypervisor, "hypervisor", constant(100), 10'000);
  add_source(after, Kind::hardware, "hardware", constant(900), 10'000);
  CHECK(compared(before, after).changes.empty());
  Baseline worse = empty_run(31);
  add_source(worse, Kind::hardware, "hardware", constant(5'000), 10'000);
  CHECK(only_change(compared(before, worse), "hypervisor or hardware").change == ChangeKind::more_frequent);
}

TEST_CASE("baseline: what cannot be compared is refused, what was not seen is not gone", "[analysis][baseline]") {
  std::mt19937_64 random(10);  // NOLINT(cert-msc51-cpp)
  const Baseline before = machine(random, 31);
  Baseline after = machine(random, 31);
  after.cpus[0].threshold_ns = 1'000;
  REQUIRE_FALSE(compare(before, after).ok());
  CHECK(compare(before, after).error().code == ExitCode::usage);
  CHECK_FALSE(compare(before, machine(random, 7)).ok());
  CHECK(compare(before, machine(random, 8)).ok());
  Baseline blind = machine(random, 31);
  blind.kinds = {"vector"};
  std::erase_if(blind.sources, [](const BaselineSource& source) { return source.kind == Kind::task; });
  const BaselineDiff diff = compared(before, blind);
  CHECK(diff.changes.empty());
  CHECK(diff.not_compared == std::vector<std::string>{"task"});
  blind.kernel = "6.1";
  CHECK(compared(before, blind).settings.at(0).what == "kernel");
}

TEST_CASE("baseline: the rate that is said to be found is found 95 times in 100", "[analysis][baseline]") {
  std::mt19937_64 random(12);  // NOLINT(cert-msc51-cpp)
  const Baseline before = empty_run(31);
  const auto power = compared(before, before).power;
  REQUIRE(power);
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    Baseline after = empty_run(31);
    add_source(after, Kind::task, "new", at_random(random, 31, power->per_second * 0.64), 1'000'000);
    found += compared(before, after).different() ? 1 : 0;
  }
  CHECK(found >= 51);  // three and a half deviations less than 57
  CHECK_FALSE(power_of(4, 4, 640'000'000, 10));
}
