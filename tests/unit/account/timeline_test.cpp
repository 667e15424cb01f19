// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "account/task_watch.h"

using namespace noised;
using namespace noised::account;

namespace {

bool same(const Interval& one, const Interval& other) {
  return one.start_ns == other.start_ns && one.end_ns == other.end_ns && one.kind == other.kind && one.id == other.id;
}

/// Runs of tasks with interrupts in them, some nested, and idle time between; in the order in which they ended.
std::vector<Interval> a_history(std::mt19937& random) {
  const auto below = [&](std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random); };
  std::vector<Interval> history;
  std::uint64_t now_ns = 1'000;
  for (std::uint64_t run = 0; run < 200; ++run) {
    now_ns += below(2) * below(50);
    const std::uint64_t start_ns = now_ns;
    for (std::uint64_t i = below(4); i != 0; --i) {
      const std::uint64_t from_ns = now_ns + below(20);
      const std::uint64_t inner_ns = from_ns + below(5);
      const std::uint64_t inner_end_ns = inner_ns + below(5);
      now_ns = inner_end_ns + below(5);
      if (below(2) == 0) history.push_back({inner_ns, inner_end_ns, 2, Kind::softirq, 0, run, 0});
      history.push_back({from_ns, now_ns, 1, Kind::vector, 0, run, 0});
    }
    now_ns += below(30);
    if (below(8) != 0) history.push_back({start_ns, now_ns, 3, Kind::task, 0, run, 0});
  }
  return history;
}

}  // namespace

TEST_CASE("timeline: what touches a time is found, whatever came after it") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const std::vector<Interval> history = a_history(random);
    Timeline timeline(4096);
    for (const Interval& each : history) timeline.add(each);
    timeline.close(history.size());
    for (int query = 0; query < 100; ++query) {
      const std::uint64_t from_ns = std::uniform_int_distribution<std::uint64_t>(900, history.back().end_ns)(random);
      const std::uint64_t to_ns = from_ns + std::uniform_int_distribution<std::uint64_t>(0, 300)(random);
      std::vector<Interval> expected;
      std::copy_if(history.begin(), history.end(), std::back_inserter(expected),
                   [&](const Interval& each) { return each.end_ns > from_ns && each.start_ns < to_ns; });
      std::vector<Interval> found;
      CHECK(timeline.touching(from_ns, to_ns, found));
      CHECK(std::equal(expected.begin(), expected.end(), found.begin(), found.end(), same));
    }
  }
}
