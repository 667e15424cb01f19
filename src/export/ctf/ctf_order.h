// SPDX-License-Identifier: Apache-2.0
// From spans, told when they ended, to their beginnings and ends in order of time. Pure: no I/O.
#pragma once

#include "model/types.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace noised::exports {

/// A time on one CPU that is told by an event where it begins and one where it ends.
struct CtfSpan {
  enum class What : std::uint8_t {
    observed,  ///< an instant: recorded from here on
    gap,
    detour,
    interval,
  };
  What what = What::interval;
  Interval interval;    ///< of the others only start_ns and end_ns
  std::string payload;  ///< of observed and detour: the fields of their last event, as they are in the file
};

/// Where several things happen at one instant, what ended comes before what begins, and what goes on longer begins
/// first, so that they nest.
class CtfOrder {
 public:
  /// Is told each beginning and each end, in order of time.
  using Tell = std::function<void(const CtfSpan& span, bool end)>;

  explicit CtfOrder(Tell tell) : tell_(std::move(tell)) {}

  /// In order of their end, but nothing that began before the last release().
  void add(CtfSpan span);
  /// Tells what happened before this time, which nothing that is still to be added did.
  void release(std::uint64_t before_ns);
  /// Tells everything.
  void finish();

 private:
  struct Waiting {
    CtfSpan span;
    std::uint64_t number;
  };
  static bool begins_later(const Waiting& a, const Waiting& b);
  void begin_next();
  void end_until(std::uint64_t until_ns);

  Tell tell_;
  std::vector<Waiting> waiting_;  // a heap: that which begins first is the first
  std::uint64_t added_ = 0;
  std::vector<CtfSpan> open_;  // that which ends first is the last
};

}  // namespace noised::exports
