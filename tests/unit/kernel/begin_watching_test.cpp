// SPDX-License-Identifier: Apache-2.0
// Visits of CPUs from which on their tasks are watched.
#include <catch2/catch_test_macros.hpp>

#include <deque>
#include <vector>

#include "base/cpus.h"
#include "kernel/begin_watching.h"

using namespace noised;
using namespace noised::kernel;

TEST_CASE("each CPU is visited, and its tasks are watched from then on", "[trace]") {
  const auto allowed = allowed_cpus();
  REQUIRE(allowed);
  std::deque<noised_cpu> memory;
  std::vector<WatchedState> states;
  for (const unsigned cpu : allowed.value().permitted) states.push_back({cpu, &memory.emplace_back()});
  REQUIRE(begin_watching(states));
  for (const noised_cpu& state : memory) {
    CHECK(state.watched == NOISED_WATCH_TASKS);
    CHECK(state.current_pid != 0);
    CHECK(state.task_start_ns != 0);
  }
  CHECK(begin_watching({}));
}

TEST_CASE("where no thread can go, nothing is watched, and the CPU is named", "[trace]") {
  noised_cpu state{};
  const Status begun = begin_watching({{8'000, &state}});
  REQUIRE_FALSE(begun);
  CHECK(begun.error().line().starts_with("sched_setaffinity to CPU 8000: "));
  CHECK(state.watched == NOISED_WATCH_NOTHING);
}
