// SPDX-License-Identifier: Apache-2.0
// noisectl selftest: does the daemon tell the truth about noise that is known?
#pragma once

#include <cstdint>
#include <vector>

#include "selftest/compare.h"

namespace noised::client {

// Where detours of one CPU may be missing in a stream of several CPUs' detours. Pure: no clock, no I/O.

/// The daemon says before each piece of its stream how many detours are missing in it, not where, nor of which CPU. The
/// detours of one CPU come in order of time, those of several do not: a drain shows one CPU after the other. So what
/// may be missing of a CPU lies between two detours of that CPU, whatever others were shown.
class Unshown {
 public:
  /// At most so many detours are in a piece.
  static constexpr std::size_t kPiece = 64;

  /// Of this CPU; spans go to `spans`, in order. It outlives this.
  Unshown(unsigned cpu, std::vector<selftest::Span>& spans) : cpu_(cpu), spans_(spans) {}

  /// Some are missing in the piece that begins here.
  void missing() {
    if (!open_) spans_.push_back({last_end_ns_, UINT64_MAX});
    open_ = true;
    left_ = kPiece;
  }
  /// The next detour, of any CPU.
  void shown(unsigned cpu, std::uint64_t start_ns, std::uint64_t end_ns) {
    const bool in_piece = left_ != 0;
    if (in_piece) --left_;
    if (cpu != cpu_) return;
    if (open_ && !in_piece) {
      spans_.back().end_ns = start_ns;
      open_ = false;
    }
    last_end_ns_ = end_ns;
  }

 private:
  unsigned cpu_;
  std::vector<selftest::Span>& spans_;
  std::uint64_t last_end_ns_ = 0;  // of the CPU's last detour that was shown
  std::size_t left_ = 0;           // so many of the next detours may be those before which some are missing
  bool open_ = false;              // the last span has no end yet
};

}  // namespace noised::client
