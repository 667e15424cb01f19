// SPDX-License-Identifier: Apache-2.0
// Events compared by count and window, and what the rows and the truth look like.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "selftest/generator.h"
#include "unit/selftest/scene.h"

using namespace noised;
using namespace noised::test;
using selftest::KernelCount;
using selftest::Row;
using selftest::Truth;
using selftest::Verdict;

TEST_CASE("events that all show pass", "[selftest]") {
  const Row row = EventScene().compare();
  CHECK(row.found == 1000);
  CHECK(row.missed + row.misattributed + row.in_doubt == 0);
  CHECK_FALSE(row.time_error.has_value());
  CHECK(row.verdict == Verdict::pass);
}

TEST_CASE("the right number at the wrong time is no pass", "[selftest]") {
  EventScene scene;
  for (auto& each : scene.truth.occurrences) each.start_ns = each.end_ns = each.start_ns + kMs / 2;
  const Row row = scene.compare();
  CHECK(row.missed == 1000);
  CHECK(row.misattributed == 1000);
  CHECK(row.verdict == Verdict::fail);
}

TEST_CASE("more than was done is misattributed, unless the kernel counts it too", "[selftest]") {
  EventScene scene;
  for (unsigned i = 0; i < 20; ++i) scene.detours[i].entries.push_back(scene.detours[i].entries.back());
  CHECK(scene.compare().misattributed == 20);
  CHECK(scene.compare().verdict == Verdict::fail);
  scene.truth.kernel = KernelCount{"/proc/interrupts CAL", 1015};
  CHECK(scene.compare().misattributed == 5);
  CHECK(scene.compare().verdict == Verdict::pass);
  scene.truth.kernel.reset();
  scene.truth.shared = true;
  CHECK(scene.compare().misattributed == 0);
}

TEST_CASE("a truth that claims more than the kernel counts fails", "[selftest]") {
  EventScene scene;
  scene.truth.kernel = KernelCount{"/proc/interrupts CAL", 999};
  const Row row = scene.compare();
  CHECK(row.verdict == Verdict::fail);
  CHECK(row.reason == "the generator is wrong: /proc/interrupts CAL counts only 999");
}

TEST_CASE("a missing interval is looked for where it is missing", "[selftest]") {
  // Timers that were armed together are known to have expired only at the end.
  EventScene scene(100);
  for (auto& each : scene.truth.occurrences) each.end_ns = 101 * kMs;
  scene.detours[40].entries = {entry("unexplained", "unexplained", 4'000)};
  scene.detours[40].incomplete = true;
  const Row row = scene.compare({1, {}});
  CHECK(row.found == 99);
  CHECK(row.in_doubt == 1);
  CHECK(row.missed == 0);
  scene.detours[40].incomplete = false;
  const Row missed = scene.compare({1, {}});
  CHECK(missed.missed == 1);
  CHECK(missed.blamed.size() == 1);
}

TEST_CASE("what shows in the last nanosecond of an occurrence is of it", "[selftest]") {
  EventScene scene(100);
  for (std::size_t at = 0; at < 100; ++at) scene.truth.occurrences[at].end_ns = scene.detours[at].start_ns;
  CHECK(scene.compare().found == 100);
  for (auto& each : scene.truth.occurrences) --each.end_ns;
  CHECK(scene.compare().missed == 100);
}

TEST_CASE("what shows in the window's first nanosecond is in it", "[selftest]") {
  EventScene scene(100);
  scene.truth.occurrences.erase(scene.truth.occurrences.begin());
  scene.truth.first_ns = scene.detours[0].start_ns;
  CHECK(scene.compare().misattributed == 1);
  ++scene.truth.first_ns;
  CHECK(scene.compare().misattributed == 0);
}

TEST_CASE("neighbours that share a detour are both found", "[selftest]") {
  // A wait that ends, and the next that begins, in the detour of the first's timer.
  EventScene scene(100);
  for (auto& each : scene.truth.occurrences) {
    each.end_ns = each.start_ns + 6'000;
    each.start_ns -= kMs - 7'000;
  }
  const Row row = scene.compare();
  CHECK(row.found == 100);
  CHECK(row.missed + row.misattributed == 0);
}

TEST_CASE("intervals summed in one entry count as many", "[selftest]") {
  EventScene scene(100);
  scene.detours[0].entries[1].detail = {{"intervals", "3"}};
  scene.truth.occurrences[0].count = 3;
  CHECK(scene.compare().found == 102);
}

TEST_CASE("page faults count inside their task only", "[selftest]") {
  EventScene scene(100);
  scene.truth.sources = {{"page_fault", "user"}};
  scene.truth.inside = "noised-fault";
  for (DetourView& each : scene.detours) {
    each.entries = {entry("task", "cc1plus", 900),      entry("page_fault", "user", 0, 1),
                    entry("task", "noised-fault", 900), entry("page_fault", "user", 0, 1),
                    entry("task", "cc1plus", 900),      entry("page_fault", "user", 0, 1)};
  }
  CHECK(scene.compare().verdict == Verdict::pass);
  CHECK(scene.compare().found == 100);
  // Whose they are is not known where they are summed.
  scene.detours[1].entries = {entry("task", "cc1plus", 900, 0, {{"intervals", "2"}}),
                              entry("page_fault", "user", 0, 1, {{"intervals", "70"}}),
                              entry("task", "noised-fault", 900)};
  const Row row = scene.compare();
  CHECK(row.found == 99);
  CHECK(row.in_doubt == 1);
  CHECK(row.misattributed == 0);
}

TEST_CASE("what happens inside another task than the victim is that task's", "[selftest]") {
  EventScene scene(100);
  scene.truth.sources = {{"csd", "flush_tlb_func"}};
  for (std::size_t at = 0; at < scene.detours.size(); ++at) {
    scene.detours[at].entries = {entry("task", "noised-victim", 900), entry("vector", "call_function", 50, 1),
                                 entry("csd", "flush_tlb_func", 90, 2)};
    if (at % 3 == 0) {
      scene.detours[at].entries.push_back(entry("task", "cc1plus", 900));
      scene.detours[at].entries.push_back(entry("csd", "flush_tlb_func", 90, 1));
    }
  }
  CHECK(scene.compare().misattributed == 34);
  CHECK(scene.compare().verdict == Verdict::fail);
  scene.truth.victim = "noised-victim";
  CHECK(scene.compare().found == 100);
  CHECK(scene.compare().misattributed == 0);
  CHECK(scene.compare().verdict == Verdict::pass);
  // Those in no task at all may be anybody's, and count.
  scene.detours[1].entries.push_back(entry("csd", "flush_tlb_func", 90));
  CHECK(scene.compare().misattributed == 1);
}

TEST_CASE("what touches a place of doubt is in doubt, and the window's last nanosecond is in it", "[selftest]") {
  EventScene scene(100);
  DetourView& before = scene.detours[40];
  before = detour(41 * kMs - 4'000, 41 * kMs, {entry("unexplained", "unexplained", 4'000)});
  before.incomplete = true;
  CHECK(scene.compare({1, {}}).in_doubt == 1);
  CHECK(scene.compare({1, {}}).missed == 0);
  scene.detours.push_back(
      detour(scene.truth.last_ns - 4'000, scene.truth.last_ns, {entry("csd", "remote_function", 500)}));
  CHECK(scene.compare({1, {}}).misattributed == 1);
  ++scene.detours.back().duration_ns;
  CHECK(scene.compare({1, {}}).misattributed == 0);
}

TEST_CASE("what slept in its middle is shown twice, and happened once", "[selftest]") {
  EventScene scene(100);
  scene.truth.sources = {{"work", "refresh_vm_stats"}};
  for (DetourView& each : scene.detours) each.entries = {entry("work", "refresh_vm_stats", 900)};
  scene.detours[7].entries = {entry("work", "refresh_vm_stats", 500, 1, {{"split", "true"}}),
                              entry("work", "refresh_vm_stats", 400, 1, {{"split", "true"}})};
  CHECK(scene.compare().found == 100);
  CHECK(scene.compare().misattributed == 0);
  scene.detours[8].entries = {entry("work", "refresh_vm_stats", 500), entry("work", "refresh_vm_stats", 400)};
  CHECK(scene.compare().misattributed == 1);
}

TEST_CASE("too much doubt decides nothing, but what is wrong is wrong", "[selftest]") {
  EventScene scene(100);
  const selftest::Losses losses{1, {{scene.detours[0].start_ns, scene.detours[50].start_ns}}};
  std::vector<DetourView> all = scene.detours;
  scene.detours.erase(scene.detours.begin(), scene.detours.begin() + 50);
  CHECK(scene.compare(losses).verdict == Verdict::fail);
  CHECK(scene.compare(losses).undecided);
  scene.detours.pop_back();
  CHECK_FALSE(scene.compare(losses).undecided);
  scene.detours = all;
  CHECK_FALSE(scene.compare().undecided);
}

TEST_CASE("what could not be made decides nothing, and is no pass", "[selftest]") {
  EventScene scene(100);
  scene.truth.occurrences.clear();
  scene.detours.clear();
  CHECK(scene.compare().verdict == Verdict::fail);
  CHECK(scene.compare().reason == "nothing was injected");
  CHECK(scene.compare().undecided);
}

TEST_CASE("absence passes only where something else was shown", "[selftest]") {
  EventScene scene;
  scene.truth.shape = selftest::Shape::absence;
  scene.truth.occurrences.clear();
  scene.truth.sources = {{"task", "noised-cache"}};
  CHECK(scene.compare().verdict == Verdict::pass);
  scene.detours[5].entries.push_back(entry("task", "noised-cache", 700));
  CHECK(scene.compare().misattributed == 1);
  CHECK(scene.compare().verdict == Verdict::fail);
  scene.detours.clear();
  CHECK(scene.compare().verdict == Verdict::fail);
}

TEST_CASE("what could not be done is unsupported, and no pass by itself", "[selftest]") {
  EventScene scene;
  scene.truth.unsupported = "no such file";
  const Row row = scene.compare();
  CHECK(row.verdict == Verdict::unsupported);
  CHECK(row.reason == "no such file");
  CHECK_FALSE(selftest::all_pass({row}));
  CHECK_FALSE(selftest::all_pass({}));
  const Row good = EventScene().compare();
  CHECK(selftest::all_pass({good, row}));
  Row bad = good;
  bad.verdict = Verdict::fail;
  CHECK_FALSE(selftest::all_pass({good, bad}));
}

TEST_CASE("rows are printed for people and for programs", "[selftest]") {
  TaskScene scene;
  scene.detours.erase(scene.detours.begin());
  const std::vector<Row> rows{scene.compare(), EventScene().compare()};
  CHECK(selftest::rows_to_text(rows) ==
        "mode  cpu  injected  found  missed  misattributed  in doubt    recall  precision       time error\n"
        "task    3       100     99       1              0         0  > 95.64%   > 97.33%   +0.50% ± 0.00%  "
        "FAIL: found 99 of 100; noised showed there: 1 no detour\n"
        "ipi     3      1000   1000       0              0         0  > 99.73%   > 99.73%                -  PASS\n");
  const auto json = nlohmann::json::parse(selftest::rows_to_json(rows));
  CHECK(json.at("schema") == "noised.selftest/1");
  CHECK(json.at("pass") == false);
  CHECK(json.at("rows").at(0).at("missed") == 1);
  CHECK(json.at("rows").at(0).at("reason") == "found 99 of 100; noised showed there: 1 no detour");
  CHECK(json.at("rows").at(0).at("blamed") == nlohmann::json{{"no detour", 1}});
  CHECK(json.at("rows").at(1).at("least_recall") > 0.997);
  CHECK(json.at("rows").at(0).at("time_uncertainty_percent") == 0);
  CHECK(json.at("rows").at(1).at("time_error_percent").is_null());
  CHECK(json.at("rows").at(1).at("time_uncertainty_percent").is_null());
  CHECK(json.at("rows").at(1).at("verdict") == "PASS");
  for (const auto& row : json.at("rows")) CHECK(row.at("undecided") == false);
}

TEST_CASE("a row tells programs that it failed for want of more", "[selftest]") {
  const TaskScene scene(10);
  const auto json = nlohmann::json::parse(selftest::rows_to_json({scene.compare()}));
  CHECK(json.at("rows").at(0).at("verdict") == "FAIL");
  CHECK(json.at("rows").at(0).at("undecided") == true);
}

TEST_CASE("the truth survives its JSON", "[selftest]") {
  EventScene scene(3);
  scene.truth.kernel = KernelCount{"/proc/interrupts CAL", 4};
  scene.truth.fallback = {{"vector", "call_function"}};
  scene.truth.fallback_kernel = KernelCount{"/proc/interrupts CAL", 7};
  scene.truth.inside = "x";
  scene.truth.waker = "y";
  const Result<Truth> parsed = selftest::parse_truth(to_json(scene.truth));
  REQUIRE(parsed.ok());
  CHECK(to_json(parsed.value()) == to_json(scene.truth));
  CHECK(parsed.value().kernel->count == 4);
  CHECK(parsed.value().fallback_kernel->count == 7);
  CHECK_FALSE(selftest::parse_truth("{}").ok());
  scene.truth.occurrences[0].source = 9;
  CHECK_FALSE(selftest::parse_truth(to_json(scene.truth)).ok());
}

TEST_CASE("modes are known by name", "[selftest]") {
  for (const selftest::Mode& mode : selftest::modes()) CHECK(selftest::find_mode(mode.name) == &mode);
  CHECK(selftest::find_mode("nothing") == nullptr);
}
