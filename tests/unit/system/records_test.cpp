// SPDX-License-Identifier: Apache-2.0
// Which records of the rings can be true.
#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <limits>
#include <vector>

#include "system/records.h"

using namespace noised;
using namespace noised::system;

namespace {

constexpr std::uint64_t kNowNs = 1'000'000;
constexpr std::uint64_t kEndOfTime = std::numeric_limits<std::uint64_t>::max();

noised_record raw_record(unsigned kind, std::uint64_t start_ns, std::uint64_t duration_ns, unsigned flags = 0) {
  noised_record record{};
  record.kind = static_cast<noised_u8>(kind);
  record.start_ns = start_ns;
  record.duration_ns = duration_ns;
  record.flags = static_cast<noised_u8>(flags);
  return record;
}

Meaning meaning(const noised_record& record, const char* comm = nullptr) { return meaning_of(record, comm, kNowNs); }

}  // namespace

TEST_CASE("records of a kind that there is, and of the past, are intervals", "[trace]") {
  for (unsigned kind = 0; kind < 256; ++kind) {
    const bool known = kind != NOISED_KIND_NONE && kind < NOISED_KIND_COUNT;
    CHECK(meaning(raw_record(kind, 10, 20), "comm") == (known ? Meaning::interval : Meaning::bad));
  }
  CHECK(meaning(raw_record(NOISED_KIND_VECTOR, kNowNs, 0)) == Meaning::interval);
  CHECK(meaning(raw_record(NOISED_KIND_VECTOR, 0, kNowNs)) == Meaning::interval);
  CHECK(meaning(raw_record(NOISED_KIND_VECTOR, kNowNs + 1, 0)) == Meaning::bad);
  CHECK(meaning(raw_record(NOISED_KIND_VECTOR, 1, kNowNs)) == Meaning::bad);
  CHECK(meaning(raw_record(NOISED_KIND_VECTOR, 100, kEndOfTime - 50)) == Meaning::bad);
  CHECK(meaning(raw_record(NOISED_KIND_VECTOR, kEndOfTime - 50, 100)) == Meaning::bad);
}

TEST_CASE("a task has a name unless it is a mark", "[trace]") {
  CHECK(meaning(raw_record(NOISED_KIND_TASK, 10, 20)) == Meaning::bad);
  CHECK(meaning(raw_record(NOISED_KIND_TASK, 10, 20), "crond") == Meaning::interval);
  CHECK(meaning(raw_record(NOISED_KIND_TASK, 10, 0, NOISED_FLAG_UNSEEN)) == Meaning::unseen);
  CHECK(meaning(raw_record(NOISED_KIND_TASK, 10, 0, NOISED_FLAG_STOPPED)) == Meaning::stopped);
  CHECK(meaning(raw_record(NOISED_KIND_TASK, kNowNs + 1, 0, NOISED_FLAG_STOPPED)) == Meaning::bad);
  CHECK(meaning(raw_record(NOISED_KIND_TASK, 10, 20, NOISED_FLAG_IDLE)) == Meaning::interval);  // the idle task
  CHECK(meaning(raw_record(NOISED_KIND_IRQ, 10, 20, NOISED_FLAG_UNSEEN)) == Meaning::interval);
  noised_record stolen = raw_record(NOISED_KIND_TASK, 10, 20, NOISED_FLAG_STOLEN);
  CHECK(meaning(stolen) == Meaning::bad);  // nothing was
  stolen.id = 20;
  CHECK(meaning(stolen) == Meaning::stolen);
  stolen.id = 21;  // more than there was
  CHECK(meaning(stolen) == Meaning::bad);
}

TEST_CASE("bytes of another size are a bad record", "[trace]") {
  noised_run_record run{};
  run.task.record = raw_record(NOISED_KIND_TASK, 10, 20);
  for (std::size_t size = 0; size <= sizeof(run) + 8; ++size) {
    Meaning seen{};
    bool counted = false;
    std::vector<char> bytes(sizeof(run) + 8);
    std::memcpy(bytes.data(), &run, sizeof(run));
    hand_over(bytes.data(), size, [&](const noised_record& record, const char* comm, const noised_run_record* counts) {
      seen = meaning(record, comm);
      counted = counts != nullptr;
    });
    const bool is_task = size == sizeof(noised_task_record) || size == sizeof(run);
    CHECK(seen == (is_task ? Meaning::interval : Meaning::bad));
    CHECK(counted == (size == sizeof(run)));
  }
  const noised_origin origin{};
  for (std::size_t size = 0; size <= sizeof(origin); ++size) {
    bool sound = false;
    hand_over_origin(&origin, size, [&](const noised_origin& seen) { sound = is_sound(seen, kNowNs); });
    CHECK(sound == (size == sizeof(origin)));
  }
}

TEST_CASE("an origin is of a kind that there is, and of the past", "[trace]") {
  noised_origin origin{};
  origin.time_ns = kNowNs;
  CHECK(is_sound(origin, kNowNs));
  CHECK_FALSE(is_sound(origin, kNowNs - 1));
  origin.context_kind = NOISED_KIND_COUNT;
  CHECK_FALSE(is_sound(origin, kNowNs));
  origin.context_kind = NOISED_KIND_WORK;
  origin.kind = NOISED_ORIGIN_COUNT;
  CHECK_FALSE(is_sound(origin, kNowNs));
}
