// SPDX-License-Identifier: Apache-2.0
// Whether there is a hypervisor, and the time that it says it took from each CPU.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace noised::system {

/// Puts steal time by CPU number into `stolen_ns`, from the text of /proc/stat; CPUs that it does not list (offline)
/// keep what they had, or kNeverListed.
inline constexpr std::uint64_t kNeverListed = UINT64_MAX;
void parse_steal(std::string_view stat, std::uint64_t step_ns, std::vector<std::uint64_t>& stolen_ns);

/// Whether a hypervisor runs this machine: then time without kernel activity is its. The processor says so (CPUID 1,
/// ECX bit 31); on Xen's paravirtual machines CPUID may be the host's, and /sys/hypervisor/type says "xen". Linux has
/// /sys/hypervisor, empty, on bare metal too.
bool is_virtual_machine();
/// The same of what these two say; no text: there is no such file.
bool is_virtual_machine(std::uint32_t cpuid_1_ecx, std::string_view hypervisor_type);

/// /proc/stat, kept open. It moves in steps of the kernel's clock (10 ms); the per-CPU variable in nanoseconds behind
/// it cannot be reached where kallsyms has no per-CPU symbols.
class StealClock {
 public:
  /// Where its counts come from, for reports.
  static constexpr const char* kSource = "/proc/stat";

  static Result<StealClock> open(const std::string& path = kSource);

  /// Steal time since boot by CPU number, in ns; the last answer again if /proc/stat cannot be read. Two system calls.
  const std::vector<std::uint64_t>& read();
  /// The last answer.
  [[nodiscard]] const std::vector<std::uint64_t>& last() const { return stolen_ns_; }
  /// How coarse it is, in ns.
  [[nodiscard]] static std::uint64_t step_ns();
  /// True if any was ever counted: else this hypervisor tells nothing.
  [[nodiscard]] bool counts();

 private:
  explicit StealClock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
  std::vector<char> text_;
  std::vector<std::uint64_t> stolen_ns_;
};

}  // namespace noised::system
