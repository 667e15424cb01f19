// SPDX-License-Identifier: Apache-2.0
// Phases in which something happened, with those after them that still pay for it, beside quiet ones. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "account/attributor.h"
#include "model/ledger.h"
#include "model/moments.h"
#include "model/types.h"

namespace noised::analysis {

// Phases of fixed work, and what the ledger says was in each (Tsafrir et al. 2005, 3.1: the micro-benchmark joined with
// klogger's log of the same run). Pure: no clock, no I/O.

/// What one source did in a phase.
struct PhaseSource {
  SourceId source = 0;
  std::uint32_t activations = 0;
  std::uint64_t self_ns = 0;
  std::uint32_t interruptions = 0;  ///< of the activations, those that were not in another task's time
};

/// From one sample to the next, the time in which the first of them was stored included (some 20 ns).
struct Phase {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t iterations = 0;  ///< of the loop
  std::uint64_t detour_ns = 0;
  /// Of detour_ns: kGapKinds, in detours that have some; their source is not set.
  std::array<PhaseSource, kGapKinds.size()> gaps;
  bool in_doubt = false;             ///< a detour is, or the parts are more than the whole
  std::vector<PhaseSource> sources;  ///< of the kernel's activity, rising by source

  [[nodiscard]] std::uint64_t length_ns() const { return end_ns - start_ns; }
  /// Entry, exit and refill in detours.
  [[nodiscard]] std::uint64_t overhead_ns() const { return gaps[0].self_ns; }
  /// What the work took by itself: without any detour.
  [[nodiscard]] std::uint64_t outside_ns() const { return in_doubt ? 0 : length_ns() - detour_ns; }
};

/// Makes phases out of what a recording tells of one CPU. A detour never reaches over a sample, as the loop takes
/// samples, and in a detour it does not run: so each one is in one phase, with all its ledger, and what phases say of a
/// source adds up to the report of the same recording. Allocates only where a phase has more sources than any before.
/// What happens while another task has the CPU interrupts that task: of the work it is one interruption, by the task
/// (and by the work function that a kernel thread runs).
class PhaseSeries {
 public:
  /// The next detour.
  void add(const account::DetourLedger& ledger);
  /// Something is missing here: the next sample ends no phase.
  void interrupt() { start_ns_.reset(); }
  /// A sample: true if it ends a phase. 0 iterations start a series. Either way phase() is what was added since the
  /// last one, until more is added.
  bool sample(std::uint64_t end_ns, std::uint64_t iterations);
  [[nodiscard]] const Phase& phase() const { return phase_; }

 private:
  void begin();
  PhaseSource& source(SourceId id);

  Phase phase_;
  bool ended_ = false;  // phase_ is told: what is added next is of another one
  std::optional<std::uint64_t> start_ns_;
};

/// Mean and squared distances from it, by Welford's method; in ns, which may be negative.
struct Spread {
  std::uint64_t count = 0;
  double mean_ns = 0;
  double squares = 0;

  void add(double value_ns) {
    ++count;
    const double before_ns = value_ns - mean_ns;
    mean_ns += before_ns / static_cast<double>(count);
    squares += before_ns * (value_ns - mean_ns);
  }
};

/// A phase with activity of the kernel and the `reach` phases after it, longer where more happens in these: caches are
/// refilled when the work comes by what was evicted, and by then a short phase is over. Its time is without what the
/// ledger books on somebody (self times, hypervisor, hardware), and less that of as many of the last quiet phases: what
/// came while the machine was slow for seconds is not to blame for it.
struct EpisodeSums {
  Spread residual;             ///< `inside` and `outside` together
  Spread inside;               ///< overhead: entry, exit and refill up to the loop's next reading
  Spread outside;              ///< of all detours: the work
  std::uint64_t unjudged = 0;  ///< episodes that are in none of these, as it was not known yet what is usual
};

/// How many phases were in no comparison, and why.
struct EpisodesLeftOut {
  std::uint64_t in_doubt = 0;  ///< phases with an incomplete detour, and the episodes around them
  std::uint64_t edges = 0;     ///< at the start or end of a series: what was before, or comes after, is not known;
                               ///< and before there were 16 quiet phases
  std::uint64_t endless = 0;   ///< in episodes that found no end
  std::uint64_t too_many = 0;  ///< of a kind that came when kMostPatterns were known
};

/// Adds up episodes that have the same length and the same activations: of such a pattern only moments are kept, and
/// they are all that least squares and their robust errors need.
class PhaseEpisodes {
 public:
  static constexpr std::size_t kMostPatterns = std::size_t{1} << 14U;

  /// {phases, source, activations, source, activations, ...}, rising by source.
  using Pattern = std::vector<std::uint32_t>;

  /// `reach`: phases after an activation that count with it.
  explicit PhaseEpisodes(std::size_t reach) : reach_(reach), last_(reach + 1) {}

  void add(const Phase& phase);
  /// What comes next does not follow what was added last.
  void interrupt();
  /// Nothing will follow.
  void finish() { interrupt(); }

  [[nodiscard]] std::size_t reach() const { return reach_; }
  [[nodiscard]] const std::map<Pattern, EpisodeSums>& patterns() const { return patterns_; }
  /// Phases in no episode: what they take, and how much more than the last ones before them.
  [[nodiscard]] const Moments& quiet() const { return quiet_; }
  [[nodiscard]] const Spread& quiet_spread() const { return quiet_spread_; }
  [[nodiscard]] const EpisodesLeftOut& left_out() const { return left_out_; }
  /// By how many ns, in the mean, the work in an episode's phases is longer than in others only because a longer phase
  /// is likelier to be hit: covariance of a phase's duration with the time of it and the `reach` next ones, as above,
  /// over the mean duration; of quiet ones. Nothing below 30 of them.
  [[nodiscard]] std::optional<double> length_bias_ns() const;

 private:
  struct Lasting {
    std::uint64_t duration_ns;
    std::uint64_t residual_ns;
    double usual_ns;  // before it
  };
  void add_quiet(const Phase& phase);
  void append(const Phase& phase);
  void close();
  void forget_quiet();
  void drop(std::uint64_t& reason, std::uint64_t phases);

  std::size_t reach_;
  std::size_t unknown_ = 0;  // so many phases more may pay for what is not known; set by the first phase
  bool begun_ = false;

  // The open episode, if it has a phase.
  std::uint32_t phases_ = 0;
  std::size_t silent_ = 0;  // phases at its end without activity
  std::vector<PhaseSource> sources_;
  std::optional<double> usual_ns_at_start_;
  std::uint64_t inside_ns_ = 0;
  std::uint64_t outside_ns_ = 0;

  Pattern key_;
  std::map<Pattern, EpisodeSums> patterns_;
  Moments quiet_;
  Spread quiet_spread_;
  double usual_ns_ =
      0;  // of the last quiet phases, the last one counting a sixteenth, the one before it less, and so on
  EpisodesLeftOut left_out_;

  // Covariance, by Welford: the last reach_ + 1 quiet phases without one between them that is not.
  std::vector<Lasting> last_;
  std::size_t held_ = 0;
  std::size_t next_ = 0;
  std::uint64_t residuals_ns_ = 0;  // of those held
  std::uint64_t pairs_ = 0;
  double mean_duration_ns_ = 0;
  double mean_residuals_ns_ = 0;
  double products_ = 0;
};

}  // namespace noised::analysis
