// SPDX-License-Identifier: Apache-2.0
// The tables of a CPU against sums made by hand over random detours.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "model/tables.h"

namespace {

using noised::Combination;
using noised::CpuStatistics;
using noised::Detour;
using noised::DetourTotals;
using noised::Histogram;
using noised::HistogramBucket;
using noised::Kind;
using noised::Ledger;
using noised::SourceId;
using noised::SourceStatistics;

struct Counted : Ledger {
  Detour detour;
};

Counted random_detour(std::mt19937_64& random) {
  Counted sums;
  sums.explained_ns = random() % 100000;
  sums.overhead_ns = random() % 1000;
  sums.hypervisor_ns = random() % 3 == 0 ? random() % 1000000 : 0;
  sums.hardware_ns = random() % 7 == 0 ? random() % 1000000 : 0;
  sums.unexplained_ns = random() % 11 == 0 ? random() % 1000 : 0;
  sums.detour.start_ns = random() % 1000000;
  sums.detour.end_ns = sums.detour.start_ns + sums.explained_ns + sums.overhead_ns + sums.hypervisor_ns +
                       sums.hardware_ns + sums.unexplained_ns;
  sums.detour.in_doubt = random() % 5 == 0;
  return sums;
}

void add_random(CpuStatistics& cpu, std::mt19937_64& random) {
  const Counted sums = random_detour(random);
  cpu.add_detour(sums.detour, sums);
  const std::vector<SourceId> sources{static_cast<SourceId>(random() % 50), static_cast<SourceId>(50 + random() % 5)};
  for (const SourceId id : sources) cpu.add_source(id, Kind::task, random() % 100000);
  cpu.add_combination(sources, sums.sum_ns());
}

auto fields(const DetourTotals& t) {
  return std::tuple(t.detours, t.incomplete_detours, t.detour_ns, t.max_detour_ns, t.explained_ns, t.overhead_ns,
                    t.hypervisor_ns, t.hardware_ns, t.unexplained_ns);
}

std::vector<std::uint64_t> flatten(const Histogram& histogram) {
  std::vector<std::uint64_t> flat{histogram.count()};
  histogram.for_each([&](const HistogramBucket& b) { flat.insert(flat.end(), {b.low_ns, b.high_ns, b.count}); });
  return flat;
}

void require_equal(const CpuStatistics& left, const CpuStatistics& right) {
  REQUIRE(fields(left.totals()) == fields(right.totals()));
  REQUIRE(flatten(left.detours()) == flatten(right.detours()));

  const auto sources = [](const CpuStatistics& cpu) {
    std::vector<std::tuple<SourceId, Kind, std::uint64_t, std::uint64_t, double, std::vector<std::uint64_t>>> all;
    cpu.for_each_source([&](const SourceStatistics& s) {
      all.emplace_back(s.id, s.kind, s.moments.count(), s.moments.total_ns(), s.moments.stddev(), flatten(s.histogram));
    });
    return all;
  };
  REQUIRE(sources(left) == sources(right));

  const auto combinations = [](const CpuStatistics& cpu) {
    std::vector<std::tuple<std::vector<SourceId>, std::uint64_t, std::uint64_t, std::uint64_t>> all;
    const auto add = [&](const Combination& c) {
      all.emplace_back(std::vector<SourceId>(c.key.sources().begin(), c.key.sources().end()), c.moments.count(),
                       c.moments.total_ns(), c.moments.max_ns());
    };
    for (const Combination& c : cpu.combinations().kept()) add(c);
    add(cpu.combinations().other());
    return all;
  };
  REQUIRE(combinations(left) == combinations(right));
}

}  // namespace

TEST_CASE("a ledger adds up only when its parts are the duration", "[statistics]") {
  Ledger parts{.explained_ns = 1, .overhead_ns = 2, .hypervisor_ns = 3, .hardware_ns = 4, .unexplained_ns = 5};
  std::uint64_t duration_ns = 15;
  REQUIRE(parts.adds_up_to(duration_ns));
  REQUIRE(parts.sum_ns() == duration_ns);
  for (std::uint64_t* part : {&duration_ns, &parts.explained_ns, &parts.overhead_ns, &parts.hypervisor_ns,
                              &parts.hardware_ns, &parts.unexplained_ns}) {
    ++*part;
    REQUIRE_FALSE(parts.adds_up_to(duration_ns));
    *part -= 2;
    REQUIRE_FALSE(parts.adds_up_to(duration_ns));
    ++*part;
  }
  REQUIRE(Ledger{}.adds_up_to(0));
  REQUIRE(Ledger{.hardware_ns = UINT64_MAX}.adds_up_to(UINT64_MAX));
  // 2^64 - 1 + 2 is 1 when it wraps: that is not adding up.
  REQUIRE_FALSE(Ledger{.explained_ns = UINT64_MAX, .overhead_ns = 2}.adds_up_to(1));
  REQUIRE(Ledger{.explained_ns = UINT64_MAX, .overhead_ns = 2}.sum_ns() == UINT64_MAX);
}

TEST_CASE("a ledger names its gaps in order, those without time left out", "[statistics]") {
  const auto gaps_of = [](const Ledger& ledger) {
    std::vector<std::pair<Kind, std::uint64_t>> gaps;
    ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { gaps.emplace_back(kind, ns); });
    return gaps;
  };
  using Gaps = std::vector<std::pair<Kind, std::uint64_t>>;
  const Ledger all{.explained_ns = 1, .overhead_ns = 2, .hypervisor_ns = 3, .hardware_ns = 4, .unexplained_ns = 5};
  CHECK(gaps_of(all) == Gaps{{Kind::overhead, 2}, {Kind::hypervisor, 3}, {Kind::hardware, 4}, {Kind::unexplained, 5}});
  CHECK(gaps_of({.explained_ns = 1, .hardware_ns = 4}) == Gaps{{Kind::hardware, 4}});
  CHECK(gaps_of({}).empty());
}

TEST_CASE("adding ledgers adds each part and stops when it is full", "[statistics]") {
  Ledger ledger{.explained_ns = 1, .overhead_ns = 2, .hypervisor_ns = 3, .unexplained_ns = 5};
  ledger.gap_ns(Kind::hardware) = 4;
  CHECK(ledger.hardware_ns == 4);
  CHECK(ledger.outside_ns() == 7);
  CHECK(ledger.adds_up_to(15));
  ledger += Ledger{
      .explained_ns = UINT64_MAX, .overhead_ns = 20, .hypervisor_ns = 30, .hardware_ns = 40, .unexplained_ns = 50};
  CHECK(ledger.explained_ns == UINT64_MAX);
  CHECK(ledger.overhead_ns == 22);
  CHECK(ledger.hypervisor_ns == 33);
  CHECK(ledger.hardware_ns == 44);
  CHECK(ledger.unexplained_ns == 55);
}

TEST_CASE("totals are the sums over all detours and still add up", "[statistics]") {
  std::mt19937_64 random(1);
  CpuStatistics cpu;
  DetourTotals expected;
  Histogram durations;
  for (int i = 0; i < 5000; ++i) {
    const Counted sums = random_detour(random);
    const std::uint64_t duration_ns = sums.detour.end_ns - sums.detour.start_ns;
    cpu.add_detour(sums.detour, sums);
    durations.add(duration_ns);
    ++expected.detours;
    if (sums.detour.in_doubt) ++expected.incomplete_detours;
    expected.detour_ns += duration_ns;
    expected.max_detour_ns = std::max(expected.max_detour_ns, duration_ns);
    expected.explained_ns += sums.explained_ns;
    expected.overhead_ns += sums.overhead_ns;
    expected.hypervisor_ns += sums.hypervisor_ns;
    expected.hardware_ns += sums.hardware_ns;
    expected.unexplained_ns += sums.unexplained_ns;
  }
  const DetourTotals& t = cpu.totals();
  REQUIRE(fields(t) == fields(expected));
  REQUIRE(t.explained_ns + t.overhead_ns + t.hypervisor_ns + t.hardware_ns + t.unexplained_ns == t.detour_ns);
  REQUIRE(flatten(cpu.detours()) == flatten(durations));
}

TEST_CASE("sources are kept apart, in order of their ids", "[statistics]") {
  std::mt19937_64 random(2);
  CpuStatistics cpu;
  std::map<SourceId, std::vector<std::uint64_t>> naive;
  for (int i = 0; i < 3000; ++i) {
    const auto id = static_cast<SourceId>(random() % 40 * 3);
    const std::uint64_t self_ns = random() % 1000000;
    cpu.add_source(id, id % 2 == 0 ? Kind::irq : Kind::softirq, self_ns);
    naive[id].push_back(self_ns);
  }
  auto expected = naive.begin();
  cpu.for_each_source([&](const SourceStatistics& source) {
    REQUIRE(expected != naive.end());
    const auto& [id, values] = *expected++;
    REQUIRE(source.id == id);
    REQUIRE(source.kind == (id % 2 == 0 ? Kind::irq : Kind::softirq));
    std::uint64_t total_ns = 0;
    Histogram histogram;
    for (const std::uint64_t value : values) {
      total_ns += value;
      histogram.add(value);
    }
    REQUIRE(source.moments.count() == values.size());
    REQUIRE(source.moments.total_ns() == total_ns);
    REQUIRE(source.moments.min_ns() == *std::min_element(values.begin(), values.end()));
    REQUIRE(source.moments.max_ns() == *std::max_element(values.begin(), values.end()));
    REQUIRE(flatten(source.histogram) == flatten(histogram));
    REQUIRE(cpu.source(id) == &source);
  });
  REQUIRE(expected == naive.end());
}

TEST_CASE("a source never seen is null", "[statistics]") {
  CpuStatistics cpu;
  REQUIRE(cpu.source(0) == nullptr);
  cpu.add_source(5, Kind::nmi, 0);
  REQUIRE(cpu.source(4) == nullptr);
  REQUIRE(cpu.source(6) == nullptr);
  REQUIRE(cpu.source(5)->moments.count() == 1);
}

TEST_CASE("a snapshot equals its original and does not follow it", "[statistics]") {
  std::mt19937_64 random(3);
  CpuStatistics cpu;
  CpuStatistics snapshot;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 200; ++i) add_random(cpu, random);
    cpu.copy_to(snapshot);
    require_equal(snapshot, cpu);
  }
  const std::uint64_t before = snapshot.source(50)->moments.count();
  cpu.add_source(50, Kind::task, 1);
  REQUIRE(snapshot.source(50)->moments.count() == before);
}

TEST_CASE("a snapshot of another CPU replaces all of the first", "[statistics]") {
  std::mt19937_64 random(4);
  CpuStatistics busy;
  for (int i = 0; i < 200; ++i) add_random(busy, random);
  CpuStatistics quiet(10);
  quiet.add_source(3, Kind::task, 77);
  CpuStatistics snapshot;
  busy.copy_to(snapshot);
  quiet.copy_to(snapshot);
  require_equal(snapshot, quiet);
  CpuStatistics().copy_to(snapshot);
  require_equal(snapshot, CpuStatistics());
}

TEST_CASE("a summary has the totals, the detours and the moments", "[statistics]") {
  std::mt19937_64 random(5);
  CpuStatistics cpu;
  CpuStatistics summary;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 200; ++i) add_random(cpu, random);
    cpu.copy_summary_to(summary);
    REQUIRE(summary.totals().detour_ns == cpu.totals().detour_ns);
    REQUIRE(summary.detours().count() == cpu.detours().count());
    cpu.for_each_source([&](const SourceStatistics& source) {
      REQUIRE(summary.source(source.id) != nullptr);
      REQUIRE(summary.source(source.id)->kind == source.kind);
      REQUIRE(summary.source(source.id)->moments.total_ns() == source.moments.total_ns());
      REQUIRE(summary.source(source.id)->moments.count() == source.moments.count());
    });
  }
  cpu.copy_to(summary);
  require_equal(summary, cpu);
}

TEST_CASE("the combination limit of a CPU is the one asked for", "[statistics]") {
  CpuStatistics cpu(1);
  cpu.add_combination(std::vector<SourceId>{1}, 10);
  cpu.add_combination(std::vector<SourceId>{2}, 20);
  REQUIRE(cpu.combinations().kept().size() == 1);
  REQUIRE(cpu.combinations().other().moments.total_ns() == 20);
}

TEST_CASE("the pid of a source is that of the one task that has its name", "[model]") {
  CpuStatistics statistics;
  statistics.add_source(3, Kind::task, 100, 42);
  statistics.add_source(3, Kind::task, 100, 42);
  CHECK(statistics.source(3)->pid == 42);
  statistics.add_source(4, Kind::irq, 100);
  CHECK(statistics.source(4)->pid == 0);
  CpuStatistics copy;
  statistics.copy_summary_to(copy);
  CHECK(copy.source(3)->pid == 42);
  statistics.add_source(3, Kind::task, 100, 43);
  CHECK(statistics.source(3)->pid == 0);
  statistics.add_source(3, Kind::task, 100, 42);  // it stays unknown whose most of it is
  CHECK(statistics.source(3)->pid == 0);
}
