// SPDX-License-Identifier: Apache-2.0
// Whether a loop's CPU is seen at all: what the kernel counted there beside what came through the rings. Pure: no
// clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>

namespace noised::account {

/// What came of one CPU until a drain; all of them only rise.
struct Sighted {
  std::uint64_t interrupts = 0;  ///< records of interrupts that the kernel counts too, and those known to be lost
  std::uint64_t eligible = 0;    ///< intervals longer than the threshold
  std::uint64_t detours = 0;
};

/// Containment compares two streams with one another; it says nothing where both are silent, or where intervals come
/// and are too short for the loop. This asks a third: a CPU is blind in a window of time if fewer than half of the
/// interrupts that the kernel counted came as records, or if something longer than the threshold came, and not one
/// detour.
class BlindnessCheck {
 public:
  /// With fewer the window goes on: what the kernel counts while it is asked is on one side only.
  static constexpr std::uint64_t kEnough = 10;

  /// After a drain that brought `sighted`: the kernel had counted so many interrupts by `now_ns`.
  void look(std::uint64_t counted, std::uint64_t now_ns, const Sighted& sighted);
  /// True until the last look was judged.
  [[nodiscard]] bool waits() const { return pending_.has_value(); }
  /// After the next drain in which the loop's progress, `progress_ns`, lies behind the look: everything that was
  /// counted has come, if it ever will. `gap_end_ns`: until when the loop was last seen not to observe; a window that
  /// touches that is not judged, and the next begins.
  void judge(std::uint64_t progress_ns, std::uint64_t gap_end_ns, const Sighted& sighted);

  /// Interrupts that the kernel counted in blind windows, and that did not come.
  [[nodiscard]] std::uint64_t unseen() const { return unseen_; }
  /// Interrupts that the kernel counted in all windows that were judged.
  [[nodiscard]] std::uint64_t judged() const { return judged_; }

 private:
  struct Look {
    std::uint64_t counted = 0;
    std::uint64_t now_ns = 0;
    Sighted sighted;
  };
  std::optional<Look> from_;
  std::optional<Look> pending_;
  std::uint64_t unseen_ = 0;
  std::uint64_t judged_ = 0;
};

}  // namespace noised::account
