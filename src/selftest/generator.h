// SPDX-License-Identifier: Apache-2.0
// Generators: each makes one kind of noise on one CPU and tells what it really did.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

#include "selftest/truth.h"

namespace noised::selftest {

struct GeneratorOptions {
  unsigned cpu = 0;
  std::vector<unsigned> others;               ///< where everything else of the generator runs; at least one CPU
  std::uint64_t duration_ns = 3'000'000'000;  ///< of the noise; preparing and ending add 100 ms or so
  std::optional<std::uint64_t> period_ns;     ///< between two occurrences; each mode has its own default
  std::uint64_t work_ns = 5'000'000;          ///< task, wake: CPU time of an activation; the ways to it and from it, of
                                              ///< which kernel and noised see different parts, must not matter: these
                                              ///< parts were 10 to 45 us here
  unsigned slower = 1;                        ///< default periods are so many times longer; for slow machines
  unsigned count = 1;                         ///< task: so many tasks
  std::uint64_t offset_ns = 0;                ///< task: between the phases of two of them
  bool fifo = true;                           ///< policy of threads on the CPU: SCHED_FIFO, or SCHED_OTHER
  int priority = 50;                          ///< of SCHED_FIFO
  std::string name;                           ///< task: what it is called; empty: "noised-task"

  /// Nanoseconds between two occurrences, of a mode whose usual period this is.
  [[nodiscard]] std::uint64_t period(std::uint64_t usual_ns) const { return period_ns.value_or(slower * usual_ns); }
};

struct Mode {
  std::string_view name;
  std::string_view help;
  Result<Truth> (*generate)(const GeneratorOptions& options);
  bool only_when_asked = false;  ///< it disturbs more than the CPU, such as the kernel's log
};

/// All modes, in the order in which a self-test runs them.
std::span<const Mode> modes();
/// The mode of this name, or null.
const Mode* find_mode(std::string_view name);
/// The names of all modes, for messages: "task, wake, ...".
std::string mode_names();

/// Runs a generator to its end. The calling thread is confined to `options.others` and stays there; as namespaces of
/// its own may be made too, call it in a process that has nothing else to do.
Result<Truth> generate(const Mode& mode, const GeneratorOptions& options);

// One file each.
Result<Truth> generate_task(const GeneratorOptions& options);
Result<Truth> generate_wake(const GeneratorOptions& options);
Result<Truth> generate_hrtimer(const GeneratorOptions& options);
Result<Truth> generate_timer(const GeneratorOptions& options);
Result<Truth> generate_ipi(const GeneratorOptions& options);
Result<Truth> generate_membarrier(const GeneratorOptions& options);
Result<Truth> generate_munmap(const GeneratorOptions& options);
Result<Truth> generate_network(const GeneratorOptions& options);
Result<Truth> generate_fault(const GeneratorOptions& options);
Result<Truth> generate_work(const GeneratorOptions& options);
Result<Truth> generate_cache(const GeneratorOptions& options);
Result<Truth> generate_nmi(const GeneratorOptions& options);

}  // namespace noised::selftest
