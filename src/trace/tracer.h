// SPDX-License-Identifier: Apache-2.0
// The kernel side: BPF programs loaded and attached, one ring buffer per watched CPU, counters of what was lost.
#pragma once

#include <noised/abi.h>
#include <noised/result.h>
#include <noised/views.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/arrivals.h"
#include "trace/records.h"
#include "trace/watching.h"

namespace noised {

struct TracerOptions {
  std::vector<unsigned> cpus;      ///< to watch
  std::size_t possible_cpus = 0;   ///< one more than the highest possible CPU number
  std::uint64_t buffer_bytes = 0;  ///< of each ring; a power of two, at least NOISED_SEGMENT_BYTES
  Watching watching;               ///< what is to be seen there
  bool verbose = false;            ///< let libbpf and the kernel's verifier speak on standard error
  std::optional<std::string> btf;  ///< BTF of the running kernel from a file: raw_tp programs are used then
};

/// What could not be told, since loading, on one CPU.
struct LostCounters {
  std::uint64_t full = 0;      ///< records refused by the ring
  std::uint64_t nmi = 0;       ///< records refused inside an NMI
  std::uint64_t depth = 0;     ///< frames refused by the pairing stack
  std::uint64_t unpaired = 0;  ///< entries without exit, exits without entry
  std::uint64_t unseen = 0;    ///< switches back to the loop that ran no program; each is also a record with a mark
  bool operator==(const LostCounters&) const = default;
};

class Tracer {
 public:
  /// Probes, loads and attaches. What the kernel lacks is skipped and told by unsupported(). Needs CAP_BPF and
  /// CAP_PERFMON (or root).
  static Result<std::unique_ptr<Tracer>> load(const TracerOptions& options);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// The state of a watched CPU, shared with the BPF programs by mapping.
  [[nodiscard]] noised_cpu& state(unsigned cpu);
  /// By pid, the group of each task, which its children inherit; empty unless tasks are watched. Any byte may be
  /// written at any time.
  [[nodiscard]] std::span<volatile std::uint8_t> groups();
  /// Of tasks for which loops are to step aside; open only where both are watched.
  [[nodiscard]] Arrivals& arrivals();
  /// Hands every record that is in the ring of options.cpus[index] to the sink, oldest first; at most `limit`.
  /// No system call. Returns how many there were.
  std::size_t drain(std::size_t index, std::size_t limit, const RecordSink& sink);
  /// Hands every origin submitted before this call to the sink; false if some of them are still to come (rings.h). To
  /// be called after drain(): then every origin of every interval drained is there.
  [[nodiscard]] bool drain_origins(const OriginSink& sink);
  /// Of the fullest ring that was drained since the last call, the share of its room that was taken, at most.
  [[nodiscard]] double take_fullness();
  /// Read from the mapping, without a system call.
  [[nodiscard]] LostCounters lost(unsigned cpu) const;
  /// Origins refused by their ring since loading, on all CPUs; read from the mapping, a cache line per possible CPU.
  [[nodiscard]] std::uint64_t lost_origins() const;
  /// True if a program runs on this tracepoint.
  [[nodiscard]] bool attached(std::string_view tracepoint) const;
  /// Runs of our programs that the kernel refused (recursion), on all CPUs; a system call per program.
  [[nodiscard]] std::uint64_t missed_runs() const;
  /// Fails where the kernel does not tell missed runs to this process: before 5.19, without CAP_BPF.
  [[nodiscard]] Status check_missed_runs() const;
  [[nodiscard]] std::vector<ProgramView> programs() const;
  /// One sentence for each source that cannot be seen here, and why.
  [[nodiscard]] const std::vector<std::string>& unsupported() const { return unsupported_; }

 private:
  struct Implementation;
  explicit Tracer(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation_;
  std::vector<std::string> unsupported_;
};

}  // namespace noised
