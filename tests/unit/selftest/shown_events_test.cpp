// SPDX-License-Identifier: Apache-2.0
// What one detour is said to have of the sources that are looked for.
#include "selftest/shown_events.h"

#include <catch2/catch_test_macros.hpp>

#include "unit/selftest/scene.h"

using namespace noised;
using namespace noised::test;
using selftest::find_shown_events;
using selftest::Row;
using selftest::ShownEvent;

TEST_CASE("the time of a task counts once, where one is nested in another as well", "[selftest]") {
  const std::vector<DetourView> detours{
      detour(0, kMs, {entry("task", "a", 500), entry("vector", "local_timer", 30, 1), entry("task", "b", 200, 1)})};
  const std::vector<ShownEvent> shown =
      find_shown_events({{{"task", "a"}, {"task", "b"}}, 0, {}, {}, {}}, kCpu, detours);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].intervals == 2);
  CHECK(shown[0].task_ns == 730);
}

TEST_CASE("what is no task has no task's time", "[selftest]") {
  const std::vector<ShownEvent> shown =
      find_shown_events({{{"csd", "remote_function"}}, 0, {}, {}, {}}, kCpu, EventScene(1).detours);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].task_ns == 0);
}

TEST_CASE("a sum leaves in doubt only what may be in it", "[selftest]") {
  EventScene scene(100);
  scene.truth.sources = {{"page_fault", "user"}};
  scene.truth.inside = "noised-fault";
  for (DetourView& each : scene.detours)
    each.entries = {entry("task", "noised-fault", 900), entry("page_fault", "user", 90, 1)};
  const Detail many{{"intervals", "70"}};
  scene.detours[1].entries = {entry("task", "noised-fault", 900), entry("page_fault", "user", 90, 1, many)};
  scene.detours[2].entries = {entry("task", "noised-fault", 900, 0, many)};
  scene.detours[3].entries = {entry("task", "cc1plus", 900), entry("page_fault", "user", 90, 1, many)};
  const Row row = scene.compare();
  CHECK(row.found == 97);
  CHECK(row.in_doubt == 1);
  CHECK(row.missed == 2);
  CHECK(row.misattributed == 0);
}
