// SPDX-License-Identifier: Apache-2.0
// Two samples become rates; a daemon that started anew is seen.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "noisectl/top/delta.h"
#include "unit/views/examples.h"

using namespace noised;
using Catch::Approx;
using client::TopSample;

namespace {

TopSample first() {
  TopSample sample{examples::report(), examples::histogram(), {}, {}};
  sample.report.cpus[0].max_detour_ns = 2060;
  return sample;
}

/// Two seconds later: 10 timers of 3 us each, and nothing else.
TopSample second() {
  TopSample sample = first();
  sample.report.elapsed_ns += 2'000'000'000;
  ReportCpu& cpu = sample.report.cpus[0];
  cpu.observed_ns += 2'000'000'000;
  cpu.detours += 10;
  cpu.detour_ns += 40'000;
  cpu.explained_ns += 30'000;
  cpu.overhead_ns += 4'000;
  cpu.hypervisor_ns += 3'000;
  cpu.hardware_ns += 2'000;
  cpu.unexplained_ns += 1'000;
  sample.report.sources[0].count += 10;
  sample.report.sources[0].total_ns += 30'000;
  return sample;
}

}  // namespace

TEST_CASE("the difference of two reports is rates and shares of the time observed", "[noisectl]") {
  const client::TopDelta delta = client::difference(first(), second());
  CHECK(delta.interval_ns == 2'000'000'000);
  REQUIRE(delta.cpus.size() == 1);
  const client::TopCpu& cpu = delta.cpus[0];
  CHECK(cpu.noise_share == Approx(40'000 / 2e9));
  CHECK(cpu.detours_per_second == Approx(5));
  CHECK(cpu.max_ns == 2060);
  CHECK(cpu.explained_share == Approx(30'000 / 2e9));
  CHECK(cpu.overhead_share == Approx(4'000 / 2e9));
  CHECK(cpu.hypervisor_share == Approx(3'000 / 2e9));
  CHECK(cpu.hardware_share == Approx(2'000 / 2e9));
  CHECK(cpu.unexplained_share == Approx(1'000 / 2e9));
  REQUIRE(delta.sources.size() == 2);
  CHECK(delta.sources[0].key.label == "vector:local_timer");
  CHECK(delta.sources[0].category == "periodic");
  CHECK(delta.sources[0].count == 10);
  CHECK(delta.sources[0].per_second == Approx(5));
  CHECK(delta.sources[0].stolen_share == Approx(30'000 / 2e9));
  CHECK(delta.sources[0].mean_ns == 3000);
  CHECK(delta.sources[0].max_ns == 9000);
  CHECK(delta.sources[1].key.label == "task:crond");
  CHECK(delta.sources[1].count == 0);
  CHECK(delta.sources[1].mean_ns == 0);
}

TEST_CASE("from an empty sample everything counts", "[noisectl]") {
  const client::TopDelta delta = client::difference(TopSample{}, first());
  CHECK(delta.cpus[0].noise_share == Approx(9'100'000 / 9.999e9));
  CHECK(delta.sources[1].count == 2);
  CHECK(delta.sources[1].mean_ns == 375'000);
  CHECK(delta.cpus[0].interval_max_ns == 2060);
}

TEST_CASE("a source is the same only on the same CPU, of the same kind and name", "[noisectl]") {
  TopSample after = second();
  ReportCpu other = after.report.cpus[0];
  other.cpu = 2;
  after.report.cpus.push_back(other);
  ReportSource fresh = after.report.sources[1];
  fresh.cpu = 2;
  after.report.sources.push_back(fresh);
  fresh.cpu = 1;
  fresh.kind = "work";
  after.report.sources.push_back(fresh);
  const client::TopDelta delta = client::difference(first(), after);
  CHECK(delta.sources[1].count == 0);
  CHECK(delta.sources[2].count == 2);
  CHECK(delta.sources[3].count == 2);
}

TEST_CASE("the largest detour of the interval is a new maximum, or the highest bucket that grew", "[noisectl]") {
  const TopSample before = first();
  TopSample after = second();
  SECTION("nothing grew") { CHECK(client::difference(before, after).cpus[0].interval_max_ns == 0); }
  SECTION("a known bucket grew") {
    after.histogram->series[0].buckets[1].count += 1;
    CHECK(client::difference(before, after).cpus[0].interval_max_ns == 527);
  }
  SECTION("a bucket is new") {
    auto& buckets = after.histogram->series[0].buckets;
    buckets.insert(buckets.begin() + 2, {1024, 1039, 1});
    CHECK(client::difference(before, after).cpus[0].interval_max_ns == 1039);
  }
  SECTION("no detour is longer than the longest") {
    after.histogram->series[0].buckets[2].count += 1;
    CHECK(client::difference(before, after).cpus[0].interval_max_ns == 2060);
  }
  SECTION("a new maximum is exact") {
    after.report.cpus[0].max_detour_ns = 123'456;
    CHECK(client::difference(before, after).cpus[0].interval_max_ns == 123'456);
  }
  SECTION("without a histogram it is not known") {
    after.histogram.reset();
    CHECK(client::difference(before, after).cpus[0].interval_max_ns == 0);
  }
}

TEST_CASE("no time observed gives no rate, and no division by zero", "[noisectl]") {
  TopSample after = second();
  after.report.cpus[0].observed_ns = first().report.cpus[0].observed_ns;
  const client::TopDelta delta = client::difference(first(), after);
  CHECK(delta.cpus[0].detours_per_second == 0);
  CHECK(delta.sources[0].stolen_share == 0);
}

TEST_CASE("a restart is seen by its start, its age or a counter that went back", "[noisectl]") {
  const Report before = first().report;
  CHECK_FALSE(client::restarted(before, before));
  CHECK_FALSE(client::restarted(before, second().report));
  Report after = second().report;
  SECTION("start") { after.start = "2025-01-02T03:04:06Z"; }
  SECTION("host") { after.host = "node2"; }
  SECTION("age") { after.elapsed_ns = before.elapsed_ns - 1; }
  SECTION("time observed") { after.cpus[0].observed_ns = before.cpus[0].observed_ns - 1; }
  SECTION("detours") { after.cpus[0].detours = before.cpus[0].detours - 1; }
  SECTION("a CPU is gone") { after.cpus.clear(); }
  CHECK(client::restarted(before, after));
}

TEST_CASE("what a name had that left is no growth of the others", "[noisectl]") {
  TopSample before = first();
  TopSample after = first();
  after.report.elapsed_ns += 2'000'000'000;
  after.report.cpus[0].observed_ns += 2'000'000'000;
  const auto task = [&](const std::string& name, std::uint64_t total_ns, std::uint64_t count) {
    ReportSource source = before.report.sources[0];
    source.kind = "task";
    source.name = name;
    source.total_ns = total_ns;
    source.count = count;
    return source;
  };
  before.report.sources = {task("gone", 5'000, 5), task("other", 1'000, 1), task("noised/1", 7'000, 7)};
  after.report.sources = {task("other", 6'300, 7), task("noised/other", 7'100, 8)};
  const client::TopDelta delta = client::difference(before, after);
  REQUIRE(delta.sources.size() == 2);
  CHECK(delta.sources[0].count == 1);
  CHECK(delta.sources[0].mean_ns == 300);
  CHECK(delta.sources[1].count == 1);
  CHECK(delta.sources[1].mean_ns == 100);
}
