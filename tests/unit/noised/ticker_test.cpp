// SPDX-License-Identifier: Apache-2.0
// When the next drain comes: never before it is due, and missed ones once.
#include <sys/eventfd.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "base/clocks.h"
#include "base/files.h"
#include "noised/ticker.h"

using namespace noised;
using noised::daemon::Tick;
using noised::daemon::Ticker;
using noised::daemon::TickerOptions;

namespace {

constexpr std::uint64_t kTickNs = 20'000'000;

}  // namespace

TEST_CASE("ticks come when they are due, and several missed ones as one") {
  TickerOptions options;
  options.interval_ns = kTickNs;
  const std::uint64_t begin_ns = monotonic_ns();
  auto ticker = Ticker::create(options);
  REQUIRE(ticker);
  for (std::uint64_t ticks = 1; ticks <= 3; ++ticks) {
    CHECK(ticker.value().wait().value() == Tick::drain);
    CHECK(monotonic_ns() >= begin_ns + ticks * kTickNs);
  }
  std::this_thread::sleep_for(std::chrono::nanoseconds(3 * kTickNs));
  const std::uint64_t late_ns = monotonic_ns();
  CHECK(ticker.value().wait().value() == Tick::drain);
  CHECK(ticker.value().wait().value() == Tick::drain);
  CHECK(ticker.value().wait().value() == Tick::drain);
  CHECK(monotonic_ns() >= late_ns + kTickNs);  // the first at once, the second when a tick was due, the third one later
  const std::uint64_t changed_ns = monotonic_ns();
  ticker.value().set_interval(4 * kTickNs);
  CHECK(ticker.value().wait().value() == Tick::drain);
  CHECK(monotonic_ns() >= changed_ns + 4 * kTickNs);
}

TEST_CASE("who asks is answered at once, and the end comes though no tick is due") {
  const Descriptor asked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  TickerOptions options;
  options.interval_ns = 3'600'000'000'000;
  options.duration_ns = kTickNs;
  options.asked_descriptor = asked.get();
  const std::uint64_t begin_ns = monotonic_ns();
  auto ticker = Ticker::create(options);
  REQUIRE(ticker);
  const std::uint64_t one = 1;
  REQUIRE(write(asked.get(), &one, sizeof(one)) == sizeof(one));
  const Tick first = ticker.value().wait().value();
  if (monotonic_ns() < begin_ns + kTickNs) {  // the host let it
    CHECK(first == Tick::drain);
    CHECK(ticker.value().wait().value() == Tick::stop);  // the question was taken: it waited
  }
  CHECK(monotonic_ns() >= begin_ns + kTickNs);
}
