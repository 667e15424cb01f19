// SPDX-License-Identifier: Apache-2.0
// The reading end of CPUs' rings of origins, against writers that do as the BPF programs do.
#include "kernel/origin_ring.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <deque>
#include <optional>
#include <random>
#include <thread>
#include <vector>

using namespace noised;
using namespace noised::kernel;

namespace {

struct Origins {
  explicit Origins(std::uint32_t size, std::uint32_t position = 0) : bits(size), slots(std::size_t{1} << size) {
    state.origin_head = state.origin_tail = state.origin_limit = position;
    reader.add(state, slots.data(), size);
  }

  // As put_origin() of bpf/origins.bpf.c; nothing: no room.
  std::optional<std::uint32_t> claim() {
    const std::uint32_t tail = std::atomic_ref(state.origin_tail).load(std::memory_order_acquire);
    if (left() < 0) state.origin_limit = tail + (1U << bits) - NOISED_ORIGIN_MARGIN;
    if (left() < 0) return std::nullopt;
    const std::uint32_t at = state.origin_head;
    if (at + 1 == 0) ++state.origin_limit;  // the carry of an addition of 64 bits
    std::atomic_ref(state.origin_head).store(at + 1, std::memory_order_release);
    return at;
  }
  [[nodiscard]] std::int32_t left() const { return static_cast<std::int32_t>(state.origin_limit - state.origin_head); }

  void finish(std::uint32_t at, std::uint64_t number) {
    noised_origin& slot = slots[at & ((1U << bits) - 1)];
    slot.time_ns = slot.code = number;
    std::atomic_ref(slot.lap).store(NOISED_ORIGIN_LAP(at >> bits), std::memory_order_release);
  }

  bool put(std::uint64_t number) {
    const auto at = claim();
    if (at) finish(*at, number);
    return at.has_value();
  }

  // Complete or not, and whether it was.
  std::vector<std::uint64_t> read() {
    std::vector<std::uint64_t> numbers;
    complete = reader.drain([&](const noised_origin& origin) {
      REQUIRE(origin.code == origin.time_ns);
      numbers.push_back(origin.time_ns);
    });
    return numbers;
  }

  noised_cpu state{};
  std::uint32_t bits;
  std::vector<noised_origin> slots;
  OriginRings reader;
  bool complete = false;
};

}  // namespace

TEST_CASE("every origin that found room comes out in order, lap after lap, and nothing that was read before",
          "[trace]") {
  const std::uint32_t bits = GENERATE(6U, 9U, 11U);
  // So that positions pass 2^32 on the way, and laps 2^15 where they are short: 80,000 rounds of 32 at most.
  Origins ring(bits, bits == 6 ? 0 : 0U - (8U << bits));
  std::mt19937 random(bits);
  std::uint64_t next = 1;
  std::uint64_t expected = 1;
  std::uint64_t refused = 0;
  for (int round = 0; round < 80'000; ++round) {
    for (std::size_t burst = random() % (2U << bits); burst > 0; --burst) ring.put(next) ? ++next : ++refused;
    const std::uint32_t had = ring.state.origin_head - ring.state.origin_tail;
    for (const std::uint64_t number : ring.read()) REQUIRE(number == expected++);
    REQUIRE(ring.complete);
    REQUIRE(ring.reader.fullness() == static_cast<double>(had) / (1U << bits));
    if (round > 2'000 && bits != 6) break;
  }
  CHECK(expected == next);
  CHECK(refused != 0);
  CHECK((bits != 6 || ring.state.origin_head >> bits > 1U << 15));
  CHECK(ring.read().empty());
}

TEST_CASE("an origin that is begun and not finished holds up what comes after it, and nothing is lost", "[trace]") {
  Origins ring(9);
  // Every slot has been used: what is in it is whole, and old.
  for (std::uint64_t number = 0; number < 3'000; ++number) {
    REQUIRE(ring.put(number));
    (void)ring.read();
  }
  REQUIRE(ring.put(1));
  const auto held = ring.claim();
  REQUIRE(held);
  REQUIRE(ring.put(3));
  CHECK(ring.read() == std::vector<std::uint64_t>{1});
  CHECK_FALSE(ring.complete);
  CHECK(ring.read().empty());
  CHECK_FALSE(ring.complete);
  // Its room is not given away meanwhile.
  std::uint64_t number = 4;
  while (ring.put(number)) ++number;
  ring.finish(*held, 2);
  const std::vector<std::uint64_t> rest = ring.read();
  CHECK(ring.complete);
  REQUIRE(rest.size() == number - 2);
  for (std::size_t i = 0; i < rest.size(); ++i) REQUIRE(rest[i] == i + 2);
}

TEST_CASE("a writer and a reader at the same time agree on every origin", "[trace]") {
  constexpr std::uint64_t kOrigins = 300'000;
  Origins ring(9);
  std::thread writer([&] {
    for (std::uint64_t number = 1; number <= kOrigins;) {
      if (ring.put(number)) ++number;
    }
  });
  std::uint64_t expected = 1;
  bool in_order = true;
  while (expected <= kOrigins) {
    (void)ring.reader.drain([&](const noised_origin& origin) {
      in_order &= origin.time_ns == expected && origin.code == expected;
      ++expected;
    });
  }
  writer.join();
  CHECK(in_order);
}

TEST_CASE("origins of many CPUs come out in order of time, and one that is not finished holds up its own CPU's only",
          "[trace]") {
  constexpr std::size_t kCpus = 256;
  std::deque<Origins> rings;  // their own readers are not used
  OriginRings reader;
  for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
    Origins& ring = rings.emplace_back(9);
    reader.add(ring.state, ring.slots.data(), ring.bits);
  }
  std::mt19937 random(1);
  const auto read = [&](bool complete) {
    std::vector<std::uint64_t> numbers;
    CHECK(reader.drain([&](const noised_origin& origin) { numbers.push_back(origin.time_ns); }) == complete);
    return numbers;
  };
  std::uint64_t next = 1;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint64_t> expected;
    for (std::size_t burst = random() % 20'000; burst > 0; --burst, ++next) {
      if (rings[random() % kCpus].put(next)) expected.push_back(next);
    }
    CHECK(read(true) == expected);
  }
  const auto held = rings[100].claim();
  REQUIRE(held);
  for (const unsigned cpu : {99U, 100U, 101U, 255U, 0U}) REQUIRE(rings[cpu].put(++next));
  CHECK(read(false) == std::vector<std::uint64_t>{next - 4, next - 2, next - 1, next});
  CHECK(reader.fullness() == 2.0 / (1U << 9U));
  rings[100].finish(*held, next - 5);
  CHECK(read(true) == std::vector<std::uint64_t>{next - 5, next - 3});
}
