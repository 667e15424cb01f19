// SPDX-License-Identifier: Apache-2.0
// Costs that are known come back, with intervals that hold them as often as they say.
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "model/combinations.h"
#include "unit/analysis/phase_scene.h"

using namespace noised;
using namespace noised::analysis;
using noised::test::PhaseScene;
using noised::test::SimulatedCpu;
using noised::test::SimulatedSource;

namespace {

/// Of one source over all repetitions.
struct Seen {
  int times = 0;
  int covered = 0;
  double sum_ns = 0;
  double inside_ns = 0;
  double after_ns = 0;
  [[nodiscard]] double mean_ns() const { return sum_ns / times; }
};

IndirectCosts costs_of(const SourceTable& sources, const SimulatedCpu& cpu, std::size_t reach, std::uint64_t seed) {
  PhaseAnalysis analysis(sources, reach);
  PhaseScene(cpu, seed, analysis).run();
  analysis.finish();
  return indirect_costs(analysis.episodes());
}

std::map<SourceId, Seen> repeat(const SourceTable& sources, const SimulatedCpu& cpu, std::size_t reach, int times,
                                const std::map<SourceId, double>& truth) {
  std::map<SourceId, Seen> seen;
  for (int i = 0; i < times; ++i) {
    for (const IndirectCost& cost : costs_of(sources, cpu, reach, 1'000 + static_cast<std::uint64_t>(i)).sources) {
      if (!cost.indirect) continue;
      Seen& of = seen[cost.sources.front()];
      ++of.times;
      of.sum_ns += cost.indirect->ns;
      of.inside_ns += cost.inside->ns;
      of.after_ns += cost.after->ns;
      const double true_ns = truth.at(cost.sources.front());
      of.covered += cost.indirect->low_ns <= true_ns && true_ns <= cost.indirect->high_ns ? 1 : 0;
    }
  }
  return seen;
}

struct CostNames {
  SourceTable table;
  SourceId tick = table.intern(Kind::vector, "local_timer");
  SourceId timer = table.intern(Kind::softirq, "TIMER");
  SourceId network = table.intern(Kind::irq, "network");
};

SimulatedSource ticks(SourceId id) {
  SimulatedSource source;
  source.id = id;
  return source;
}

bool near(double value, double truth, double margin) { return std::abs(value - truth) <= margin; }

}  // namespace

TEST_CASE("the cost of a tick is known, and its interval holds it 19 times of 20", "[analysis]") {
  const CostNames names;
  SimulatedCpu cpu;
  cpu.white_ns = 500;
  cpu.sources = {ticks(names.tick)};
  const auto seen = repeat(names.table, cpu, 0, 200, {{names.tick, 800}});
  const Seen& tick = seen.at(names.tick);
  REQUIRE(tick.times == 200);
  CHECK(near(tick.mean_ns(), 800, 20));
  CHECK(near(tick.inside_ns / 200, 500, 10));
  CHECK(near(tick.after_ns / 200, 300, 20));
  CHECK(tick.covered >= 180);  // of 190; 3.2 standard deviations
  CHECK(tick.covered <= 199);
}

TEST_CASE("long phases are hit more often, and that is no cost", "[analysis]") {
  const CostNames names;
  SimulatedCpu cpu;
  cpu.white_ns = 10'000;  // by itself this seems to be 10 us * 10 us / 100 us = 1 us of a tick
  cpu.phases = 10'000;
  cpu.sources = {ticks(names.tick)};
  cpu.sources[0].random = true;
  const auto seen = repeat(names.table, cpu, 0, 40, {{names.tick, 800}});
  CHECK(near(seen.at(names.tick).mean_ns(), 800, 400));
  CHECK(near(costs_of(names.table, cpu, 0, 1).length_bias_ns.value_or(0), 1'000, 100));
}

TEST_CASE("who comes with a tick is not blamed for it", "[analysis]") {
  const CostNames names;
  SimulatedCpu cpu;
  cpu.white_ns = 500;
  cpu.phases = 6'000;
  cpu.sources = {ticks(names.tick)};
  cpu.sources[0].brings = names.timer;
  cpu.sources[0].brings_share = 0.5;
  cpu.sources[0].brings_direct_ns = 1'000;
  cpu.sources[0].brings_after_ns = 900;
  SimulatedSource network = ticks(names.network);
  network.period_ns = 1'500'000;
  network.random = true;
  network.after_ns = 1'500;
  cpu.sources.push_back(network);
  const auto seen = repeat(names.table, cpu, 0, 60, {{names.tick, 800}, {names.timer, 900}, {names.network, 2'000}});
  for (const auto& [id, truth_ns] :
       std::map<SourceId, double>{{names.tick, 800}, {names.timer, 900}, {names.network, 2'000}}) {
    INFO(names.table.at(id).name << " " << seen.at(id).mean_ns());
    REQUIRE(seen.at(id).times == 60);
    CHECK(near(seen.at(id).mean_ns(), truth_ns, 50));
    CHECK(seen.at(id).covered >= 51);
  }
}

TEST_CASE("who always comes together is named together", "[analysis]") {
  const CostNames names;
  SimulatedCpu cpu;
  cpu.white_ns = 500;
  cpu.sources = {ticks(names.tick)};
  cpu.sources[0].brings = names.timer;
  cpu.sources[0].brings_share = 1;
  cpu.sources[0].brings_after_ns = 900;
  const IndirectCosts costs = costs_of(names.table, cpu, 0, 7);
  REQUIRE(costs.sources.size() == 1);
  CHECK(costs.sources[0].sources.size() == 2);  // in which order says nothing, as one is never without the other
  REQUIRE(costs.sources[0].indirect);
  CHECK(near(costs.sources[0].indirect->ns, 1'700, 200));
}

TEST_CASE("a cache that is refilled over several phases is paid for by all of them", "[analysis]") {
  const CostNames names;
  SimulatedCpu cpu;
  cpu.white_ns = 500;
  cpu.sources = {ticks(names.tick)};
  cpu.sources[0].period_ns = 5'000'000;
  cpu.sources[0].after_ns = 20'000;
  cpu.sources[0].refill_ns = 300'000;
  const auto seen = repeat(names.table, cpu, 4, 40, {{names.tick, 20'500}});
  CHECK(near(seen.at(names.tick).mean_ns(), 20'500, 400));
  CHECK(seen.at(names.tick).covered >= 33);
  const auto short_sighted = repeat(names.table, cpu, 0, 5, {{names.tick, 20'500}});
  CHECK(short_sighted.at(names.tick).mean_ns() < 8'000);
}

TEST_CASE("without a phase to compare with there is no cost, but a reason", "[analysis]") {
  const CostNames names;
  SimulatedCpu cpu;
  cpu.work_ns = 10'000'000;
  cpu.phases = 300;
  cpu.sources = {ticks(names.tick)};
  const IndirectCosts always = costs_of(names.table, cpu, 0, 1);
  REQUIRE(always.sources.size() == 1);
  CHECK(always.sources[0].why_not == NoCost::always);
  CHECK_FALSE(always.sources[0].indirect);
  CHECK_FALSE(always.base_ns);
  cpu.work_ns = 100'000;
  cpu.phases = 900;
  const IndirectCosts few = costs_of(names.table, cpu, 0, 1);
  REQUIRE(few.sources.size() == 1);
  CHECK(few.sources[0].sources == std::vector<SourceId>{kOtherSource});
  CHECK(few.sources[0].why_not == NoCost::few);
}

TEST_CASE("phases after an activation pay for it until the footprint was walked once", "[analysis]") {
  CHECK(phases_paying(1'000'000, 100'000, 0) == 0);
  CHECK(phases_paying(100'000, 10'000, 0) == 1);
  CHECK(phases_paying(1'000, 100, 0) == 10);
  CHECK(phases_paying(100'000, 6'500, std::uint64_t{2} << 20U) == 6);
  CHECK(phases_paying(1'000, 1, UINT64_MAX) == 4'096);
  CHECK(phases_paying(0, 0, 0) == 0);
}
