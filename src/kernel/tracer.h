// SPDX-License-Identifier: Apache-2.0
// The kernel side: BPF programs loaded and attached, a ring of records per watched CPU, a ring of origins per CPU,
// counters of what was lost.
#pragma once

#include <noised/abi.h>
#include "base/result.h"
#include "model/views.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/arrivals.h"
#include "kernel/programs.h"
#include "system/kernel_events.h"
#include "system/records.h"

namespace noised::kernel {

struct TracerOptions {
  std::vector<unsigned> cpus;       ///< to watch
  std::size_t possible_cpus = 0;    ///< one more than the highest possible CPU number
  std::uint64_t buffer_bytes = 0;   ///< of each ring; a power of two, at least NOISED_SEGMENT_BYTES
  Watching watching;                ///< what is to be seen there
  bool reads_steal = false;         ///< at each tick, what the host of this virtual machine took
  std::uint64_t tick_function = 0;  ///< the hrtimer callback that is the tick, where that is known: it reads steal time
  bool verbose = false;             ///< let libbpf and the kernel's verifier speak on standard error
  std::optional<std::string> btf;   ///< BTF of the running kernel from a file: raw_tp programs are used then
  std::vector<std::string> spoil;   ///< for tests: this kernel is to refuse the programs on these tracepoints
};

class Tracer final : public system::KernelEvents {
 public:
  /// Probes, loads and attaches. What the kernel lacks, or refuses to load, is skipped and told by unsupported(). Needs
  /// CAP_BPF and CAP_PERFMON (or root).
  static Result<std::unique_ptr<Tracer>> load(const TracerOptions& options);
  ~Tracer() override;

  /// For benchmarks: no program runs from detach() to attach(), and nothing else changes.
  void detach();
  Status attach();

  /// Whether the ends of callbacks are seen: as was wanted, or because this kernel needs it (features.h).
  [[nodiscard]] bool callback_ends() const;

  [[nodiscard]] noised_cpu& state(unsigned cpu) override;
  [[nodiscard]] std::span<volatile std::uint8_t> groups() override;
  /// Of tasks for which loops are to step aside; open only where both are watched.
  [[nodiscard]] Arrivals& arrivals();
  /// The ring at place `index` is that of options.cpus[index].
  std::size_t drain(std::size_t index, std::size_t limit, const system::RecordSink& sink) override;
  [[nodiscard]] bool drain_origins(const system::OriginSink& sink) override;
  [[nodiscard]] double take_fullness() override;
  [[nodiscard]] system::LostCounters lost(unsigned cpu) const override;
  [[nodiscard]] std::uint64_t lost_origins() const override;
  [[nodiscard]] bool attached(std::string_view tracepoint) const override;
  [[nodiscard]] system::MissedRuns missed_runs() const override;
  /// Fails where the kernel does not tell missed runs to this process: before 5.19, without CAP_BPF.
  [[nodiscard]] Status check_missed_runs() const;
  [[nodiscard]] std::vector<ProgramView> programs() const override;
  /// One sentence for each source that cannot be seen here, and why.
  [[nodiscard]] const std::vector<std::string>& unsupported() const { return unsupported_; }

 private:
  struct Implementation;
  explicit Tracer(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation_;
  std::vector<std::string> unsupported_;
};

}  // namespace noised::kernel
