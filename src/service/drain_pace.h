// SPDX-License-Identifier: Apache-2.0
// How long to wait for the next drain where every CPU is the job's. Pure: no clock, no I/O.
#pragma once

#include <cstdint>

namespace noised {

/// A drain costs the same whether something happened or not: 45 system calls to learn that no run was missed, a switch
/// to the daemon and back. So where little happens it comes four times as rarely.
class DrainPace {
 public:
  static constexpr unsigned kRarely = 4;
  /// Of the fullest ring, per configured interval: with more it comes as often as configured, at once.
  static constexpr double kLittle = 1.0 / 32;
  /// So many drains with less, one after the other, until it comes rarely: a second, if every 25 ms.
  static constexpr unsigned kCalm = 40;

  /// The factor of the configured interval until the next drain: 1 or kRarely. `fullness`: share of its room that the
  /// fullest ring had taken at this one.
  unsigned next(double fullness);

 private:
  unsigned calm_ = 0;
  unsigned factor_ = 1;
};

}  // namespace noised
