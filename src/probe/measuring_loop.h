// SPDX-License-Identifier: Apache-2.0
// The loop's side as the pipeline sees it: a ring of detours, and how far the loop is. A probe is one; tests have
// others.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/detour_loop.h"
#include "probe/detour_ring.h"

namespace noised::probe {

class MeasuringLoop {
 public:
  MeasuringLoop() = default;
  MeasuringLoop(const MeasuringLoop&) = delete;
  MeasuringLoop& operator=(const MeasuringLoop&) = delete;
  virtual ~MeasuringLoop() = default;

  [[nodiscard]] virtual unsigned cpu() const = 0;
  [[nodiscard]] virtual DetourRing& ring() = 0;
  [[nodiscard]] virtual const LoopProgress& progress() const = 0;
  /// True while the thread is not on its CPU, and tries to return: progress() tells since when. One load.
  [[nodiscard]] virtual bool is_away() const = 0;
  /// True from when it was asked to step aside until it is asked to come back.
  [[nodiscard]] virtual bool is_aside() const = 0;
  /// False once it has ended.
  [[nodiscard]] virtual bool is_running() const = 0;
  /// How often the scheduler took the CPU from the thread since it began, by its own count; nothing if it does not
  /// tell. Reads a file until the loop has ended.
  [[nodiscard]] virtual std::optional<std::uint64_t> switches() const = 0;
  /// System management interrupts while the loop ran, once it has ended; nothing where they are not counted
  /// (smi_counter.h).
  [[nodiscard]] virtual std::optional<std::uint64_t> smi_count() const = 0;
};

}  // namespace noised::probe
