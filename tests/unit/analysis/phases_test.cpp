// SPDX-License-Identifier: Apache-2.0
// Phases against counting by hand: what is in them, what is outside of them, and what episodes leave out.
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "analysis/fixed_work/phase_analysis.h"

using namespace noised;
using namespace noised::account;
using namespace noised::analysis;

namespace {

struct Names {
  SourceTable table;
  SourceId tick = table.intern(Kind::vector, "local_timer");
  SourceId timer = table.intern(Kind::softirq, "TIMER");
};

DetourLedger ledger(std::uint64_t start_ns, const std::vector<LedgerEntry>& entries, std::uint64_t overhead_ns,
                    std::uint64_t hypervisor_ns = 0, bool in_doubt = false) {
  DetourLedger made;
  made.entries = entries;
  made.overhead_ns = overhead_ns;
  made.hypervisor_ns = hypervisor_ns;
  for (const LedgerEntry& each : entries) made.explained_ns += each.self_ns;
  made.detour = {start_ns, start_ns + made.explained_ns + overhead_ns + hypervisor_ns, in_doubt};
  return made;
}

LedgerEntry entry(SourceId source, std::uint64_t self_ns) {
  LedgerEntry made;
  made.source = source;
  made.self_ns = self_ns;
  return made;
}

}  // namespace

TEST_CASE("a phase has its detours, by source", "[analysis]") {
  const Names names;
  PhaseSeries series;
  CHECK_FALSE(series.sample(1'000, 0));
  series.add(ledger(1'100, {entry(names.timer, 7), entry(names.tick, 20), entry(names.timer, 3)}, 5));
  series.add(ledger(1'300, {}, 0, 50));
  REQUIRE(series.sample(2'000, 10));
  const Phase& phase = series.phase();
  CHECK(phase.length_ns() == 1'000);
  CHECK(phase.detour_ns == 85);
  CHECK(phase.overhead_ns() == 5);
  CHECK(phase.outside_ns() == 915);
  REQUIRE(phase.sources.size() == 2);
  CHECK(phase.sources[0].source == names.tick);
  CHECK(phase.sources[1].activations == 2);
  CHECK(phase.sources[1].self_ns == 10);
  CHECK(phase.gaps[1].activations == 1);
  CHECK(phase.gaps[1].self_ns == 50);
  REQUIRE(series.sample(3'000, 10));
  CHECK(series.phase().sources.empty());
  CHECK(series.phase().detour_ns == 0);
  series.add(ledger(3'100, {}, 0, 5'000));
  REQUIRE(series.sample(4'000, 10));
  CHECK(series.phase().in_doubt);  // the part is more than the whole
  series.interrupt();
  CHECK_FALSE(series.sample(5'000, 10));
}

TEST_CASE("what happens in another task's time is that task's interruption", "[analysis]") {
  Names names;
  const SourceId task = names.table.intern(Kind::task, "other");
  const SourceId work = names.table.intern(Kind::work, "function");
  const auto at_depth = [](SourceId source, Kind kind, std::uint8_t depth) {
    LedgerEntry made = entry(source, 10);
    made.kind = kind;
    made.depth = depth;
    return made;
  };
  PhaseSeries series;
  CHECK_FALSE(series.sample(1'000, 0));
  series.add(ledger(
      1'100,
      {at_depth(names.tick, Kind::vector, 0), at_depth(names.timer, Kind::softirq, 1), at_depth(task, Kind::task, 0),
       at_depth(names.tick, Kind::vector, 1), at_depth(names.timer, Kind::softirq, 2), at_depth(work, Kind::work, 1),
       at_depth(names.tick, Kind::vector, 0)},
      5));
  REQUIRE(series.sample(2'000, 10));
  REQUIRE(series.phase().sources.size() == 4);
  for (const PhaseSource& each : series.phase().sources) {
    const std::uint32_t nested = each.source == names.tick || each.source == names.timer ? 1 : 0;
    CHECK(each.activations == each.interruptions + nested);
    CHECK(each.self_ns == 10 * std::uint64_t{each.activations});
  }
}

TEST_CASE("every activation is in a phase or outside, once", "[analysis]") {
  const Names names;
  std::mt19937_64 random(3);  // NOLINT(cert-msc51-cpp): the same every time
  PhaseAnalysis analysis(names.table, 1);
  std::uint64_t ticks = 0;
  std::uint64_t ticks_ns = 0;
  std::uint64_t stolen = 0;
  std::uint64_t whole = 0;
  std::uint64_t now_ns = 1'000;
  bool known = false;
  for (int i = 0; i < 2'000; ++i) {
    now_ns += 10'000;
    if (random() % 3 == 0) {
      const std::uint64_t self_ns = random() % 500;
      const std::uint64_t hypervisor_ns = random() % 2 * 100;
      analysis.add(ledger(now_ns - 5'000, {entry(names.tick, self_ns)}, 10, hypervisor_ns));
      ++ticks;
      ticks_ns += self_ns;
      stolen += hypervisor_ns == 0 ? 0 : 1;
    }
    if (random() % 50 == 0) {
      analysis.interrupt();
      known = false;
    }
    if (random() % 10 == 0) continue;
    const bool first = random() % 40 == 0;
    analysis.sample(now_ns, first ? 0 : 100);
    whole += known && !first ? 1 : 0;
    known = true;
  }
  analysis.finish();
  const DirectCost& tick = analysis.direct().at(names.tick);
  CHECK(tick.outside_count > 0);
  CHECK(tick.count + tick.outside_count == ticks);
  CHECK(tick.self_ns + tick.outside_ns == ticks_ns);
  const DirectCost& host = analysis.direct().at(names.table.gap(Kind::hypervisor));
  CHECK(host.count + host.outside_count == stolen);
  CHECK(host.self_ns + host.outside_ns == 100 * stolen);
  CHECK(analysis.durations().moments().count() == whole);
  const PhaseEpisodes& episodes = analysis.episodes();
  std::uint64_t phases = episodes.quiet().count() + episodes.left_out().edges + episodes.left_out().in_doubt +
                         episodes.left_out().endless + episodes.left_out().too_many;
  for (const auto& [pattern, sums] : episodes.patterns()) phases += pattern[0] * sums.residual.count;
  CHECK(phases == whole);
}

TEST_CASE("an episode lasts until so many phases had nothing", "[analysis]") {
  const Names names;
  PhaseEpisodes episodes(2);
  Phase quiet;
  quiet.end_ns = 100;
  Phase active = quiet;
  active.detour_ns = 30;
  active.gaps[0] = {0, 1, 10, 0};
  active.sources = {{names.tick, 1, 20, 1}};
  for (int i = 0; i < 2; ++i) episodes.add(quiet);  // what was before is not known
  episodes.add(active);                             // nor what is usual
  for (int i = 0; i < 2 + 16; ++i) episodes.add(quiet);
  CHECK(episodes.left_out().edges == 2 + 3);
  CHECK(episodes.quiet().count() == 16);
  episodes.add(active);
  episodes.add(quiet);
  episodes.add(active);
  for (int i = 0; i < 3; ++i) episodes.add(quiet);
  CHECK(episodes.quiet().count() == 17);
  REQUIRE(episodes.patterns().size() == 2);
  CHECK(episodes.patterns().begin()->second.unjudged == 1);
  const auto& [pattern, sums] = *episodes.patterns().rbegin();
  CHECK(pattern == PhaseEpisodes::Pattern{5, names.tick, 2});
  CHECK(sums.inside.mean_ns == 20);
  CHECK(sums.outside.mean_ns == -2 * 30);
  CHECK(sums.residual.mean_ns == -40);
  episodes.add(active);
  Phase doubtful = quiet;
  doubtful.in_doubt = true;
  episodes.add(doubtful);
  CHECK(episodes.left_out().in_doubt == 2);
  for (int i = 0; i < 10'000; ++i) episodes.add(active);
  CHECK(episodes.patterns().size() == 2);
  CHECK(episodes.quiet().count() == 17);
}
