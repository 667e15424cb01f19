// SPDX-License-Identifier: Apache-2.0
// What a loop would have seen, rebuilt from the kernel's events alone. Pure: no clock, no I/O.
#pragma once

#include <noised/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

namespace noised {

/// The CPU was in the kernel, or in other tasks, from start_ns to end_ns, but for pauses too short for the loop.
struct Stretch {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t busy_ns = 0;  ///< without the pauses
  bool in_detour = false;     ///< the loop saw a detour that touches it
};

/// Intervals of one CPU, in order of their end, become stretches, in order of time: nested and overlapping intervals
/// are one, and so are those that follow each other within a bound. What the loop saw decides nothing about them; it is
/// only told so that stretches know whether they were seen, and because an interval never lasts beyond a detour: what
/// ended before one is complete, and need not be kept.
class Stretches {
 public:
  /// Kept at most until a detour says that they are complete; beyond that the oldest is taken as it is, and counted.
  static constexpr std::size_t kMostHeld = std::size_t{1} << 18U;

  /// Pauses of at most `joined_within_ns` are part of a stretch. `take` gets each stretch once.
  Stretches(std::uint64_t joined_within_ns, std::function<void(const Stretch&)> take);

  /// The CPU is observed from this time on: what began before is left out, unless it is in a detour already told. May
  /// come after intervals that began later.
  void begin(std::uint64_t first_ns);
  /// Adds the interval that ended next.
  void add(const Interval& interval);
  /// The loop saw this detour, all of whose intervals were added; detours come in order of time.
  void detour(std::uint64_t start_ns, std::uint64_t end_ns);
  /// The CPU was not observed in this time: what touches it is left out.
  void skip(std::uint64_t start_ns, std::uint64_t end_ns);
  /// Nothing will follow.
  void finish();

  /// Events without duration by themselves (page faults where the kernel refuses to time them): no stretch.
  [[nodiscard]] std::uint64_t instants() const { return instants_; }
  /// Stretches taken before they were known to be complete, because too many were held.
  [[nodiscard]] std::uint64_t cut() const { return cut_; }

 private:
  struct Piece {
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    bool in_detour;
  };
  void settle_before(std::uint64_t time_ns);
  void settle_first();
  void close();

  std::uint64_t joined_within_ns_;
  std::function<void(const Stretch&)> take_;
  std::uint64_t first_ns_ = 0;
  std::deque<Piece> held_;       // disjoint, in order; an interval to come may still join several
  std::optional<Stretch> open_;  // complete, but what follows may be part of it
  std::uint64_t instants_ = 0;
  std::uint64_t cut_ = 0;
};

}  // namespace noised
