// SPDX-License-Identifier: Apache-2.0
// Activations of tasks compared: found, missed, misattributed, in doubt, and how long.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "unit/selftest/scene.h"

using namespace noised;
using namespace noised::test;
using selftest::Losses;
using selftest::Row;
using selftest::Verdict;

TEST_CASE("activations that all show pass, with what is nested in them", "[selftest]") {
  const Row row = TaskScene().compare();
  CHECK(row.injected == 100);
  CHECK(row.found == 100);
  CHECK(row.missed + row.misattributed + row.in_doubt == 0);
  CHECK(row.timed == 100);
  REQUIRE(row.time_error.has_value());
  CHECK(std::abs(*row.time_error - 0.005) < 1e-9);
  CHECK(row.verdict == Verdict::pass);
  CHECK(row.reason.empty());
}

TEST_CASE("what the kernel charges before the switch makes the time uncertain, not wrong", "[selftest]") {
  TaskScene scene;
  for (auto& each : scene.truth.occurrences) each.charged_ns = each.cpu_ns * 103 / 100;
  const Row row = scene.compare();
  CHECK(row.verdict == Verdict::pass);
  CHECK(std::abs(*row.time_error - (1.005 / 1.015 - 1)) < 1e-6);
  CHECK(std::abs(row.time_uncertainty - 0.015 / 1.015) < 1e-6);
  for (auto& each : scene.truth.occurrences) each.charged_ns = each.cpu_ns * 105 / 100;
  CHECK(scene.compare().verdict == Verdict::fail);  // it is known within 2.4% only
  CHECK(scene.compare().undecided);
  for (auto& each : scene.detours) each.entries[1].self_ns = each.entries[1].self_ns * 9 / 10;
  CHECK(scene.compare().reason == "the time is wrong");  // by far more than that
  CHECK_FALSE(scene.compare().undecided);
}

TEST_CASE("a task that was preempted on its way shows once more, and no more often than the kernel says",
          "[selftest]") {
  TaskScene scene;
  DetourView extra = scene.detours[50];
  extra.start_ns = scene.truth.occurrences[50].end_ns + 100'000;
  extra.duration_ns = 50'000;
  REQUIRE(extra.start_ns + extra.duration_ns < scene.truth.occurrences[51].start_ns);
  scene.detours.insert(scene.detours.begin() + 51, extra);
  CHECK(scene.compare().misattributed == 1);
  scene.truth.occurrences[51].preempted = 1;
  CHECK(scene.compare().misattributed == 0);
  CHECK(scene.compare().found == 100);
  extra.start_ns += 60'000;
  scene.detours.insert(scene.detours.begin() + 52, extra);
  CHECK(scene.compare().misattributed == 1);
}

TEST_CASE("an activation that does not show is missed", "[selftest]") {
  TaskScene scene;
  scene.detours.erase(scene.detours.begin() + 50);
  const Row row = scene.compare();
  CHECK(row.found == 99);
  CHECK(row.missed == 1);
  CHECK(row.verdict == Verdict::fail);
}

TEST_CASE("an activation under another name, another pid or on another CPU is missed", "[selftest]") {
  TaskScene scene;
  scene.detours[1].entries[1].name = "somebody";
  scene.detours[2].entries[1].detail = {{"pid", "43"}};
  scene.detours[3].cpu = kCpu + 1;
  CHECK(scene.compare().missed == 3);
}

TEST_CASE("without pids the name decides", "[selftest]") {
  TaskScene scene;
  for (DetourView& each : scene.detours) each.entries[1].detail.clear();
  CHECK(scene.compare().verdict == Verdict::pass);
}

TEST_CASE("truth that lies by time fails", "[selftest]") {
  TaskScene scene;
  for (auto& each : scene.truth.occurrences) {
    each.start_ns += 5 * kMs;
    each.end_ns += 5 * kMs;
  }
  const Row row = scene.compare();
  CHECK(row.found == 0);
  CHECK(row.missed == 100);
  CHECK(row.misattributed == 100);
  CHECK(row.verdict == Verdict::fail);
}

TEST_CASE("truth that lies by length fails", "[selftest]") {
  TaskScene scene;
  for (auto& each : scene.truth.occurrences) {
    each.cpu_ns = each.charged_ns = each.cpu_ns * 97 / 100;
    each.end_ns = each.start_ns + each.cpu_ns;
  }
  const Row row = scene.compare();
  CHECK(row.found == 100);
  CHECK(row.verdict == Verdict::fail);
  CHECK(row.reason == "the time is wrong");
}

TEST_CASE("a task that shows when it did not run is misattributed", "[selftest]") {
  TaskScene scene;
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint64_t start = (15 + 10 * i) * kMs;
    const auto place = scene.detours.begin() + 1 + 2 * i;
    scene.detours.insert(place, detour(start, start + kMs, {entry("task", "noised-task", kMs)}));
  }
  const Row row = scene.compare();
  CHECK(row.found == 100);
  CHECK(row.misattributed == 2);
  CHECK(row.verdict == Verdict::fail);
}

TEST_CASE("what shows outside the window does not count", "[selftest]") {
  TaskScene scene;
  scene.detours.push_back(
      detour(scene.truth.last_ns + 1, scene.truth.last_ns + kMs, {entry("task", "noised-task", kMs)}));
  CHECK(scene.compare().misattributed == 0);
}

TEST_CASE("a split task and an activation of two detours are one activation", "[selftest]") {
  TaskScene scene;
  DetourView& first = scene.detours[0];
  first.entries = {entry("task", "noised-task", 400'000, 0, {{"split", "true"}}), entry("task", "other", 30'000),
                   entry("task", "noised-task", 600'000, 0, {{"split", "true"}})};
  DetourView& second = scene.detours[1];
  const std::uint64_t end = second.start_ns + second.duration_ns;
  second = detour(second.start_ns, second.start_ns + 500'000, {entry("task", "noised-task", 500'000)});
  scene.detours.insert(scene.detours.begin() + 2, detour(end - 500'000, end, {entry("task", "noised-task", 500'000)}));
  const Row row = scene.compare();
  CHECK(row.found == 100);
  CHECK(row.timed == 100);
  CHECK(row.misattributed == 0);
  CHECK(std::abs(*row.time_error - 0.0049) < 1e-9);
}

TEST_CASE("an activation in an incomplete detour is in doubt, never found", "[selftest]") {
  TaskScene scene;
  scene.detours[7].incomplete = true;
  const Row row = scene.compare();
  CHECK(row.found == 99);
  CHECK(row.in_doubt == 1);
  CHECK(row.timed == 99);
  CHECK(row.verdict == Verdict::pass);
}

TEST_CASE("an absent activation is excused only where a loss was counted", "[selftest]") {
  TaskScene scene;
  scene.detours[7].incomplete = true;
  scene.detours[7].entries = {entry("unexplained", "unexplained", kMs + 20'000)};
  CHECK(scene.compare().missed == 1);
  CHECK(scene.compare(Losses{1, {}}).in_doubt == 1);
  scene.detours.erase(scene.detours.begin() + 7);
  CHECK(scene.compare(Losses{1, {}}).missed == 1);
  CHECK(scene.compare(Losses{0, {{79 * kMs, 82 * kMs}}}).in_doubt == 1);
  CHECK(scene.compare(Losses{0, {{85 * kMs, 86 * kMs}}}).missed == 1);
}

TEST_CASE("an absent activation is no loss where somebody else was told to have had its time", "[selftest]") {
  for (const char* blamed : {"task", "hypervisor", "hardware"}) {
    TaskScene scene;
    scene.detours[7].incomplete = true;
    scene.detours[7].entries = {entry(blamed, "somebody", kMs), entry("unexplained", "unexplained", 20'000)};
    const Row row = scene.compare(Losses{1, {}});
    CHECK(row.in_doubt == 0);
    CHECK(row.missed == 1);
    CHECK(row.misattributed == 1);
    // What is unexplained may have been it, but for the tenth that the clocks of both may differ by.
    scene.detours[7].entries = {entry(blamed, "somebody", 110'000), entry("unexplained", "unexplained", 910'000)};
    CHECK(scene.compare(Losses{1, {}}).in_doubt == 1);
    scene.detours[7].entries = {entry(blamed, "somebody", 130'000), entry("unexplained", "unexplained", 890'000)};
    CHECK(scene.compare(Losses{1, {}}).missed == 1);
  }
}

TEST_CASE("one activation of one proves nothing", "[selftest]") {
  const Row row = TaskScene(10).compare();
  CHECK(row.found == 10);
  CHECK(row.verdict == Verdict::fail);
  CHECK(row.undecided);
  CHECK(TaskScene(11).compare().verdict == Verdict::pass);
}

TEST_CASE("what is certain of recall and precision grows with the sample", "[selftest]") {
  // Wilson's one-sided bound at 95%: n / (n + 1.645^2) where all were found.
  CHECK(TaskScene(11).compare().least_recall() == Catch::Approx(11 / (11 + 2.706)).epsilon(1e-4));
  CHECK(TaskScene(2'700).compare().least_recall() < selftest::kLeastRecall);
  CHECK(TaskScene(2'704).compare().least_recall() > selftest::kLeastRecall);
  TaskScene scene(1'000);
  scene.detours.erase(scene.detours.begin());
  const Row row = scene.compare();
  CHECK(row.least_recall() == Catch::Approx(0.9952).epsilon(1e-3));
  CHECK(row.shown == 999);
  CHECK(row.least_precision() == Catch::Approx(999 / (999 + 2.706)).epsilon(1e-4));
  CHECK(Row().least_recall() == 0);
}

TEST_CASE("who was blamed for what was missed is told", "[selftest]") {
  TaskScene scene;
  for (const std::size_t at : {7U, 8U})
    scene.detours[at].entries = {entry("task", "somebody", kMs), entry("softirq", "RCU", 20'000)};
  scene.detours.erase(scene.detours.begin());
  const Row row = scene.compare();
  CHECK(row.missed == 3);
  CHECK(row.blamed == std::map<std::string, std::uint64_t>{{"no detour", 1}, {"task:somebody", 2}});
  CHECK(row.reason == "found 97 of 100; noised showed there: 1 no detour, 2 task:somebody");
}

TEST_CASE("an activation that the host stretched is found, and not timed", "[selftest]") {
  TaskScene scene;
  scene.truth.occurrences[3].end_ns += 100'000;
  scene.detours[5].entries[1].detail.emplace_back("stretched", "true");
  const Row row = scene.compare();
  CHECK(row.in_doubt == 0);
  CHECK(row.found == 100);
  CHECK(row.timed == 98);
}

TEST_CASE("too much in doubt is no pass", "[selftest]") {
  TaskScene scene;
  for (unsigned i = 0; i < 11; ++i) scene.detours[i].incomplete = true;
  const Row row = scene.compare();
  CHECK(row.missed == 0);
  CHECK(row.verdict == Verdict::fail);
}

TEST_CASE("nothing injected, or nothing shown, is no pass", "[selftest]") {
  TaskScene scene;
  scene.detours.clear();
  CHECK(scene.compare().verdict == Verdict::fail);
  scene.truth.occurrences.clear();
  CHECK(scene.compare().verdict == Verdict::fail);
}

TEST_CASE("a detour that sums its intervals names the task, but does not time it", "[selftest]") {
  TaskScene scene;
  scene.detours[9].entries.push_back(entry("page_fault", "user", 0, 1, {{"intervals", "90"}}));
  const Row row = scene.compare();
  CHECK(row.found == 100);
  CHECK(row.timed == 99);
}

TEST_CASE("another waker is an error, none shown is not", "[selftest]") {
  TaskScene scene;
  scene.truth.waker = "noised-waker";
  CHECK(scene.compare().verdict == Verdict::pass);
  for (DetourView& each : scene.detours) each.entries[1].detail.emplace_back("waker", "noised-waker");
  CHECK(scene.compare().verdict == Verdict::pass);
  scene.detours[4].entries[1].detail.back().second = "cron";
  const Row row = scene.compare();
  CHECK(row.found == 99);
  CHECK(row.missed == 1);
  CHECK(row.misattributed == 1);
}

TEST_CASE("several tasks are told apart", "[selftest]") {
  TaskScene scene;
  scene.truth.sources.push_back({"task", "noised-task-1"});
  for (std::size_t i = 0; i < 50; ++i) {
    scene.truth.occurrences[2 * i].source = 1;
    scene.truth.occurrences[2 * i].pid = 7;
    scene.detours[2 * i].entries[1] = entry("task", "noised-task-1", kMs - 20'000, 0, {{"pid", "7"}});
  }
  CHECK(scene.compare().verdict == Verdict::pass);
  std::swap(scene.detours[0].entries[1].name, scene.detours[1].entries[1].name);
  CHECK(scene.compare().missed == 2);
}
