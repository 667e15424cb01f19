// SPDX-License-Identifier: Apache-2.0
// The mapping between the two clocks: exact on samples, monotone between them, honest about bends and steps.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>

#include "base/monotonic.h"
#include "base/tsc.h"
#include "trace/clock.h"

using namespace noised;

namespace {

constexpr std::uint64_t kTick = 2'600;       // ticks a microsecond
constexpr std::uint64_t kStart = 5'000'000;  // ns

ClockSample sample_at(std::uint64_t ns, std::uint64_t half_width = 50) { return {ns * kTick / 1000, ns, half_width}; }

}  // namespace

TEST_CASE("a clock map needs two samples and then gives them back", "[trace]") {
  ClockMap clock;
  CHECK_FALSE(clock.ready());
  CHECK(clock.uncertainty_ns() == UINT64_MAX);
  CHECK(clock.add(sample_at(kStart)));
  CHECK_FALSE(clock.ready());
  CHECK(clock.add(sample_at(kStart + 25'000'000)));
  REQUIRE(clock.ready());
  for (const std::uint64_t ns : {kStart, kStart + 1, kStart + 12'345'678, kStart + 25'000'000, kStart + 90'000'000}) {
    const std::uint64_t mapped = clock.to_ns(ns * kTick / 1000);
    CHECK(mapped + 1 >= ns);  // ticks are whole: half a nanosecond is lost
    CHECK(mapped <= ns + 1);
  }
  CHECK(clock.to_ns(sample_at(kStart - 1'000'000).ticks) == kStart - 1'000'000);
  CHECK(clock.to_ticks(1'000) == kTick);
  CHECK(clock.frequency() == 2.6e9);
  CHECK(clock.uncertainty_ns() == 50 * 1000 / kTick + 1);
}

TEST_CASE("a slewed clock is followed sample by sample, and its bend is part of the uncertainty", "[trace]") {
  ClockMap clock;
  std::uint64_t ticks = 1'000'000'000;
  std::uint64_t ns = kStart;
  clock.add({ticks, ns, 50});
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    ticks += 25'000 * kTick;
    ns += 25'000'000 - 2'000 + random() % 4'000;  // 80 ppm to either side
    REQUIRE(clock.add({ticks, ns, 50}));
    REQUIRE(clock.to_ns(ticks) == ns);
  }
  CHECK(clock.steps() == 0);
  CHECK(clock.uncertainty_ns() > 500);
  CHECK(clock.uncertainty_ns() < 5'000);
  std::uint64_t last = 0;
  for (std::uint64_t at = 900'000'000; at < ticks + 100'000'000; at += 7'777'777) {
    REQUIRE(clock.to_ns(at) >= last);
    last = clock.to_ns(at);
  }
}

TEST_CASE("a sample that was interrupted is refused, one that goes back is a step", "[trace]") {
  ClockMap clock;
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(clock.add(sample_at(kStart + i * 25'000'000)));
  CHECK_FALSE(clock.add(sample_at(kStart + 100'000'000, 5'000)));
  CHECK(clock.steps() == 0);
  CHECK_FALSE(clock.add(sample_at(kStart)));
  CHECK(clock.steps() == 1);
  ClockSample jumped = sample_at(kStart + 125'000'000);
  jumped.ns += 1'000'000;
  CHECK(clock.add(jumped));
  CHECK(clock.steps() == 2);
}

TEST_CASE("old samples are forgotten, not the mapping", "[trace]") {
  ClockMap clock;
  for (std::uint64_t i = 0; i < 3 * ClockMap::kCapacity; ++i) REQUIRE(clock.add(sample_at(kStart + i * 25'000'000)));
  CHECK(clock.steps() == 0);
  CHECK(clock.to_ns(sample_at(kStart).ticks) == kStart);
}

TEST_CASE("this machine's clocks agree within the stated uncertainty", "[trace]") {
  ClockMap clock;
  clock.add(read_clock_sample());
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t until = monotonic_ns() + 2'000'000;
    while (monotonic_ns() < until) {
    }
    clock.add(read_clock_sample());
  }
  REQUIRE(clock.ready());
  const ClockSample sample = read_clock_sample();
  clock.add(sample);
  const std::uint64_t mapped = clock.to_ns(sample.ticks);
  const std::uint64_t apart = mapped > sample.ns ? mapped - sample.ns : sample.ns - mapped;
  CHECK(apart <= clock.uncertainty_ns());
}
