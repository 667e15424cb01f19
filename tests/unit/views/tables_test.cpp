// SPDX-License-Identifier: Apache-2.0
// Tables of the report: the sum of CPUs against moments of all durations, both forms, and names that must not leave
// their field.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "model/moments.h"
#include "unit/views/examples.h"
#include "views/peak.h"
#include "views/report.h"
#include "views/sources.h"
#include "views/text.h"
#include "views/views.h"

using namespace noised;
using views::ReportTable;

namespace {

ReportSource row(unsigned cpu, const Moments& moments) {
  return {cpu,
          "io",
          "irq",
          "eth0",
          moments.count(),
          moments.total_ns(),
          moments.min_ns(),
          moments.mean_ns(),
          moments.max_ns(),
          moments.stddev_ns(),
          0.5};
}

std::vector<std::string> lines(const std::string& csv) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < csv.size();) {
    const std::size_t end = csv.find("\r\n", at);
    REQUIRE(end != std::string::npos);
    found.push_back(csv.substr(at, end - at));
    at = end + 2;
  }
  return found;
}

}  // namespace

TEST_CASE("the sum of all CPUs is that of all durations, its deviation up to 1 ns", "[views]") {
  std::mt19937_64 random(17);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 500; ++round) {
    Report report;
    Moments truth;
    const std::uint64_t cpus = 1 + random() % 5;
    for (std::uint64_t cpu = 0; cpu < cpus; ++cpu) {
      Moments moments;
      const std::uint64_t base = random() % 5'000'000'000;  // CPUs differ more than durations of one CPU do
      for (std::uint64_t n = 1 + random() % 20; n > 0; --n) {
        const std::uint64_t ns = base + random() % (round % 2 == 0 ? 3 : 100'000);
        moments.add(ns);
        truth.add(ns);
      }
      report.cpus.emplace_back().detour_ns = moments.total_ns();
      report.sources.push_back(row(static_cast<unsigned>(cpu), moments));
    }
    const std::vector<ReportSource> all = views::all_cpus(report);
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].count == truth.count());
    REQUIRE(all[0].total_ns == truth.total_ns());
    REQUIRE(all[0].min_ns == truth.min_ns());
    REQUIRE(all[0].max_ns == truth.max_ns());
    REQUIRE(all[0].mean_ns == truth.mean_ns());
    REQUIRE(all[0].share == 1);
    REQUIRE(all[0].stddev_ns <= truth.stddev_ns() + 1);
    REQUIRE(all[0].stddev_ns + 1 >= truth.stddev_ns());
  }
}

TEST_CASE("a field is quoted where it must be, and no byte of a name ends it", "[views]") {
  CHECK(views::csv_line({"a", "", "1"}) == "a,,1\r\n");
  CHECK(views::csv_line({"a,b", "say \"x\""}) == "\"a,b\",\"say \"\"x\"\"\"\r\n");
  CHECK(views::csv_line({"a\r\nb\x1b[2J\xc3"}) == "a??b?[2J?\r\n");
}

TEST_CASE("each table has one header line, a row for each thing, and integer times", "[views]") {
  const Report report = examples::report();
  CHECK(lines(to_csv(report, ReportTable::sources)) ==
        std::vector<std::string>{
            "cpu,category,source,min_ns,max_ns,count,mean_ns,total_ns,stddev_ns,share",
            "all,periodic,vector:local_timer,1800,9000,2500,2100,5250000,310,0.576923077",
            "all,preemption,task:crond,300000,450000,2,375000,750000,75000,0.082417582",
            "1,periodic,vector:local_timer,1800,9000,2500,2100,5250000,310,0.500000000",
            "1,preemption,task:crond,300000,450000,2,375000,750000,75000,0.082400000",
        });
  CHECK(lines(to_csv(report, ReportTable::events))[2] ==
        "periodic,vector:local_timer,1,250.025003,2100,9000,1800,2500,9999000000");
  CHECK(lines(to_csv(report, ReportTable::combinations)) ==
        std::vector<std::string>{"min_ns,max_ns,count,mean_ns,total_ns,stddev_ns,share,combination",
                                 "1900,12000,2400,2083,5000000,400,0.549450549,vector:local_timer + softirq:TIMER"});
  CHECK(lines(to_csv(report, ReportTable::ledger))[1] ==
        "1,probe,9999000000,1000000000,200,2510,9100000,2000000,6000000,1000000,2000000,60000,40000,5000,1990000,"
        "1,3,0.999900000");
}

TEST_CASE("a fault that was only counted has no time, and what is no activity is no event", "[views]") {
  Report report = examples::report();
  report.sources.push_back({1, "page_fault", "page_fault", "user", 7, 0, 0, 0, 0, 0, 0});
  report.sources.push_back({1, "hardware", "hardware", "hardware", 7, 70, 10, 10, 10, 0, 0});
  const std::string sources = to_csv(report, ReportTable::sources);
  CHECK(sources.find("\r\n1,page_fault,page_fault:user,,,7,,,,\r\n") != std::string::npos);
  CHECK(sources.find("hardware:hardware") != std::string::npos);
  CHECK(to_csv(report, ReportTable::events).find("hardware:hardware") == std::string::npos);
  CHECK(views::categories_text(report).find("not timed") != std::string::npos);
  const std::string text = views::to_text(report);
  const std::string line = text.substr(text.find("page_fault:user"));
  CHECK(line.substr(0, line.find('\n')).ends_with("  -         -        -        -      -"));
}

TEST_CASE("several CPUs have a line together, in each table for people", "[views]") {
  Report report = examples::report();
  CHECK(to_text(report, ReportTable::sources).find("all  ") == std::string::npos);
  report.cpus.push_back(report.cpus[0]);
  report.cpus[1].cpu = 2;
  report.sources.push_back(report.sources[0]);
  report.sources.back().cpu = 2;
  CHECK(to_text(report, ReportTable::sources).find("all  periodic    vector:local_timer") != std::string::npos);
  CHECK(views::categories_text(report) ==
        R"(
stolen time by category (share: of the CPU's stolen time)
CPU       periodic    preemption
all  10.5 ms 57.7%  750 us 4.12%
  1  5.25 ms 57.7%  750 us 8.24%
  2  5.25 ms 57.7%             -
)");
}

TEST_CASE("a peak out of buckets says which bounds it used, and what is next to an empty range", "[views]") {
  const views::PeakView peak = views::peak_of(examples::histogram(), 515, 522);
  CHECK(peak.used_low_ns == 512);
  CHECK(peak.used_high_ns == 527);
  CHECK(peak.detours == 8);
  CHECK_FALSE(peak.combinations.has_value());
  const views::PeakView empty = views::peak_of(examples::histogram(), 600, 700);
  CHECK(empty.detours == 0);
  CHECK(empty.next_detours.below_ns == 527);
  CHECK(empty.next_detours.above_ns == 2048);
  CHECK(empty.next_self_times.below_ns == 0);
  CHECK_FALSE(empty.next_self_times.above_ns.has_value());
  CHECK(views::to_text(empty).find("lost: see 'noisectl status'\n") != std::string::npos);
  CHECK(to_text(empty).find("no detour is so long: the next are, below 527 ns, above 2048 ns") != std::string::npos);
}

TEST_CASE("faults of histograms that were only counted are in no peak", "[views]") {
  HistogramView histograms = examples::histogram();
  histograms.series.push_back({1, "page_fault", "page_fault", "user", 7, {{0, 0, 7}}});
  const views::PeakView peak = views::peak_of(histograms, 0, 600);
  REQUIRE(peak.sources.size() == 1);
  CHECK(peak.sources[0].sources[0] == "vector:local_timer");
  REQUIRE(peak.untimed.size() == 1);
  CHECK(peak.untimed[0].count == 7);
  CHECK(to_text(peak).find("count  total  of the count  source") != std::string::npos);
  CHECK(to_json(peak).find(R"("untimed":[{"source":"page_fault:user","count":7}])") != std::string::npos);
}

TEST_CASE("the events of thousands of sources on many CPUs are one table at once", "[views]") {
  Report report;
  for (unsigned cpu = 0; cpu < 16; ++cpu) {
    report.cpus.emplace_back().cpu = cpu;
    report.cpus.back().observed_ns = 1'000'000'000;
    for (int i = 0; i < 2'000; ++i)
      report.sources.push_back({cpu, "io", "irq", std::to_string(i), 1, 1, 1, 1, 1, 0, 0});
  }
  const std::string csv = to_csv(report, ReportTable::events);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 17 * 2'000);
}
