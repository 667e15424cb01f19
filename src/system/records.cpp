// SPDX-License-Identifier: Apache-2.0
// Everything after this may trust a record: kinds index tables, and one time in the future would hold up, or make
// forget, all that comes after it.
#include "system/records.h"

namespace noised::system {
namespace {

bool is_kind(std::uint8_t kind) { return kind > NOISED_KIND_NONE && kind < NOISED_KIND_COUNT; }

}  // namespace

void hand_over(const void* data, std::size_t size, const RecordSink& sink) {
  if (size == sizeof(noised_run_record)) {
    const auto& run = *static_cast<const noised_run_record*>(data);
    sink(run.task.record, run.task.comm, &run);
  } else if (size == sizeof(noised_task_record)) {
    const auto& task = *static_cast<const noised_task_record*>(data);
    sink(task.record, task.comm, nullptr);
  } else {
    constexpr noised_record kBad{};  // of no kind
    sink(size == sizeof(noised_record) ? *static_cast<const noised_record*>(data) : kBad, nullptr, nullptr);
  }
}

void hand_over_origin(const void* data, std::size_t size, const OriginSink& sink) {
  noised_origin bad{};
  bad.kind = NOISED_ORIGIN_COUNT;
  sink(size == sizeof(noised_origin) ? *static_cast<const noised_origin*>(data) : bad);
}

Meaning meaning_of(const noised_record& record, const char* comm, std::uint64_t latest_ns) {
  if (record.start_ns > latest_ns || record.duration_ns > latest_ns - record.start_ns) return Meaning::bad;
  if (!is_kind(record.kind)) return Meaning::bad;
  if (record.kind != NOISED_KIND_TASK) return Meaning::interval;
  if ((record.flags & NOISED_FLAG_UNSEEN) != 0) return Meaning::unseen;
  if ((record.flags & NOISED_FLAG_STOPPED) != 0) return Meaning::stopped;
  if ((record.flags & NOISED_FLAG_STOLEN) != 0)
    return record.id != 0 && record.id <= record.duration_ns ? Meaning::stolen : Meaning::bad;
  return comm == nullptr && (record.flags & NOISED_FLAG_IDLE) == 0 ? Meaning::bad : Meaning::interval;
}

bool is_sound(const noised_origin& origin, std::uint64_t latest_ns) {
  return origin.kind < NOISED_ORIGIN_COUNT && origin.time_ns <= latest_ns && origin.context_kind < NOISED_KIND_COUNT;
}

}  // namespace noised::system
