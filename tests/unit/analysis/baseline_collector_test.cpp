// SPDX-License-Identifier: Apache-2.0
// Blocks of a run: whatever its length, every activation is in the block of observed time in which it was.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>
#include <string_view>

#include "analysis/baseline/baseline.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;

namespace {

DetourLedger detour_at(std::uint64_t start_ns, SourceId source, Kind kind, std::uint64_t self_ns) {
  DetourLedger ledger;
  ledger.detour = {start_ns, start_ns + self_ns + 100, false};
  ledger.explained_ns = self_ns;
  ledger.overhead_ns = 100;
  LedgerEntry entry;
  entry.source = source;
  entry.kind = kind;
  entry.self_ns = self_ns;
  ledger.entries.push_back(entry);
  return ledger;
}

const BaselineSource& source_named(const Baseline& run, std::string_view name) {
  const auto found = std::find_if(run.sources.begin(), run.sources.end(),
                                  [&](const BaselineSource& source) { return source.name == name; });
  REQUIRE(found != run.sources.end());
  return *found;
}

}  // namespace

TEST_CASE("baseline: every activation is in its block, of observed time", "[analysis][baseline]") {
  std::mt19937_64 random(3);  // NOLINT(cert-msc51-cpp): the same every time
  for (const std::uint64_t milliseconds : {300U, 1'270U, 1'290U, 40'000U}) {
    SourceTable sources;
    const SourceId task = sources.intern(Kind::task, "daemon");
    BaselineCollector collector(sources, 1);
    constexpr std::uint64_t kBoot = 5'000'000'000;
    collector.begin(0, kBoot);
    std::vector<std::uint64_t> observed;  // when each came
    std::uint64_t clock_ns = kBoot;
    std::uint64_t at_ns = 0;
    while (at_ns < milliseconds * 1'000'000) {
      const std::uint64_t step_ns = 1'000 + random() % 20'000'000;
      clock_ns += step_ns;
      at_ns += step_ns;
      if (random() % 4 == 0) {
        collector.skip(0, clock_ns, clock_ns + 7'000'000);  // as where the loop rests
        clock_ns += 7'000'000;
      }
      collector.add(0, detour_at(clock_ns, task, Kind::task, 900));
      observed.push_back(at_ns);
    }
    Baseline run;
    run.cpus = {{1, 200, at_ns}};
    collector.finish(run);
    CHECK(run.blocks() == at_ns / run.block_ns);
    CHECK(run.blocks() < kMostBlocks);
    if (milliseconds > 1'280) CHECK(run.blocks() >= kMostBlocks / 2);
    std::vector<std::uint64_t> expected(run.blocks(), 0);
    for (const std::uint64_t ns : observed)
      if (ns / run.block_ns < expected.size()) ++expected[ns / run.block_ns];
    const BaselineSource& daemon = source_named(run, "daemon");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(daemon.blocks[i].count == expected[i]);
      CHECK(daemon.blocks[i].self_ns == 900 * expected[i]);
      CHECK((run.detours[i].empty() ? 0 : run.detours[i].at(duration_bucket(1'000))) == expected[i]);
      CHECK(source_named(run, "overhead").blocks[i].self_ns == 100 * expected[i]);
    }
  }
}

TEST_CASE("baseline: a run that goes on elsewhere goes on in the next blocks", "[analysis][baseline]") {
  SourceTable sources;
  const SourceId task = sources.intern(Kind::task, "daemon");
  BaselineCollector collector(sources, 1);
  collector.begin(0, 1'000'000'000);
  collector.add(0, detour_at(1'095'000'000, task, Kind::task, 900));
  collector.begin(0, 900'000'000'000);  // hours later: nobody looked
  collector.add(0, detour_at(900'050'000'000, task, Kind::task, 900));
  Baseline run;
  run.cpus = {{1, 200, 200'000'000}};
  collector.finish(run);
  REQUIRE(run.blocks() == 20);
  CHECK(source_named(run, "daemon").blocks[9].count == 1);
  CHECK(source_named(run, "daemon").blocks[14].count == 1);
}

TEST_CASE("baseline: of a loop that ran before the recording, time begins with the recording", "[analysis][baseline]") {
  SourceTable sources;
  const SourceId task = sources.intern(Kind::task, "daemon");
  BaselineCollector collector(sources, 1, 60'000'000'000);
  collector.begin(0, 1'000'000'000);
  collector.skip(0, 59'000'000'000, 60'010'000'000);  // 10 ms of it are in the recording
  collector.add(0, detour_at(60'035'000'000, task, Kind::task, 900));
  collector.begin(0, 1'000'000'000);  // a new part, of the same loop
  collector.add(0, detour_at(60'095'000'000, task, Kind::task, 900));
  Baseline run;
  run.cpus = {{1, 200, 100'000'000}};
  collector.finish(run);
  REQUIRE(run.blocks() == 10);
  CHECK(source_named(run, "daemon").blocks[2].count == 1);
  CHECK(source_named(run, "daemon").blocks[8].count == 1);
}

TEST_CASE("baseline: CPUs are added up, and workers that take each other's place are one source",
          "[analysis][baseline]") {
  SourceTable sources;
  const SourceId first = sources.intern(Kind::task, "kworker/1:0");
  const SourceId second = sources.intern(Kind::task, "kworker/1:12");
  BaselineCollector collector(sources, 2);
  for (std::size_t cpu = 0; cpu < 2; ++cpu) {
    collector.begin(cpu, 0);
    collector.add(cpu, detour_at(5'000'000, cpu == 0 ? first : second, Kind::task, 1'000));
  }
  Baseline run;
  run.cpus = {{1, 200, 100'000'000}, {2, 200, 85'000'000}};
  collector.finish(run);
  CHECK(run.blocks() == 8);  // in full on both
  CHECK(source_named(run, "kworker/1:*").blocks[0].count == 2);
  CHECK(compared_name(Kind::task, "kworker/u8:3H") == "kworker/u8:*H");
  CHECK(compared_name(Kind::task, "kworker/R-events") == "kworker/R-events");
  CHECK(compared_name(Kind::work, "kworker/1:0") == "kworker/1:0");
  CHECK(compared_name(Kind::task, "a\xff") == "a\\xff");
}

TEST_CASE("baseline: blocks twice as long have the same in them", "[analysis][baseline]") {
  Baseline run;
  run.detours = {{{100, 1}}, {{100, 2}, {200, 1}}, {{300, 4}}};
  run.sources = {{Kind::task, "early", {{1, 10}, {2, 20}, {0, 0}}}, {Kind::task, "last", {{0, 0}, {0, 0}, {1, 5}}}};
  const Baseline longer = with_longer_blocks(run);
  REQUIRE(longer.blocks() == 1);
  CHECK(longer.block_ns == 2 * run.block_ns);
  CHECK(longer.detours[0] == DurationCounts{{100, 3}, {200, 1}});
  REQUIRE(longer.sources.size() == 1);
  CHECK(longer.sources[0].blocks[0].count == 3);
  CHECK(longer.sources[0].blocks[0].self_ns == 30);
}

TEST_CASE("baseline: buckets are at most a sixteenth wide, and know their own bounds", "[analysis][baseline]") {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp)
  for (int round = 0; round < 1'000; ++round) {
    const std::uint64_t ns = random() >> random() % 64;
    const std::uint64_t low_ns = duration_bucket(ns);
    CHECK(low_ns <= ns);
    CHECK(ns - low_ns <= low_ns / 16);
    CHECK(duration_bucket(low_ns) == low_ns);
  }
}
