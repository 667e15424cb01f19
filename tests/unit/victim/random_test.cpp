// SPDX-License-Identifier: Apache-2.0
// Whatever the gaps, sleeps and detours: no nanosecond is lost or made.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "unit/victim/scene.h"

using namespace noised;
using namespace noised::test;
using victim::Comparison;

namespace {

class RandomScene {
 public:
  explicit RandomScene(unsigned seed) : random_(seed) {}

  std::uint64_t upto(std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most)(random_); }

  // Gaps apart from each other, and now and then a sleep instead.
  victim::Account account() {
    victim::Account account = account_of({});
    account.first_ns = 1000;
    std::uint64_t at = 1000;
    for (std::uint64_t left = upto(60); left != 0; --left) {
      const std::uint64_t start = at += upto(2000);
      const std::uint64_t due = at += upto(5000);
      if (upto(4) == 0) {
        account.sleeps.push_back({start, due, at += upto(800)});
      } else {
        account.gaps.push_back({start, due});
      }
    }
    account.last_ns = at + upto(1000);
    return account;
  }

  // Entries nested at will, whose times and the overhead sum to the detour's.
  DetourView detour(std::uint64_t end_ns) {
    static constexpr const char* kNames[] = {"local_timer", "disk", "noised-task", "tick"};
    const std::uint64_t start_ns = upto(end_ns);
    DetourView view = test::detour(start_ns, start_ns + upto(3000), {});
    std::uint64_t left_ns = view.duration_ns;
    unsigned depth = 0;
    for (std::uint64_t left = upto(5); left != 0; --left) {
      const std::uint64_t self_ns = upto(left_ns);
      left_ns -= self_ns;
      view.entries.push_back(entry("task", kNames[upto(3)], self_ns, depth));
      depth = static_cast<unsigned>(upto(depth + 1));
    }
    view.overhead_ns = left_ns;
    view.incomplete = upto(9) == 0;
    return view;
  }

 private:
  std::mt19937 random_;
};

struct Totals {
  std::uint64_t suffered = 0;
  std::uint64_t reported = 0;
  std::uint64_t not_suffered = 0;
};

Totals add_up(const Comparison& sums) {
  Totals totals;
  for (const auto& row : sums.sources) {
    totals.suffered += row.suffered_ns;
    totals.reported += row.reported_ns();
    totals.not_suffered += row.not_suffered_ns;
  }
  return totals;
}

}  // namespace

TEST_CASE("sums of random gaps and detours are conserved", "[victim]") {
  const unsigned seed = Catch::getSeed();
  for (unsigned round = 0; round < 2000; ++round) {
    INFO("seed " << seed << ", round " << round);
    RandomScene scene(seed + round);
    const victim::Account account = scene.account();
    std::vector<DetourView> detours;
    std::uint64_t reported_ns = 0;
    for (std::uint64_t left = scene.upto(40); left != 0; --left)
      reported_ns += detours.emplace_back(scene.detour(account.last_ns)).duration_ns;
    const bool whole = scene.upto(1) == 0;
    victim::CompareOptions options;
    options.largest_overhead_ns = scene.upto(3000);
    if (!whole) options.to_ns = account.last_ns / 2;
    victim::Account wider = account;
    if (whole) {
      wider.first_ns = 0;
      wider.last_ns += 10'000;
    }
    const Comparison sums = compare(wider, detours, options);
    const Totals totals = add_up(sums);
    REQUIRE(sums.gap_ns + sums.late_ns ==
            totals.suffered + sums.unreported_ns + sums.beside_ns + sums.late_unreported_ns);
    REQUIRE(sums.suffered_ns == totals.suffered);
    REQUIRE(sums.reported_ns == totals.reported);
    REQUIRE(sums.not_suffered_ns == totals.not_suffered);
    REQUIRE(sums.short_ns <= sums.not_suffered_ns);
    REQUIRE(sums.asleep_ns <= sums.reported_ns);
    if (!whole) continue;
    REQUIRE(sums.gap_ns == account.lost_ns());
    REQUIRE(sums.late_ns == account.late_ns());
    REQUIRE(sums.reported_ns == reported_ns);
    REQUIRE(sums.gaps == account.gaps.size());
    REQUIRE(sums.detours == detours.size());
  }
}

TEST_CASE("the order in which detours come does not matter", "[victim]") {
  RandomScene scene(Catch::getSeed());
  const victim::Account account = scene.account();
  std::vector<DetourView> detours;
  for (std::uint64_t at = 0; at < account.last_ns; at += 4000) {
    detours.push_back(scene.detour(1));
    detours.back().start_ns = at;
  }
  const Comparison forward = compare(account, detours);
  const Comparison backward = compare(account, {detours.rbegin(), detours.rend()});
  REQUIRE(forward.sources.size() == backward.sources.size());
  for (std::size_t i = 0; i < forward.sources.size(); ++i) {
    CHECK(forward.sources[i].name == backward.sources[i].name);
    CHECK(forward.sources[i].suffered_ns == backward.sources[i].suffered_ns);
  }
}
