// SPDX-License-Identifier: Apache-2.0
// What the loop saw beside what the kernel told, and why the two differ (De, Kothari, Mann 2007: user-level and master
// distribution).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "account/attributor.h"
#include "analysis/density/density.h"
#include "model/histogram.h"
#include "model/types.h"

namespace noised::analysis {

// What a loop would have seen, rebuilt from the kernel's events alone. Pure: no clock, no I/O.

/// The CPU was in the kernel, or in other tasks, from start_ns to end_ns, but for pauses too short for the loop.
struct Stretch {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t busy_ns = 0;  ///< without the pauses
  bool in_detour = false;     ///< the loop saw a detour that touches it
  Kind entry = Kind::none;    ///< of the interval with which it begins, the outermost
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
    Kind entry;
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

/// What it costs to enter the kernel and to leave it, by the kind of the interval with which a detour begins: the mean
/// of its overhead. It is learned in the even seconds for the odd ones, and the other way round, so that no detour is
/// compared with a remainder of its own.
class FixedOverheads {
 public:
  void add(const account::DetourLedger& ledger);
  /// For what begins at this time, in ns; nothing where the other seconds do not tell.
  [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t start_ns, Kind entry) const;

 private:
  struct Sum {
    std::uint64_t ns = 0;
    std::uint64_t count = 0;
  };
  static constexpr std::uint64_t kLeast = 30;
  std::array<std::array<Sum, kKindCount>, 2> sums_;  // by second, even or odd, and kind
};

/// The two distributions of one CPU compared. A distance is nothing where one of the two is empty.
struct DensityComparison {
  unsigned cpu = 0;
  std::uint64_t joined_within_ns = 0;  ///< pauses up to this long do not divide a stretch
  std::uint64_t detours = 0;
  std::uint64_t detours_with_activity = 0;  ///< of the kernel, with a duration
  std::uint64_t stretches = 0;
  std::uint64_t stretches_in_detours = 0;
  std::uint64_t shortest_ns = 0;  ///< of all detours and stretches; 0 if there are none
  std::uint64_t longest_ns = 0;
  std::uint64_t instants = 0;           ///< events without duration by themselves: no stretch
  std::uint64_t cut_stretches = 0;      ///< shown in parts, as there was no room to hold them
  std::uint64_t overhead_ns = 0;        ///< of the detours with activity: only the loop sees it
  std::uint64_t without_cause_ns = 0;   ///< of the same: hypervisor, hardware, unexplained
  std::optional<double> as_seen;        ///< all detours against all stretches
  std::optional<double> with_activity;  ///< detours with activity against stretches in detours
  /// Detours with activity, as they were seen, against stretches in detours, each with the fixed overhead of its kind;
  /// of those that have one.
  std::optional<double> predicted;
  std::uint64_t predicted_stretches = 0;  ///< so many have
  std::optional<double> explained;  ///< the same, detours less overhead_ns and without_cause_ns, stretches less pauses
  DensityCurves curves;             ///< of all detours, and of all stretches
};

/// The longest pause between two stretches in which the loop cannot have run, learned from detours: to run, it needs an
/// exit from the kernel and an entry, and no detour had less time around its intervals than this. Detours in doubt do
/// not count.
class LeastOverhead {
 public:
  void add(const account::DetourLedger& ledger);
  /// In ns; the threshold where that is longer, as the loop takes shorter pauses of its own for nothing, or where no
  /// detour tells.
  [[nodiscard]] std::uint64_t bound_ns(std::uint64_t threshold_ns) const;

 private:
  std::optional<std::uint64_t> least_ns_;
};

/// Takes the events of one CPU as they were recorded. Memory is that of its histograms, and of Stretches.
class Distributions {
 public:
  explicit Distributions(std::uint64_t joined_within_ns, FixedOverheads overheads = {});
  Distributions(const Distributions&) = delete;
  Distributions& operator=(const Distributions&) = delete;
  ~Distributions() = default;

  void begin(std::uint64_t first_ns) { stretches_.begin(first_ns); }
  void add(const Interval& interval) { stretches_.add(interval); }
  void add(const account::DetourLedger& ledger);
  void skip(std::uint64_t start_ns, std::uint64_t end_ns) { stretches_.skip(start_ns, end_ns); }

  /// Durations of all detours.
  [[nodiscard]] const Histogram& user() const { return user_; }
  /// Durations of all stretches; of the last one after finish().
  [[nodiscard]] const Histogram& rebuilt() const { return rebuilt_; }

  /// Ends the last stretch; to be called once, after everything else.
  DensityComparison finish(unsigned cpu);

 private:
  void take(const Stretch& stretch);
  void note_length(std::uint64_t duration_ns);

  Stretches stretches_;
  FixedOverheads overheads_;
  DensityComparison result_;
  Histogram user_;
  Histogram user_with_activity_;
  Histogram user_explained_;
  Histogram rebuilt_;
  Histogram rebuilt_in_detours_;
  Histogram rebuilt_busy_;
  Histogram user_predicted_;  // of kinds whose overhead is known, as the next
  Histogram rebuilt_predicted_;
};

}  // namespace noised::analysis
