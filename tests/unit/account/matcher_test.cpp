// SPDX-License-Identifier: Apache-2.0
// Which interval lies in which detour, against a search through all of both for every one.
#include "account/matcher.h"

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace {

using namespace noised;
using namespace noised::account;

struct Taken {
  Detour detour;
  std::uint64_t tolerance_ns = 0;
};

/// What happened on a CPU and what the loop and the daemon were told of it.
struct Stream {
  std::vector<Taken> detours;       // in order of time; those that were lost are not among them
  std::vector<Interval> intervals;  // in order of end; source: index
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
};

enum class Fate : std::uint8_t { contained, partial, orphan };

Fate fate_of(const Interval& i, const Taken& t) {
  if (i.start_ns + t.tolerance_ns >= t.detour.start_ns) return Fate::contained;
  return i.end_ns > t.detour.start_ns ? Fate::partial : Fate::orphan;
}

/// True if the detour decides about the interval: it ended within the detour or before it.
bool decides(const Taken& t, const Interval& i) { return i.end_ns <= t.detour.end_ns + t.tolerance_ns; }

// The loop was running again when this one ended, so it cannot have been in the detour where it began.
bool outlasts_a_detour(const Interval& i, const Stream& stream) {
  return std::any_of(stream.detours.begin(), stream.detours.end(), [&](const Taken& t) {
    return i.start_ns < t.detour.end_ns && i.end_ns > t.detour.start_ns && !decides(t, i);
  });
}

Stream random_stream(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  Stream stream;
  const std::uint64_t base = below(3) == 0 ? 0 : below(2) == 0 ? UINT64_MAX / 2 : below(std::uint64_t{1} << 62);
  const std::uint64_t largest_tolerance = below(2) == 0 ? 1 : 30;
  const std::uint64_t widest_space = below(2) == 0 ? 5 : 400;
  std::uint64_t now = base + below(100);
  for (std::uint64_t count = below(12); count > 0; --count) {
    const std::uint64_t start = now + below(widest_space);
    now = start + below(300);
    if (below(6) != 0) stream.detours.push_back({{start, now, below(4) == 0}, below(largest_tolerance)});
    ++now;
  }
  for (std::uint64_t count = below(40); count > 0; --count) {
    const std::uint64_t start = base + below(now - base + 100);
    const Interval i{.start_ns = start, .end_ns = start + below(below(3) == 0 ? 250 : 40), .kind = Kind::irq};
    if (!outlasts_a_detour(i, stream)) stream.intervals.push_back(i);
  }
  std::stable_sort(stream.intervals.begin(), stream.intervals.end(),
                   [](const Interval& a, const Interval& b) { return a.end_ns < b.end_ns; });
  for (std::size_t i = 0; i < stream.intervals.size(); ++i) stream.intervals[i].source = static_cast<SourceId>(i);
  stream.first_ns = below(2) == 0 ? 0 : base + below(now - base + 1);
  stream.last_ns = now + below(100);
  return stream;
}

/// The counters that a stream must lead to. What began before the loop, and what is partly in a detour, may or may not
/// be called an orphan; nothing else is left open.
struct Expected {
  std::uint64_t eligible = 0;
  std::uint64_t contained = 0;
  std::uint64_t orphans = 0;
  std::uint64_t perhaps_orphans = 0;

  void add(const Interval& i, Fate fate, const Stream& stream, std::uint64_t threshold_ns) {
    const bool early = i.start_ns < stream.first_ns;
    if (!early && i.end_ns - i.start_ns > threshold_ns) {
      ++eligible;
      contained += fate == Fate::contained ? 1U : 0U;
    }
    if (fate == Fate::contained) return;
    ++(early || fate == Fate::partial ? perhaps_orphans : orphans);
  }
};

void require_counters(const Matcher& matcher, const Expected& expected) {
  REQUIRE(matcher.containment().eligible == expected.eligible);
  REQUIRE(matcher.containment().contained == expected.contained);
  REQUIRE(matcher.orphans() >= expected.orphans);
  REQUIRE(matcher.orphans() <= expected.orphans + expected.perhaps_orphans);
}

// Plays a stream; every interval that was accepted is decided by the first detour that can, or by the end.
void play(const Stream& stream, std::uint64_t threshold_ns, std::size_t capacity, std::mt19937_64& random) {
  Matcher matcher(threshold_ns, capacity);
  matcher.begin(stream.first_ns);
  Expected expected;
  std::vector<Interval> waiting;
  std::size_t next = 0;
  const auto add_next = [&] {
    const Interval& i = stream.intervals[next++];
    const bool accepted = matcher.add(i);
    REQUIRE(accepted == (waiting.size() < capacity));
    if (accepted) waiting.push_back(i);
    REQUIRE(matcher.held() == waiting.size());
  };
  const auto decide = [&](auto&& decided, auto&& fate) {
    std::erase_if(waiting, [&](const Interval& i) {
      if (!decided(i)) return false;
      expected.add(i, fate(i), stream, threshold_ns);
      return true;
    });
  };
  for (const Taken& t : stream.detours) {
    // Everything that ended by then was submitted before the detour; the daemon may have read further.
    while (next < stream.intervals.size() && decides(t, stream.intervals[next])) add_next();
    for (std::uint64_t more = random() % 4; more > 0 && next < stream.intervals.size(); --more) add_next();
    // What began before the loop is left to a case of its own.
    const auto early = [&](const Interval& i) { return i.start_ns < stream.first_ns; };
    std::vector<SourceId> sources;
    bool partial = false;
    bool perhaps_partial = false;
    decide([&](const Interval& i) { return decides(t, i); },
           [&](const Interval& i) {
             const Fate fate = fate_of(i, t);
             if (fate != Fate::orphan && !early(i)) sources.push_back(i.source);
             (early(i) ? perhaps_partial : partial) |= fate == Fate::partial;
             return fate;
           });
    const Matcher::Match match = matcher.take(t.detour, t.tolerance_ns);
    std::vector<SourceId> taken;
    for (const Interval& i : match.intervals) {
      if (!early(i)) taken.push_back(i.source);
      REQUIRE(i.start_ns == stream.intervals[i.source].start_ns);
      REQUIRE(i.end_ns == stream.intervals[i.source].end_ns);
    }
    REQUIRE(taken == sources);
    if (partial || !perhaps_partial) REQUIRE(match.partial == partial);
    REQUIRE(matcher.held() == waiting.size());
    require_counters(matcher, expected);
  }
  while (next < stream.intervals.size()) add_next();
  decide([&](const Interval& i) { return i.end_ns <= stream.last_ns; }, [](const Interval&) { return Fate::orphan; });
  matcher.finish(stream.last_ns);
  require_counters(matcher, expected);
}

Interval from_to(std::uint64_t start, std::uint64_t end) {
  return {.start_ns = start, .end_ns = end, .kind = Kind::vector};
}

}  // namespace

TEST_CASE("every interval of a stream meets the fate that a search through all detours finds", "[attribution]") {
  const std::uint64_t seed = GENERATE(std::uint64_t{11}, std::uint64_t{Catch::getSeed()});
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    CAPTURE(round);
    const Stream stream = random_stream(random);
    const std::size_t capacity = random() % 4 == 0 ? 1 + random() % 5 : 100;
    play(stream, random() % 30, capacity, random);
  }
}

TEST_CASE("an empty matcher has no share and no intervals", "[attribution]") {
  Matcher matcher(200, 8);
  REQUIRE(!matcher.containment().share().has_value());
  const Matcher::Match match = matcher.take({1'000, 2'000}, 50);
  REQUIRE(match.intervals.empty());
  REQUIRE(!match.partial);
  matcher.finish(5'000);
  REQUIRE(!matcher.containment().share().has_value());
  REQUIRE(matcher.orphans() == 0);
}

TEST_CASE("intervals between detours are orphans, those in detours are not", "[attribution]") {
  Matcher matcher(200, 100);
  for (const Interval& i : {from_to(100, 600), from_to(1'300, 1'500), from_to(1'200, 1'900), from_to(2'200, 2'250),
                            from_to(3'100, 3'900)}) {
    REQUIRE(matcher.add(i));
  }
  const Matcher::Match first = matcher.take({1'000, 2'000}, 0);
  REQUIRE(first.intervals.size() == 2);  // in order of end
  REQUIRE(first.intervals[0].start_ns == 1'300);
  REQUIRE(first.intervals[1].start_ns == 1'200);
  REQUIRE(!first.partial);
  REQUIRE(matcher.held() == 2);
  const Matcher::Match second = matcher.take({3'000, 4'000}, 0);
  REQUIRE(second.intervals.size() == 1);
  REQUIRE(second.intervals[0].start_ns == 3'100);
  REQUIRE(matcher.orphans() == 2);
  REQUIRE(matcher.containment().eligible == 3);  // 200 ns are not longer than the threshold
  REQUIRE(matcher.containment().contained == 2);
  REQUIRE(*matcher.containment().share() == 2.0 / 3.0);
}

TEST_CASE("the tolerance forgives exactly its nanoseconds", "[attribution]") {
  for (const std::uint64_t out : {0U, 49U, 50U, 51U}) {
    CAPTURE(out);
    Matcher front(0, 10);
    REQUIRE(front.add(from_to(1'000 - out, 1'500)));
    const Matcher::Match match = front.take({1'000, 2'000}, 50);
    REQUIRE(match.intervals.size() == 1);
    REQUIRE(match.partial == (out > 50));
    REQUIRE(front.containment().contained == (out > 50 ? 0 : 1));

    Matcher back(0, 10);
    REQUIRE(back.add(from_to(1'500, 2'000 + out)));
    const bool in = back.take({1'000, 2'000}, 50).intervals.size() == 1 && back.containment().contained == 1;
    REQUIRE(in == (out <= 50));
  }
}

TEST_CASE("an interval that outlasts its detour is counted once, as not contained", "[attribution]") {
  Matcher matcher(0, 10);
  REQUIRE(matcher.add(from_to(1'500, 2'500)));
  const Matcher::Match match = matcher.take({1'000, 2'000}, 50);
  REQUIRE(match.partial);
  REQUIRE(match.intervals.size() == 1);
  REQUIRE(match.intervals[0].end_ns == 2'500);
  REQUIRE(matcher.take({3'000, 4'000}, 50).intervals.empty());
  matcher.finish(5'000);
  REQUIRE(matcher.containment().eligible == 1);
  REQUIRE(matcher.containment().contained == 0);
  REQUIRE(matcher.held() == 0);
}

TEST_CASE("an interval that begins with the tolerance left of a detour is none of its", "[attribution]") {
  for (const std::uint64_t start_ns : {1'949U, 1'950U}) {
    Matcher matcher(0, 10);
    REQUIRE(matcher.add(from_to(start_ns, 2'500)));
    REQUIRE(matcher.take({1'000, 2'000}, 50).partial == (start_ns < 1'950));
  }
}

TEST_CASE("instants on the edges of a detour are in it", "[attribution]") {
  Matcher matcher(0, 10);
  for (const std::uint64_t at : {999U, 1'000U, 2'000U, 2'001U}) REQUIRE(matcher.add(from_to(at, at)));
  const Matcher::Match match = matcher.take({1'000, 2'000}, 0);
  REQUIRE(match.intervals.size() == 2);
  REQUIRE(match.intervals[0].start_ns == 1'000);
  REQUIRE(match.intervals[1].start_ns == 2'000);
  REQUIRE(matcher.orphans() == 1);
  REQUIRE(matcher.containment().eligible == 0);  // an instant is never longer than the threshold
}

TEST_CASE("what began before the loop is not held against containment", "[attribution]") {
  Matcher matcher(0, 10);
  matcher.begin(500);
  for (const Interval& i : {from_to(499, 600), from_to(500, 700)}) REQUIRE(matcher.add(i));
  matcher.take({1'000, 2'000}, 0);
  REQUIRE(matcher.containment().eligible == 1);
  REQUIRE(matcher.containment().contained == 0);
}

TEST_CASE("what began before the loop still explains the detour that it reaches into", "[attribution]") {
  Matcher matcher(0, 10);
  matcher.begin(1'000);
  REQUIRE(matcher.add(from_to(900, 1'900)));
  const Matcher::Match match = matcher.take({1'050, 2'000}, 0);
  REQUIRE(match.intervals.size() == 1);
  REQUIRE(match.partial);
  REQUIRE(matcher.containment().eligible == 0);
}

TEST_CASE("at the end what ended by then is an orphan and what ended later was not observed", "[attribution]") {
  Matcher matcher(0, 10);
  for (const Interval& i : {from_to(100, 299), from_to(200, 300), from_to(250, 301)}) REQUIRE(matcher.add(i));
  matcher.finish(300);
  REQUIRE(matcher.orphans() == 2);
  REQUIRE(matcher.containment().eligible == 2);
  REQUIRE(matcher.containment().contained == 0);
}

TEST_CASE("what lies behind the loop's progress and in no detour counts against it, without any detour",
          "[attribution]") {
  Matcher matcher(100, 10);
  matcher.begin(1'000);
  for (const Interval& i : {from_to(900, 1'500), from_to(1'600, 1'650), from_to(1'700, 2'000), from_to(2'900, 3'100)})
    REQUIRE(matcher.add(i));
  matcher.settle(2'050, 50);  // the third may still be found to have ended later
  REQUIRE(matcher.orphans() == 1);
  REQUIRE(matcher.containment().eligible == 0);
  matcher.settle(2'051, 50);
  REQUIRE(matcher.orphans() == 2);
  REQUIRE(matcher.containment().eligible == 1);  // not the one before the loop, nor the short one
  REQUIRE(matcher.containment().contained == 0);
  REQUIRE(matcher.held() == 1);
  // What waits for its detour is found by it.
  REQUIRE(matcher.take({2'800, 3'200}, 50).intervals.size() == 1);
  REQUIRE(*matcher.containment().share() == 0.5);
  matcher.settle(10'000, 50);
  REQUIRE(matcher.orphans() == 2);
}

TEST_CASE("what was not observed is not held against anybody when the loop goes on", "[attribution]") {
  Matcher matcher(100, 10);
  matcher.begin(1);
  REQUIRE(matcher.add(from_to(1'000, 1'500)));
  REQUIRE(matcher.add(from_to(1'600, 2'500)));
  matcher.skip(2'000);
  matcher.settle(5'000, 0);
  REQUIRE(matcher.orphans() == 0);
  REQUIRE(matcher.held() == 0);
}

TEST_CASE("a full matcher refuses, and takes again once a detour made room", "[attribution]") {
  Matcher matcher(0, 2);
  REQUIRE(matcher.add(from_to(1'100, 1'200)));
  REQUIRE(matcher.add(from_to(1'300, 1'400)));
  REQUIRE(!matcher.add(from_to(1'500, 1'600)));
  REQUIRE(matcher.held() == 2);
  REQUIRE(matcher.take({1'000, 2'000}, 0).intervals.size() == 2);
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t start = 3'000 + static_cast<std::uint64_t>(i) * 1'000;
    REQUIRE(matcher.add(from_to(start + 100, start + 200)));
    REQUIRE(matcher.add(from_to(start + 300, start + 400)));
    REQUIRE(!matcher.add(from_to(start + 500, start + 600)));
    REQUIRE(matcher.take({start, start + 900}, 0).intervals.size() == 2);
  }
  REQUIRE(matcher.containment().contained == 2'002);
  REQUIRE(matcher.orphans() == 0);
}
