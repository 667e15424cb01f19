// SPDX-License-Identifier: Apache-2.0
// The list of modes.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>

#include "base/cpus.h"
#include "base/text.h"
#include "selftest/generator.h"

namespace noised::selftest {
namespace {

constexpr std::array kModes = {
    Mode{"task", "a daemon that wakes up periodically and works", generate_task},
    Mode{"wake", "a task woken from another CPU", generate_wake},
    Mode{"hrtimer", "high-resolution timers", generate_hrtimer},
    Mode{"timer", "timers of the timer wheel", generate_timer},
    Mode{"ipi", "function calls from another CPU", generate_ipi},
    Mode{"membarrier", "memory barriers from another CPU", generate_membarrier},
    Mode{"munmap", "TLB shootdowns from another CPU", generate_munmap},
    Mode{"network", "packets from another CPU", generate_network},
    Mode{"fault", "page faults of a thread", generate_fault},
    Mode{"work", "work items of the kernel", generate_work},
    Mode{"cache", "memory traffic of other CPUs, which is no event", generate_cache},
    Mode{"nmi", "backtraces of all CPUs; they fill the kernel's log", generate_nmi, true},
};

}  // namespace

std::span<const Mode> modes() { return kModes; }

const Mode* find_mode(std::string_view name) {
  const auto* const found = std::find_if(kModes.begin(), kModes.end(), [&](const Mode& m) { return m.name == name; });
  return found == kModes.end() ? nullptr : found;
}

std::string mode_names() {
  std::string names;
  for (const Mode& mode : kModes) names += (names.empty() ? "" : ", ") + std::string(mode.name);
  return names;
}

Result<Truth> generate(const Mode& mode, const GeneratorOptions& options) {
  assert(!options.others.empty());
  const CpuSet others(options.others);
  if (sched_setaffinity(0, others.bytes(), others.get()) != 0)
    return failure(std::string("leaving the CPU: sched_setaffinity: ") + errno_text(errno));
  Result<Truth> truth = mode.generate(options);
  if (!truth) return truth;
  truth.value().mode = mode.name;
  truth.value().cpu = options.cpu;
  return truth;
}

}  // namespace noised::selftest
