// SPDX-License-Identifier: Apache-2.0
// The mapping between the two clocks: exact on samples, monotone between them, honest about bends and steps.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/clocks.h"
#include "system/clock.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::system;

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
  CHECK(clock.uncertainty_ns() == 50 * 1000 / kTick + 2);
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
  CHECK(clock.uncertainty_ns() < 10'000);
  std::uint64_t last = 0;
  for (std::uint64_t at = 900'000'000; at < ticks + 100'000'000; at += 7'777'777) {
    REQUIRE(clock.to_ns(at) >= last);
    last = clock.to_ns(at);
  }
}

TEST_CASE("a sample that was interrupted is refused, one that goes back is a step", "[trace]") {
  ClockMap clock;
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(clock.add(sample_at(kStart + i * 25'000'000)));
  CHECK_FALSE(clock.add(sample_at(kStart + 100'000'000, 50'000)));
  CHECK(clock.steps() == 0);
  CHECK(clock.add(sample_at(kStart)));
  CHECK(clock.steps() == 1);
  ClockSample jumped = sample_at(kStart + 125'000'000);
  jumped.ns += 1'000'000;
  CHECK(clock.add(jumped));
  CHECK(clock.steps() == 2);
}

namespace {

// What the two clocks really do: the counter runs on, and CLOCK_MONOTONIC at a rate that changes now and then.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] double ns_at(std::uint64_t ticks) const {
    auto at = changes_.rbegin();
    while (at->ticks > ticks) ++at;
    return at->ns + static_cast<double>(ticks - at->ticks) * at->ns_per_tick;
  }
  // From now on, `ppm` faster than its frequency says.
  void slew(double ppm) { changes_.push_back({now_ticks_, ns_at(now_ticks_), (1 + ppm * 1e-6) * 1000 / kTick}); }
  void pass(std::uint64_t ns) { now_ticks_ += ns * kTick / 1000; }
  // Every counter value after this is `ticks` less, or more, than it would have been.
  void step(std::int64_t ticks) {
    const double ns = ns_at(now_ticks_);
    const double rate = changes_.back().ns_per_tick;
    now_ticks_ += static_cast<std::uint64_t>(ticks);
    changes_ = {{0, ns - static_cast<double>(now_ticks_) * rate, rate}};
  }
  // As the reader does it: again if the map refuses it. `spoiled`: every so many readings, one is interrupted.
  void drain(ClockMap& clock, std::uint64_t half_ticks, std::uint64_t spoiled) {
    bool taken = false;
    for (int tries = 0; tries < 3 && !taken; ++tries) {
      const bool is_spoiled = spoiled != 0 && random_() % spoiled == 0;
      const std::uint64_t half = half_ticks + random_() % 10 + (is_spoiled ? 2'000 + random_() % 20'000 : 0);
      pass(1'500 + half);
      taken =
          clock.add({now_ticks_, static_cast<std::uint64_t>(ns_at(now_ticks_ - half + random_() % (2 * half))), half});
    }
  }
  // Somewhere in the time up to now, the map is wrong by no more than it says.
  void check(const ClockMap& clock, std::uint64_t since_ns) {
    if (!clock.ready()) return;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t ticks = now_ticks_ - random_() % (since_ns * kTick / 1000);
      const double off = std::abs(static_cast<double>(clock.to_ns(ticks)) - ns_at(ticks));
      INFO("off by " << off << " ns, " << (now_ticks_ - ticks) * 1000 / kTick << " ns ago");
      REQUIRE(off <= static_cast<double>(clock.uncertainty_ns(ticks)));
    }
  }
  std::mt19937_64& random() { return random_; }
  [[nodiscard]] std::uint64_t now_ticks() const { return now_ticks_; }

 private:
  struct Change {
    std::uint64_t ticks;
    double ns;
    double ns_per_tick;
  };
  std::mt19937_64 random_;
  std::uint64_t now_ticks_ = 1'000'000'000'000;
  std::vector<Change> changes_{{0, 1e9, 1000.0 / kTick}};
};

constexpr std::uint64_t kDrainNs = 5'000'000;
constexpr std::uint64_t kDrainsASecond = 200;

void drain_for(World& world, ClockMap& clock, std::uint64_t seconds, std::uint64_t half_ticks,
               std::uint64_t spoiled = 0) {
  for (std::uint64_t i = 0; i < seconds * kDrainsASecond; ++i) {
    world.pass(kDrainNs);
    world.drain(clock, half_ticks, spoiled);
    world.check(clock, kDrainNs);
  }
}

}  // namespace

TEST_CASE("the clock is never off by more than it says, whatever the rate and the reader do", "[trace]") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    World world(seed);
    ClockMap clock;
    world.drain(clock, 50, 0);
    world.pass(20'000'000);
    world.drain(clock, 50, 0);
    for (int drain = 0; drain < 20'000; ++drain) {
      std::uint64_t passed_ns = kDrainNs + world.random()() % 1'000'000;
      if (drain % 100 == 0) passed_ns += world.random()() % 100'000'000;
      const std::uint64_t first_ns = world.random()() % passed_ns;
      world.pass(first_ns);
      if (drain % 500 == 499) world.slew(static_cast<double>(world.random()() % 1'000) - 500);
      world.pass(passed_ns - first_ns);
      world.drain(clock, 50, 20);
      INFO("seed " << seed << ", drain " << drain);
      world.check(clock, passed_ns);
    }
    CHECK(clock.steps() == 0);
  }
}

TEST_CASE("a slew of 500 ppm makes the clock uncertain for a minute, not for good", "[trace]") {
  World world(7);
  ClockMap clock;
  drain_for(world, clock, 2, 50);
  const std::uint64_t usual_ns = clock.uncertainty_ns();
  CHECK(usual_ns < 200);
  world.pass(2'000'000);
  world.slew(500);
  drain_for(world, clock, 1, 50);
  CHECK(clock.uncertainty_ns() > 1'000);
  CHECK(clock.steps() == 0);
  drain_for(world, clock, 60, 50);
  CHECK(clock.uncertainty_ns() < 200);
  world.slew(0);
  drain_for(world, clock, 61, 50);
  CHECK(clock.uncertainty_ns() < 200);
}

TEST_CASE("a reader that becomes slow is believed, and makes the clock less certain", "[trace]") {
  World world(8);
  ClockMap clock;
  drain_for(world, clock, 5, 50);
  for (int i = 0; i < 100; ++i) {  // the housekeeping CPU's frequency fell to a fifth
    world.pass(kDrainNs);
    world.drain(clock, 260, 0);
    world.check(clock, kDrainNs);
    CHECK(clock.uncertainty_ns() < 1'000);  // refused for ever, it might be off by 1,000 ppm of the time since
  }
  CHECK(clock.uncertainty_ns() >= 100);
  drain_for(world, clock, 61, 260, 20);
  drain_for(world, clock, 61, 50, 20);
  CHECK(clock.uncertainty_ns() < 200);
}

TEST_CASE("without a sample the clock is ever less certain", "[trace]") {
  World world(9);
  ClockMap clock;
  drain_for(world, clock, 1, 50);
  world.slew(-500);
  for (int i = 0; i < 10; ++i) {
    world.pass(kDrainNs);
    world.drain(clock, 1'000'000, 0);  // an emulator that never has a moment
    world.check(clock, kDrainNs);
  }
  CHECK(clock.uncertainty_ns() >= 10 * kDrainNs / 1'000);
}

TEST_CASE("a suspended reader does not take a slew for a step", "[trace]") {
  World world(10);
  ClockMap clock;
  drain_for(world, clock, 2, 50);
  world.pass(20'000'000'000);
  world.slew(300);
  world.pass(40'000'000'000);
  world.drain(clock, 50, 0);
  world.check(clock, 60'000'000'000);
  CHECK(clock.steps() == 0);
  drain_for(world, clock, 61, 50);
  CHECK(clock.uncertainty_ns() < 200);
}

TEST_CASE("a counter that steps begins a new map", "[trace]") {
  World world(11);
  ClockMap clock;
  drain_for(world, clock, 2, 50);
  std::uint64_t steps = 0;
  for (const std::int64_t ticks : {-500'000'000'000L, 70'000'000'000L, -100'000L, 100'000L}) {
    world.pass(kDrainNs);
    world.step(ticks);
    world.drain(clock, 50, 0);
    CHECK(clock.steps() == ++steps);
    drain_for(world, clock, 2, 50);
    CHECK(clock.steps() == steps);
    CHECK(clock.uncertainty_ns() < 200);
  }
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

TEST_CASE("a sample for now gives its place to the next, and what lies before it is known as well as ever", "[trace]") {
  World world(7);
  ClockMap clock;
  const auto read = [&](bool for_now) {
    const std::uint64_t ticks = world.now_ticks();
    REQUIRE(clock.add({ticks, static_cast<std::uint64_t>(world.ns_at(ticks)), 50}, for_now));
  };
  read(false);
  world.pass(kDrainNs);
  read(false);
  for (int drain = 1; drain < 5'000; ++drain) {
    world.pass(1'000'000);
    read(drain % 5 != 0);
    world.check(clock, 1'000'000);
    REQUIRE(clock.uncertainty_ns(world.now_ticks() - 1'000) < 100);
  }
  CHECK(clock.steps() == 0);
  // The samples of 5 s are those of every fifth drain: a fourth of what there is room for.
  CHECK(std::abs(static_cast<double>(clock.to_ns(world.now_ticks() - 4'900'000 * kTick)) -
                 world.ns_at(world.now_ticks() - 4'900'000 * kTick)) < 100);
}

TEST_CASE("a rate that was learned in a moment is no bend once it is known better", "[trace]") {
  // As a daemon starts: two samples 20 ms apart, a second of preparations, a sample, and half a second to the first
  // drain. The second sample is off by as much as its bracket allows.
  const auto start = [](bool for_now) {
    ClockMap clock;
    constexpr std::uint64_t kHalf = kTick * 3 / 10;  // 300 ns
    clock.add(sample_at(kStart, kHalf));
    ClockSample second = sample_at(kStart + 20'000'000, kHalf);
    second.ns += 300;
    clock.add(second, for_now);
    clock.add(sample_at(kStart + 1'000'000'000, kHalf));
    clock.add(sample_at(kStart + 1'500'000'000, kHalf));
    return clock;
  };
  CHECK(start(true).uncertainty_ns() < 1'000);
  CHECK(start(false).uncertainty_ns() > 10'000);
}

TEST_CASE("a sample for now that is refused leaves the one before it", "[trace]") {
  ClockMap clock;
  clock.add(sample_at(kStart));
  clock.add(sample_at(kStart + 25'000'000));
  REQUIRE(clock.add(sample_at(kStart + 26'000'000), true));
  CHECK_FALSE(clock.add(sample_at(kStart + 27'000'000, 50'000), true));
  CHECK(clock.newest_ticks() == sample_at(kStart + 26'000'000).ticks);
  REQUIRE(clock.add(sample_at(kStart + 28'000'000)));
  CHECK(clock.newest_ticks() == sample_at(kStart + 28'000'000).ticks);
  CHECK(clock.steps() == 0);
}

TEST_CASE("all that lies between the samples around a step is in doubt, before the step is known and after",
          "[trace]") {
  constexpr std::uint64_t kDrain = 25'000'000;
  const std::int64_t step_ns = GENERATE(10'000'000'000, -10'000'000, 100'000, -100'000);
  ClockMap clock;
  std::uint64_t ns = kStart;
  for (int i = 0; i < 10; ++i, ns += kDrain) clock.add(sample_at(ns));
  // The counter went on while the clock stood still, or the other way round.
  const auto after = [&](std::uint64_t at) {
    return ClockSample{static_cast<std::uint64_t>(static_cast<std::int64_t>(at) + step_ns) * kTick / 1000, at, 50};
  };
  REQUIRE(clock.add(after(ns)));
  CHECK(clock.steps() == 1);
  const std::uint64_t before_ticks = sample_at(ns - kDrain).ticks;
  const std::uint64_t after_ticks = after(ns).ticks;
  REQUIRE(before_ticks < after_ticks);
  for (int part = 1; part < 10; ++part)
    CHECK(clock.uncertainty_ns(before_ticks + (after_ticks - before_ticks) / 10 * static_cast<unsigned>(part)) >
          10'000);
  REQUIRE(clock.add(after(ns + kDrain)));
  CHECK(clock.steps() == 1);
  CHECK(clock.uncertainty_ns(after(ns + kDrain / 2).ticks) < 100);
  CHECK(clock.uncertainty_ns(before_ticks - kTick) < 100);
  CHECK(clock.uncertainty_ns() < 1'000);
}

TEST_CASE("a kernel that has given the counter up is refused, one that has another clock is told", "[trace]") {
  const test::TemporaryDirectory directory;
  const auto ask = [&](const std::string& current, const std::string& available) {
    std::ofstream(directory.path("current_clocksource")) << current << "\n";
    std::ofstream(directory.path("available_clocksource")) << available << "\n";
    return check_clock_source(directory.path());
  };
  for (const char* const good : {"tsc", "tsc-early", "kvm-clock", "xen", "hyperv_clocksource_tsc_page"})
    CHECK_FALSE(ask(good, "hpet acpi_pm").value().has_value());
  CHECK(ask("hpet", "tsc hpet acpi_pm").value()->find("hpet") != std::string::npos);
  const auto refused = ask("hpet", "hpet acpi_pm");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().line().find("unstable") != std::string::npos);
  CHECK(check_clock_source(directory.path("nowhere")).value().has_value());
}

TEST_CASE("a change of the clock source is told once, and one that is not known never changes", "[trace]") {
  const test::TemporaryDirectory directory;
  const auto set = [&](const char* name) { std::ofstream(directory.path("current_clocksource")) << name << "\n"; };
  set("tsc");
  ClockSourceWatch watch(directory.path());
  ClockSourceWatch nowhere(directory.path("nowhere"));
  CHECK_FALSE(watch.changed());
  set("acpi_pm");
  CHECK(watch.changed());
  CHECK_FALSE(watch.changed());
  std::ofstream(directory.path("current_clocksource")).close();  // empty
  CHECK_FALSE(watch.changed());
  set("tsc");
  CHECK(watch.changed());
  CHECK_FALSE(nowhere.changed());
}
