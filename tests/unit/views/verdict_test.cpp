// SPDX-License-Identifier: Apache-2.0
// The first three lines of a report, and what they make of losses, blind CPUs and several CPUs.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "unit/views/examples.h"
#include "views/verdict.h"

using namespace noised;
using views::verdict_text;

namespace {

std::string line_of(const Report& report, const std::string& first) {
  const std::string text = "\n" + verdict_text(report);
  const std::size_t at = text.find("\n" + first + " ");
  REQUIRE(at != std::string::npos);
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("a verdict has three lines, of one CPU and of several", "[views]") {
  Report report = examples::report();
  CHECK(std::ranges::count(verdict_text(report), '\n') == 3);
  CHECK(line_of(report, "stolen") ==
        "stolen     0.0910% of the 10.0 s observed on CPU 1: 9.10 ms in 2510 detours, the longest 2.00 ms");
  ReportCpu second = report.cpus[0];
  second.cpu = 200;
  second.observed_ns = 1'000'000'000;
  second.max_detour_ns = 5'000'000;
  report.cpus.push_back(second);
  report.sources.push_back({200, "preemption", "task", "crond", 4, 3'000'000, 0, 750'000, 0, 0, 0.5});
  CHECK(std::ranges::count(verdict_text(report), '\n') == 3);
  CHECK(
      line_of(report, "stolen") ==
      "stolen     0.165% of the 11.0 s observed on 2 CPUs (CPU 200: 0.910%): 18.2 ms in 5020 detours, the longest 5.00 "
      "ms (CPU 200)");
  CHECK(line_of(report, "by")
            .starts_with("by         vector:local_timer 28.8%, task:crond 20.6%; all with a name 65.9%"));
  report.sources[0].pid = 7;
  report.sources[1].pid = 812;  // crond's on CPU 1, and not on CPU 200
  CHECK(line_of(report, "by").find("vector:local_timer[7] 28.8%, task:crond 20.6%") != std::string::npos);
  for (ReportCpu& cpu : report.cpus) cpu.mode = "watch";
  CHECK(line_of(report, "stolen").starts_with("stolen     0.165% of the 11.0 s in which tasks could run on 2 CPUs"));
}

TEST_CASE("a verdict says when not to believe it", "[views]") {
  Report report = examples::report();
  CHECK(line_of(report, "believe").starts_with("believe    yes: containment 99.9900%, nothing lost; "));
  report.lost.events = 7;
  CHECK(line_of(report, "believe").starts_with("believe    with care: containment 99.9900%, 7 events, 0 detours"));
  report.clock.containment = 0.5;
  CHECK(line_of(report, "believe")
            .starts_with("believe    no: containment is 50.0000%, and is to be above 99.9000%; 7 events"));
  report.lost.by.push_back({1, kBlind, 500});
  CHECK(line_of(report, "believe").starts_with("believe    no: a CPU was blind"));
  report = examples::report();
  report.clock.containment.reset();
  CHECK(line_of(report, "believe").starts_with("believe    as far as is known: containment not known, nothing lost"));
  report.cpus[0].mode = "watch";
  CHECK(line_of(report, "believe").starts_with("believe    yes: nothing lost; noised"));
}

TEST_CASE("a verdict on nothing names nothing", "[views]") {
  Report report = examples::report();
  report.cpus[0].detour_ns = report.cpus[0].detours = report.cpus[0].max_detour_ns = 0;
  report.cpus[0].set_parts({});
  report.sources.clear();
  CHECK(line_of(report, "stolen") == "stolen     0% of the 10.0 s observed on CPU 1: 0 ns in 0 detours");
  CHECK(line_of(report, "by") == "by         nothing");
  report.cpus.clear();
  CHECK(verdict_text(report) == "stolen     not known: no CPU was observed\n");
}
