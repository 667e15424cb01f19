// SPDX-License-Identifier: Apache-2.0
// The ledger against a painting of every nanosecond, over random detours; and its identity at any size.
#include "account/attributor.h"

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "unit/account/oracle.h"
#include "unit/account/scenes.h"

namespace {

using namespace noised;
using namespace noised::account;
using oracle::Shape;

/// A scene on the clock: unit and place in time.
struct Placed {
  Detour detour;
  std::vector<Interval> intervals;  // source: the stroke's index
  std::uint64_t unit_ns = 1;
};

Placed place(const oracle::Scene& scene, std::uint64_t base_ns, std::uint64_t unit_ns, bool in_doubt) {
  const auto at = [&](std::int64_t unit) {
    return base_ns + static_cast<std::uint64_t>(unit) * unit_ns;  // wraps to the right place for negative ones
  };
  Placed placed{{at(0), at(scene.length), in_doubt}, {}, unit_ns};
  for (std::size_t i = 0; i < scene.strokes.size(); ++i) {
    const oracle::Stroke& s = scene.strokes[i];
    placed.intervals.push_back({.start_ns = at(s.start),
                                .end_ns = at(s.end),
                                .source = static_cast<SourceId>(i),
                                .kind = s.kind,
                                .flags = static_cast<std::uint8_t>(i % 4)});
  }
  return placed;
}

std::uint64_t sum_of(const DetourLedger& ledger) {
  return ledger.explained_ns + ledger.overhead_ns + ledger.outside_ns() + ledger.unexplained_ns;
}

// What must hold for every ledger, whatever its size; empty if it does.
std::string broken_invariant(const DetourLedger& ledger, const Detour& detour, const OverheadBounds& bounds) {
  const std::uint64_t duration = detour.end_ns - detour.start_ns;
  if (ledger.detour.start_ns != detour.start_ns || ledger.detour.end_ns != detour.end_ns) return "another detour";
  if (ledger.detour.in_doubt != detour.in_doubt) return "another doubt";
  if (sum_of(ledger) != duration) return "the ledger does not add up";
  std::uint64_t self = 0;
  for (const LedgerEntry& entry : ledger.entries) self += entry.self_ns;
  if (self != ledger.explained_ns) return "explained is not the sum of the self times";
  if (!std::is_sorted(ledger.entries.begin(), ledger.entries.end(),
                      [](const LedgerEntry& a, const LedgerEntry& b) { return a.start_ns < b.start_ns; })) {
    return "entries not in order of start";
  }
  if (ledger.entries.empty() && !ledger.gaps.empty()) return "gaps without intervals";
  if (ledger.entries.empty() && ledger.overhead_ns != 0) return "overhead of nothing";
  std::uint64_t overhead = 0;
  std::uint64_t gaps = 0;
  for (const Gap& gap : ledger.gaps) {
    gaps += gap.ns;
    overhead += std::min(gap.ns, bounds.bound(gap.place, gap.kind));
  }
  if (!ledger.entries.empty() && gaps != duration - self) return "gaps are not what is left";
  if (ledger.overhead_ns != overhead) return "overhead is not the bounded gaps";
  if ((detour.in_doubt ? ledger.outside_ns() : ledger.unexplained_ns) != 0) return "the wrong side of doubt";
  return {};
}

// Entries of equal intervals cannot be told apart: they are compared as a group, the innermost last.
using Group = std::tuple<std::uint64_t, std::uint64_t>;

/// What is compared: the times alone, or also depths and after whom the gaps are named.
enum class Check : std::uint8_t { times, all };

std::string different_entries(const DetourLedger& ledger, const oracle::Painting& painting, const Placed& placed,
                              Check check) {
  std::map<Group, std::vector<std::pair<unsigned, std::uint64_t>>> actual;
  std::map<Group, std::vector<oracle::PaintedEntry>> expected;
  std::vector<bool> seen(placed.intervals.size());
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.source >= placed.intervals.size()) return "an entry of nobody";
    const Interval& interval = placed.intervals[entry.source];
    if (seen[entry.source]) return "two entries of one interval";
    seen[entry.source] = true;
    if (entry.kind != interval.kind || entry.flags != interval.flags) return "kind or flags of another interval";
    if (entry.start_ns != std::max(interval.start_ns, placed.detour.start_ns)) return "start";
    actual[{interval.start_ns, interval.end_ns}].emplace_back(entry.depth, entry.self_ns);
  }
  for (std::size_t i = 0; i < placed.intervals.size(); ++i) {
    if (!seen[i]) return "no entry of an interval inside";
    const Interval& interval = placed.intervals[i];
    expected[{interval.start_ns, interval.end_ns}].push_back(*painting.entries[i]);
  }
  for (auto& [group, entries] : expected) {
    auto& got = actual[group];
    std::sort(got.begin(), got.end());
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.open < b.open; });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (got[i].second != entries[i].self * placed.unit_ns) return "self time";
      if (check == Check::times) continue;
      if (got[i].first < entries[i].containers || got[i].first > entries[i].open) return "depth";
    }
  }
  return {};
}

std::string different_gaps(const DetourLedger& ledger, const oracle::Painting& painting, std::uint64_t unit_ns,
                           Check check) {
  if (ledger.gaps.size() != painting.gaps.size()) return "number of gaps";
  for (std::size_t i = 0; i < ledger.gaps.size(); ++i) {
    if (ledger.gaps[i].place != painting.gaps[i].place) return "place of gap " + std::to_string(i);
    if (ledger.gaps[i].ns != painting.gaps[i].length * unit_ns) return "length of gap " + std::to_string(i);
    if (check == Check::times) continue;
    if (painting.gaps[i].kinds.count(ledger.gaps[i].kind) == 0) return "kind of gap " + std::to_string(i);
  }
  return {};
}

std::string difference(const DetourLedger& ledger, const oracle::Scene& scene, const Placed& placed,
                       const OverheadBounds& bounds, Check check) {
  const oracle::Painting painting = oracle::paint(scene);
  std::string found = broken_invariant(ledger, placed.detour, bounds);
  if (found.empty()) found = different_entries(ledger, painting, placed, check);
  if (found.empty()) found = different_gaps(ledger, painting, placed.unit_ns, check);
  if (found.empty() &&
      ledger.overhead_ns + ledger.outside_ns() + ledger.unexplained_ns != painting.unpainted * placed.unit_ns) {
    found = "what nobody painted";
  }
  return found;
}

std::string show(const oracle::Scene& scene) {
  std::string text = "[0, " + std::to_string(scene.length) + ")";
  for (const oracle::Stroke& s : scene.strokes) {
    text +=
        " " + std::to_string(static_cast<int>(s.kind)) + ":" + std::to_string(s.start) + ".." + std::to_string(s.end);
  }
  return text;
}

// Where in time the detour is: `room_ns` is more than intervals reach after its start, `before_ns` what before it.
std::uint64_t random_base(std::mt19937_64& random, std::uint64_t before_ns, std::uint64_t room_ns) {
  constexpr std::uint64_t kHalf = UINT64_MAX / 2;
  switch (random() % 4) {
    case 0:
      return before_ns;
    case 1:
      return kHalf - room_ns / 2;
    case 2:
      return UINT64_MAX - room_ns;
    default:
      return room_ns + random() % kHalf;
  }
}

struct Comparison {
  oracle::Shape shape = oracle::Shape::nested;
  Check check = Check::all;
  std::uint64_t largest_unit_ns = 1;
};

void compare_with_painting(std::mt19937_64& random, int rounds, const Comparison& how) {
  Attributor attributor;
  DetourLedger ledger;  // both are used again, as in the pipeline: nothing of an earlier detour may show
  OverheadBounds bounds;
  for (int round = 0; round < rounds; ++round) {
    if (round % 500 == 250) bounds = oracle::random_bounds(random);
    if (round % 2000 == 1999) bounds = OverheadBounds();
    const oracle::Scene scene = oracle::random_scene(random, how.shape);
    const std::uint64_t unit_ns = 1 + random() % how.largest_unit_ns;
    const std::uint64_t room_ns = static_cast<std::uint64_t>(3 * scene.length + 20) * unit_ns;
    const std::uint64_t before_ns = static_cast<std::uint64_t>(scene.length / 2 + 5) * unit_ns;
    const Placed placed = place(scene, random_base(random, before_ns, room_ns), unit_ns, random() % 4 == 0);
    attributor.attribute(placed.detour, placed.intervals, bounds, ledger);
    const std::string found = difference(ledger, scene, placed, bounds, how.check);
    if (found.empty()) continue;
    CAPTURE(round, show(scene), placed.detour.start_ns, unit_ns, placed.detour.in_doubt);
    FAIL(found);
  }
  SUCCEED("every round the same");
}

}  // namespace

TEST_CASE("the ledger of nested intervals is what painting every nanosecond gives", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{20240229}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  compare_with_painting(random, 40'000, {.shape = Shape::nested});
}

TEST_CASE("the times of overlapping intervals are what painting every nanosecond gives", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{20240301}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  compare_with_painting(random, 40'000, {.shape = Shape::overlapping, .check = Check::times});
}

TEST_CASE("depths and gaps of overlapping intervals know only what is still open", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{20240302}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  compare_with_painting(random, 20'000, {.shape = Shape::overlapping});
}

TEST_CASE("intervals that differ only outside the detour keep their order", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{20240303}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  compare_with_painting(random, 20'000, {.shape = Shape::truncated});
}

TEST_CASE("the ledger of a long detour is that of a short one, enlarged", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{7}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  compare_with_painting(random, 10'000, {.largest_unit_ns = 1U << 12});
  // 3000 units of up to 2^49 ns, and what sticks out of them, just fit into 64 bits.
  compare_with_painting(random, 10'000, {.largest_unit_ns = std::uint64_t{1} << 49});
}

TEST_CASE("the ledger adds up for any times at all", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{99}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Attributor attributor;
  DetourLedger ledger;
  for (int round = 0; round < 20'000; ++round) {
    const OverheadBounds bounds;
    const auto any_time = [&] { return random() >> (random() % 3 == 0 ? random() % 64 : 1); };
    std::uint64_t from = any_time();
    std::uint64_t to = random() % 3 == 0 ? from + random() % 10'000'000'000 : any_time();
    if (from > to) std::swap(from, to);
    std::vector<Interval> intervals(random() % 20);
    for (Interval& interval : intervals) {
      interval.start_ns = random() % 2 == 0 ? any_time() : from + random() % (to - from + 1);
      const std::uint64_t longest = random() % 2 == 0 ? 10'000'000 : UINT64_MAX;
      interval.end_ns = interval.start_ns + random() % (std::min(longest, UINT64_MAX - 1 - interval.start_ns) + 1);
      interval.kind = oracle::random_kind(random);
    }
    const Detour detour{from, to, random() % 2 == 0};
    attributor.attribute(detour, intervals, bounds, ledger);
    const std::string broken = broken_invariant(ledger, detour, bounds);
    if (broken.empty()) continue;
    CAPTURE(round, from, to, intervals.size());
    FAIL(broken);
  }
  SUCCEED("every round adds up");
}
