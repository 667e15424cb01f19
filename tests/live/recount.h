// SPDX-License-Identifier: Apache-2.0
// Intervals from the raw tracepoints: what src/ does, done again and otherwise, to compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ftrace.h"

namespace noised::live {

/// The tracepoints that recount() understands, as Ftrace takes them.
std::vector<std::string> recounted_events();

struct Recounted {
  std::string source;  ///< "softirq:TIMER"
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;
  std::uint64_t nested_ticks = 0;  ///< of which intervals directly inside it took so much,
  unsigned nested = 0;             ///< and were so many
  unsigned depth = 0;              ///< intervals around it, the task's too
};

struct Recount {
  std::vector<Recounted> intervals;         ///< in the order in which they ended
  std::vector<std::string> contradictions;  ///< exits that fit no entry, since `settled_ticks`
};

/// `loop`: the thread that measures; its own time is no interval. It had the CPU at `from_ticks`; what came before is
/// not understood; what was open then has ended by `settled_ticks`. `callback_ends`: as in Watching.
Recount recount(const std::vector<TraceEvent>& events, int loop, std::uint64_t from_ticks, std::uint64_t settled_ticks,
                bool callback_ends);

/// What both tracers cost at one end of an interval, from `from_ticks` on, of events of one CPU: no more than what
/// passes between the end of one and the begin of the next where the kernel itself has little to do, and runs both
/// tracers in full. Of each, 90% cost less. Nothing: too few were seen.
std::optional<std::uint64_t> end_cost_ticks(const std::vector<TraceEvent>& events, std::uint64_t from_ticks);

/// The value that so many percent of them do not exceed; there is at least one.
std::uint64_t quantile(std::vector<std::uint64_t> values, std::size_t percent);

/// The counter and CLOCK_MONOTONIC at once: the tightest of 50 readings, better than 100 ns.
struct Moment {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
};
Moment read_moment();

}  // namespace noised::live
