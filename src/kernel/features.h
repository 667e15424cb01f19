// SPDX-License-Identifier: Apache-2.0
// Whether BPF ring buffers may be used on this kernel.
#pragma once

#include <bpf/libbpf.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct btf;

struct bpf_object;

namespace noised::kernel {

// What libbpf's error numbers mean; some are its own and unknown to strerror(3).

/// The text of an errno or libbpf error, of either sign.
inline std::string libbpf_text(int error) {
  std::array<char, 128> text{};
  libbpf_strerror(error, text.data(), text.size());
  return text.data();
}

// Which tracepoints a kernel has, by its type information.

/// The BTF of the running kernel, or of a file given for it.
class KernelBtf {
 public:
  static constexpr const char* kRunningKernel = "/sys/kernel/btf/vmlinux";

  /// Loads `path`; the error names it and the remedy.
  static Result<KernelBtf> load(const std::string& path = kRunningKernel);

  /// True if the kernel was built with this tracepoint.
  [[nodiscard]] bool has_tracepoint(std::string_view name) const;
  /// True if its programs may call this helper ("BPF_FUNC_task_pt_regs").
  [[nodiscard]] bool has_helper(std::string_view name) const;
  /// Fails, and says why, unless programs may run at the entry and the exit of this kernel function.
  [[nodiscard]] Status can_trace_function(std::string_view name) const;

 private:
  struct Free {
    void operator()(btf* types) const;
  };
  explicit KernelBtf(btf* types) : types_(types) {}

  std::unique_ptr<btf, Free> types_;
};

// The one instruction of our programs that kernels before 5.12 lack: an atomic addition that tells what was there.

/// Asks the kernel, with a program of five instructions. False also if it refuses programs altogether.
bool kernel_has_atomic_claim();
/// Before the object is loaded: replaces it, in code that never runs there, by one that every verifier lets pass.
void take_out_atomic_claims(bpf_object* object);

/// On PREEMPT_RT before 6.6.83 and 6.11.5 the ring buffer takes a lock that sleeps, also where nothing may sleep
/// (CVE-2024-50138): an error there. `release` and `version` are those of uname(2); distributions that mend an older
/// kernel cannot be told apart, so there is a way to insist.
Status check_ringbuf(std::string_view release, std::string_view version);

// Callbacks of timers, whose end can do without a program (bpf/pairing.bpf.h) where what they are in is seen.

inline constexpr const char* kClockEvents = "/sys/devices/system/clockevents";
/// Why not on this kernel, if so: on PREEMPT_RT (`version` as above) callbacks sleep, and a timer that is not the local
/// APIC's (`directory`: as kClockEvents) may interrupt by a vector without a tracepoint.
std::optional<std::string> why_callback_ends_are_needed(std::string_view version,
                                                        const std::string& directory = kClockEvents);

}  // namespace noised::kernel
