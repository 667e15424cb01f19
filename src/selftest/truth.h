// SPDX-License-Identifier: Apache-2.0
// What a generator really did to a CPU: the truth that noised's answer is compared with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace noised::selftest {

/// A source as noised names it.
struct Identity {
  std::string kind;
  std::string name;
  bool operator==(const Identity&) const = default;
};

/// One thing that was done to the CPU. Times are CLOCK_MONOTONIC in nanoseconds.
struct Occurrence {
  std::uint64_t start_ns = 0;    ///< it cannot have happened before this
  std::uint64_t end_ns = 0;      ///< nor after this
  std::uint64_t cpu_ns = 0;      ///< CPU time of the work by the kernel's account; 0: not known
  std::uint64_t charged_ns = 0;  ///< the same with the ways out of the sleep and into it; 0: not known
  std::uint64_t count = 1;       ///< how many intervals of the source it stands for
  unsigned source = 0;           ///< index into Truth::sources
  unsigned pid = 0;              ///< thread that ran; 0: none did
  bool slept = true;             ///< false: the thread was late and did not sleep before this activation
  std::uint64_t preempted = 0;   ///< so often on its way here, since the activation before ended: more intervals of it
};

/// How occurrences show in detours.
enum class Shape {
  events,       ///< each is `count` intervals of the source
  activations,  ///< each is a stretch of a task's running, timed, in one interval or several
  absence,      ///< nothing may show
};

/// A count of the kernel's own over the same window, read at or just outside its edges.
struct KernelCount {
  std::string counter;  ///< "/proc/interrupts CAL"
  std::uint64_t count = 0;
};

struct Truth {
  std::string mode;
  unsigned cpu = 0;
  std::string how;          ///< what was done, in a few words
  std::string unsupported;  ///< why nothing could be done here; empty: it was done
  Shape shape = Shape::events;
  std::uint64_t first_ns = 0;  ///< from here to last_ns nothing but the occurrences makes the sources
  std::uint64_t last_ns = 0;
  std::vector<Identity> sources;   ///< an occurrence is of the one it points at, or, for events, of any of them
  std::vector<Identity> fallback;  ///< where noised cannot see the kind of `sources` on this kernel
  bool shared = false;             ///< others make these sources on the CPU too, and the kernel does not count them
  std::string inside;              ///< events happen only inside this task; empty: anywhere
  std::string victim;              ///< events inside another task than this are that task's own; empty: of any
  std::string waker;               ///< who woke the task; empty: not known
  std::optional<KernelCount> kernel;
  std::optional<KernelCount> fallback_kernel;  ///< of `fallback`, where that is another count
  std::vector<Occurrence> occurrences;

  /// Intervals that all occurrences together stand for.
  [[nodiscard]] std::uint64_t injected() const;
};

/// The truth as one JSON object, schema "noised.noise/1".
std::string to_json(const Truth& truth);
/// Reads what to_json wrote.
Result<Truth> parse_truth(std::string_view json);

/// A truth that says why there is none.
Truth unsupported(std::string reason);
/// A refused system call: unsupported where the errno says that this kernel or user may not, an error otherwise.
Result<Truth> refused(const std::string& what, int error);

}  // namespace noised::selftest
