// SPDX-License-Identifier: Apache-2.0
// From when on the tasks of a CPU are watched.
#pragma once

#include <noised/abi.h>
#include "base/result.h"

#include <memory>
#include <optional>
#include <vector>

namespace noised::kernel {

struct WatchedState {
  unsigned cpu = 0;
  noised_cpu* state = nullptr;
};

/// Visits each CPU once, since only there it is known that no frame of the kernel's is open, and has the BPF programs
/// record from then on. Nothing may take the states away while it is on its way; that may be for as long as the process
/// lives, where a real-time task has all of a CPU.
class Visiting {
 public:
  /// Sends a thread on its way.
  static Result<Visiting> start(const std::vector<WatchedState>& cpus);
  /// How it ended, if it has: with an error where it could not come to a CPU.
  [[nodiscard]] std::optional<Status> ended() const;
  /// Where it is to go, or is, next.
  [[nodiscard]] unsigned cpu() const;

 private:
  struct Visit;
  explicit Visiting(std::shared_ptr<Visit> visit) : visit_(std::move(visit)) {}
  static void* run(void* argument);

  std::shared_ptr<Visit> visit_;
};

/// The same, and waits for its end; an error also where a CPU is not given to it within 5 s.
Status begin_watching(const std::vector<WatchedState>& cpus);

}  // namespace noised::kernel
