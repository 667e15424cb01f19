// SPDX-License-Identifier: Apache-2.0
// The reading end of a ring in mapped memory, against a writer that does as the BPF programs do.
#include "kernel/mapped_ring.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

using namespace noised;
using namespace noised::kernel;

namespace {

struct Ring {
  explicit Ring(std::uint32_t segments)
      : count(segments),
        memory(segments * MappedRing::kStride / sizeof(noised_record)),
        reader(state, bytes(), count) {}

  std::byte* bytes() { return reinterpret_cast<std::byte*>(memory.data()); }

  // As claim() of bpf/pairing.bpf.h; null: no room.
  noised_record* claim(std::uint32_t size) {
    const auto left = [&] { return static_cast<std::int32_t>(state.ring_limit - state.ring_head); };
    if (left() < 0) state.ring_limit = state.ring_tail + count * NOISED_SEGMENT_BYTES - NOISED_RING_MARGIN;
    if (left() < 0) return nullptr;
    const std::uint32_t at = state.ring_head;
    state.ring_head += size;
    return reinterpret_cast<noised_record*>(bytes() + (at / NOISED_SEGMENT_BYTES & (count - 1)) * MappedRing::kStride +
                                            at % NOISED_SEGMENT_BYTES);
  }

  static void complete(noised_record* room, std::uint16_t size, std::uint64_t number) {
    std::memset(static_cast<void*>(room), 0xA5, size);
    room->start_ns = number;
    room->size = size;
  }

  bool put(std::uint16_t size, std::uint64_t number) {
    noised_record* const room = claim(size);
    if (room != nullptr) complete(room, size, number);
    return room != nullptr;
  }

  std::vector<std::uint64_t> read(std::size_t limit = SIZE_MAX) {
    std::vector<std::uint64_t> numbers;
    reader.drain(limit, [&](const noised_record& record, const char*, const noised_run_record*) {
      numbers.push_back(record.kind == NOISED_KIND_NONE ? UINT64_MAX : record.start_ns);
    });
    return numbers;
  }

  noised_cpu state{};
  std::uint32_t count;
  std::vector<noised_record> memory;
  MappedRing reader;
};

constexpr std::uint16_t kSizes[] = {sizeof(noised_record), sizeof(noised_task_record), sizeof(noised_run_record)};

}  // namespace

TEST_CASE("every record that found room comes out, whole and in order, lap after lap", "[trace]") {
  const std::uint32_t segments = GENERATE(1U, 2U, 8U);
  Ring ring(segments);
  // So that positions pass 2^32 on the way.
  ring.state.ring_head = ring.state.ring_tail = 0U - 3 * segments * NOISED_SEGMENT_BYTES;
  ring.state.ring_limit = ring.state.ring_tail;
  std::mt19937 random(segments);
  std::uint64_t next = 1;
  std::uint64_t expected = 1;
  std::uint64_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t burst = random() % 2000;
    for (std::size_t i = 0; i < burst; ++i) {
      if (ring.put(kSizes[random() % 3], next)) {
        ++next;
      } else {
        ++refused;
      }
    }
    for (const std::uint64_t number : ring.read(random() % 3000 + 1)) REQUIRE(number == expected++);
  }
  for (const std::uint64_t number : ring.read()) REQUIRE(number == expected++);
  CHECK(expected == next);
  CHECK((segments == 8) == (refused == 0));
  CHECK(ring.state.ring_head == ring.state.ring_tail);
  const std::vector<noised_record> zero(ring.memory.size());
  CHECK(std::memcmp(ring.memory.data(), zero.data(), zero.size() * sizeof(noised_record)) == 0);
}

TEST_CASE("a record that was begun holds up what came after it, until it is there", "[trace]") {
  Ring ring(1);
  REQUIRE(ring.put(sizeof(noised_record), 1));
  noised_record* const outer = ring.claim(sizeof(noised_run_record));
  REQUIRE(ring.put(sizeof(noised_task_record), 3));  // by an interrupt
  CHECK(ring.read() == std::vector<std::uint64_t>{1});
  CHECK(ring.read().empty());
  Ring::complete(outer, sizeof(noised_run_record), 2);
  CHECK(ring.read() == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("a record that was begun and is never finished holds nothing up for ever", "[trace]") {
  Ring ring(2);
  const auto read = [&](std::uint64_t now_ns) {
    std::vector<std::uint64_t> numbers = ring.read();
    if (!ring.reader.waits()) return numbers;
    ring.reader.give_up_late(now_ns, [&](const noised_record& record, const char*, const noised_run_record*) {
      CHECK(record.kind == NOISED_KIND_NONE);
      numbers.push_back(UINT64_MAX);
    });
    return numbers;
  };
  constexpr std::uint64_t kBegin = 5'000;
  constexpr std::uint64_t kLate = kBegin + MappedRing::kPatienceNs;
  noised_record* const slow = ring.claim(sizeof(noised_record));
  CHECK(read(kBegin).empty());
  CHECK(ring.reader.unfinished() == 1);
  Ring::complete(slow, sizeof(noised_record), 1);
  REQUIRE(ring.claim(sizeof(noised_task_record)) != nullptr);  // another one, in its turn
  CHECK(read(kLate) == std::vector<std::uint64_t>{1});
  REQUIRE(ring.put(sizeof(noised_record), 2));
  CHECK(read(kLate + MappedRing::kPatienceNs - 1).empty());
  CHECK(ring.reader.unfinished() == 3);
  CHECK(read(kLate + MappedRing::kPatienceNs) == std::vector<std::uint64_t>{UINT64_MAX});
  REQUIRE(ring.put(sizeof(noised_record), 3));
  CHECK(read(kLate + MappedRing::kPatienceNs + 1) == std::vector<std::uint64_t>{3});
  CHECK(ring.reader.unfinished() == 4);
  CHECK(ring.state.ring_head == ring.state.ring_tail);
  const std::vector<noised_record> zero(ring.memory.size());
  CHECK(std::memcmp(ring.memory.data(), zero.data(), zero.size() * sizeof(noised_record)) == 0);
}

TEST_CASE("a ring is full while as much as interrupts may claim is left", "[trace]") {
  Ring ring(1);
  std::uint32_t records = 0;
  while (ring.put(sizeof(noised_record), records)) ++records;
  CHECK(records * sizeof(noised_record) == NOISED_SEGMENT_BYTES - NOISED_RING_MARGIN + sizeof(noised_record));
  CHECK(ring.read(1).size() == 1);
  CHECK(ring.put(sizeof(noised_record), 0));
  CHECK_FALSE(ring.put(sizeof(noised_record), 0));
}

TEST_CASE("bytes that no program of ours wrote are one bad record, and the ring goes on", "[trace]") {
  const std::uint16_t size = GENERATE(std::uint16_t{1}, std::uint16_t{33}, std::uint16_t{64}, std::uint16_t{1U << 15U},
                                      std::uint16_t{UINT16_MAX}, std::uint16_t{80});
  Ring ring(1);
  REQUIRE(ring.put(sizeof(noised_record), 1));
  ring.claim(sizeof(noised_record))->size = size;  // 80: more than was claimed
  CHECK(ring.read() == std::vector<std::uint64_t>{1, UINT64_MAX});
  REQUIRE(ring.put(sizeof(noised_record), 2));
  CHECK(ring.read() == std::vector<std::uint64_t>{2});
}

TEST_CASE("what was given up leaves no size behind a segment, where the next lap's record will have its own",
          "[trace]") {
  Ring ring(2);
  ring.state.ring_head = ring.state.ring_tail = NOISED_SEGMENT_BYTES - 16;
  ring.state.ring_limit = NOISED_SEGMENT_BYTES;
  noised_record* const last = ring.claim(sizeof(noised_record));  // its size lies behind the segment
  REQUIRE(last != nullptr);
  Ring::complete(last, 7, 1);  // no size of any record
  last->size = 7;
  CHECK(ring.read() == std::vector<std::uint64_t>{UINT64_MAX});
  CHECK(ring.state.ring_tail == ring.state.ring_head);
  ring.state.ring_head = ring.state.ring_tail = 3 * NOISED_SEGMENT_BYTES - 16;
  ring.state.ring_limit = 4 * NOISED_SEGMENT_BYTES;
  REQUIRE(ring.claim(sizeof(noised_record)) == last);
  CHECK(ring.read().empty());  // claimed, and not finished yet
  Ring::complete(last, sizeof(noised_record), 2);
  CHECK(ring.read() == std::vector<std::uint64_t>{2});
}
