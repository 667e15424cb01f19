// SPDX-License-Identifier: Apache-2.0
// The kernel's side as the pipeline sees it: rings of records, one a CPU, and counts of what they could not hold. The
// tracer is one; tests have others, of as many CPUs as they like.
#pragma once

#include <noised/abi.h>
#include "model/views.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "system/records.h"

namespace noised::system {

/// What could not be told, since loading, on one CPU.
struct LostCounters {
  std::uint64_t full = 0;        ///< records refused by the ring
  std::uint64_t nmi = 0;         ///< records refused inside an NMI
  std::uint64_t depth = 0;       ///< frames refused by the pairing stack
  std::uint64_t unpaired = 0;    ///< entries without exit, exits without entry
  std::uint64_t unseen = 0;      ///< switches back to the loop that ran no program; each is also a record with a mark
  std::uint64_t unfinished = 0;  ///< drains that ended at a record begun and not finished: what came later was not told
  bool operator==(const LostCounters&) const = default;
};

/// Runs of our programs that the kernel refused (recursion), since loading, on all CPUs.
struct MissedRuns {
  std::uint64_t intervals = 0;  ///< of programs that tell what happens on a CPU
  std::uint64_t origins = 0;    ///< of those that only tell who brought it about
  [[nodiscard]] std::uint64_t total() const { return intervals + origins; }
};

/// CPUs are told by number, rings by their place. A virtual call a drain and a ring, never one a record.
class KernelEvents {
 public:
  KernelEvents() = default;
  KernelEvents(const KernelEvents&) = delete;
  KernelEvents& operator=(const KernelEvents&) = delete;
  virtual ~KernelEvents() = default;

  /// The state of a watched CPU, shared with the BPF programs by mapping.
  [[nodiscard]] virtual noised_cpu& state(unsigned cpu) = 0;
  /// By pid, the group of each task, which its children inherit; empty unless tasks are watched. Any byte may be
  /// written at any time.
  [[nodiscard]] virtual std::span<volatile std::uint8_t> groups() = 0;
  /// Hands every record that is in the ring at this place to the sink, oldest first; at most `limit`. No system call.
  /// Returns how many there were.
  virtual std::size_t drain(std::size_t index, std::size_t limit, const RecordSink& sink) = 0;
  /// Hands every origin submitted before this call to the sink; false if some of them are still to come (rings.h). To
  /// be called after drain(): then every origin of every interval drained is there.
  [[nodiscard]] virtual bool drain_origins(const OriginSink& sink) = 0;
  /// Of the fullest ring that was drained since the last call, the share of its room that was taken, at most.
  [[nodiscard]] virtual double take_fullness() = 0;
  /// Read from the mapping, without a system call.
  [[nodiscard]] virtual LostCounters lost(unsigned cpu) const = 0;
  /// Origins refused by their ring since loading, on all CPUs; read from the mapping, a cache line per possible CPU.
  [[nodiscard]] virtual std::uint64_t lost_origins() const = 0;
  /// True if a program runs on this tracepoint.
  [[nodiscard]] virtual bool attached(std::string_view tracepoint) const = 0;
  /// A system call per program.
  [[nodiscard]] virtual MissedRuns missed_runs() const = 0;
  [[nodiscard]] virtual std::vector<ProgramView> programs() const = 0;
};

}  // namespace noised::system
