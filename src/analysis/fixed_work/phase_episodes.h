// SPDX-License-Identifier: Apache-2.0
// Phases in which something happened, with those after them that still pay for it, beside quiet ones. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/phases.h"
#include "statistics/moments.h"

namespace noised {

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

}  // namespace noised
