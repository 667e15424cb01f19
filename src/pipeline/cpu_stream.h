// SPDX-License-Identifier: Apache-2.0
// What loops and tasks share of one CPU, from its kernel ring to what is attributed: reading its records, counting what
// was lost, and finding who brought an interval about.
#pragma once

#include <noised/abi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "account/causes.h"
#include "account/lost_counts.h"
#include "model/types.h"
#include "system/kernel_events.h"
#include "system/names.h"
#include "system/records.h"

namespace noised::pipeline {

/// The clock of a pipeline that reads rings, which all of its streams share.
class DrainClock {
 public:
  explicit DrainClock(std::function<std::uint64_t()> now_ns) : now_ns_(std::move(now_ns)) {}
  DrainClock(const DrainClock&) = delete;
  DrainClock& operator=(const DrainClock&) = delete;

  /// Reads the clock.
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_(); }
  /// Returns a time by which everything that is read from a ring now has ended. It reads the clock only if `end_ns`,
  /// when the record at hand ended, is later than the last answer: few records are younger than their drain.
  [[nodiscard]] std::uint64_t latest_ns(std::uint64_t end_ns) {
    if (end_ns > latest_ns_) latest_ns_ = now_ns_() + account::kAheadNs;
    return latest_ns_;
  }

 private:
  std::function<std::uint64_t()> now_ns_;
  std::uint64_t latest_ns_ = 0;
};

/// What all streams of a pipeline share; it outlives them.
struct StreamParts {
  system::KernelEvents& kernel;
  system::Names& names;
  DrainClock& clock;
};

/// The intervals of one CPU and what may be wrong with them. A drain calls begin_drain(), take() for each record and
/// each origin, note_losses(), begin_join(), set_cause() for each interval, and settle(), in this order. Neither copied
/// nor moved: a copy of `intervals` would have no room, and the next drain would allocate.
class CpuStream {
 public:
  /// `room`: so many intervals a drain may bring before memory is asked for; `now_ns`: what is lost later is counted.
  CpuStream(const StreamParts& parts, unsigned cpu, std::size_t room, std::uint64_t now_ns);
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  /// Forgets the records of the last drain.
  void begin_drain();
  /// Adds what this record says, unless it is the mark of a loop that stopped, which only a loop's stream can use.
  system::Meaning take(const noised_record& record, const char* comm);
  /// Adds an origin that is sound, if it touches this CPU.
  void take(const noised_origin& origin);

  /// Counts what was lost since the last look, which came after the last drain, and returns whether anything was.
  /// `more`: something was that is not counted here; `began_ns`: this look began then, before `more` was known.
  bool note_losses(bool more, std::uint64_t began_ns);
  /// Tells whether the causes of this drain are known. Where something was lost they are not, and no interval is given
  /// one: the lost may have been any of theirs, and what is known may explain the wrong ones.
  void begin_join(bool known, std::uint64_t drained_ns);
  /// Looks up the cause of the interval that ended next.
  void set_cause(Interval& interval) {
    if (causes_known_) interval.cause = causes_.cause_of(interval);
  }
  /// Every interval that ended by `drained_ns` was given to set_cause(): no origin as old waits any longer.
  void settle(std::uint64_t drained_ns) {
    causes_.settle(drained_ns);
    drained_ns_ = drained_ns;
  }

  [[nodiscard]] unsigned cpu() const { return cpu_; }
  /// Of this drain, in the order in which they ended.
  [[nodiscard]] std::vector<Interval>& intervals() { return intervals_; }
  [[nodiscard]] account::CauseMatcher& causes() { return causes_; }
  [[nodiscard]] const account::CauseMatcher& causes() const { return causes_; }
  [[nodiscard]] account::DoubtfulTimes& doubt() { return doubt_; }
  /// As of the last look.
  [[nodiscard]] account::LossCounts& losses() { return losses_; }
  [[nodiscard]] const account::LossCounts& losses() const { return losses_; }

 private:
  StreamParts parts_;
  unsigned cpu_;
  account::CauseMatcher causes_;
  account::DoubtfulTimes doubt_;
  account::LossCounts losses_;
  std::vector<Interval> intervals_;
  std::uint64_t drained_ns_;       // when the last drain began
  std::uint64_t bad_records_ = 0;  // of this drain
  bool causes_known_ = true;       // likewise
};

// Here, so that a drain, which runs it for every record, can have it inlined.
inline system::Meaning CpuStream::take(const noised_record& record, const char* comm) {
  const std::uint64_t end_ns = record.start_ns + record.duration_ns;
  const system::Meaning meaning = system::meaning_of(record, comm, parts_.clock.latest_ns(end_ns));
  if (meaning == system::Meaning::interval) {
    const unsigned call = record.kind == NOISED_KIND_CSD ? unsigned{record.group} << 8U | record.call : 0U;
    const std::uint64_t id = record.kind == NOISED_KIND_TASK ? system::pid_of(record) : record.id;
    intervals_.push_back({record.start_ns, end_ns, parts_.names.resolve(record, comm), static_cast<Kind>(record.kind),
                          record.flags, id, 0, static_cast<std::uint16_t>(call)});
  } else if (meaning == system::Meaning::unseen) {
    doubt_.unseen_ns().push_back(record.start_ns);
  } else if (meaning == system::Meaning::bad) {
    ++bad_records_;
  }
  return meaning;
}

inline void CpuStream::take(const noised_origin& origin) {
  if (cpu_ / 64 == origin.word && ((origin.targets >> (cpu_ % 64)) & 1U) != 0) causes_.add(origin);
}

}  // namespace noised::pipeline
