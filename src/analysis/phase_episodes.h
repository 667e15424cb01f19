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

/// A phase with activity of the kernel and the `reach` phases after it, longer where more happens in these: caches are
/// refilled when the work comes by what was evicted, and by then a short phase is over. Time is without what the ledger
/// books on somebody: interval's self times, hypervisor, hardware.
struct EpisodeSums {
  Moments residual;  ///< `outside` and `inside` together
  Moments inside;    ///< overhead: entry, exit and refill up to the loop's next reading
  Moments outside;   ///< of all detours: the work
};

/// How many phases were in no comparison, and why.
struct EpisodesLeftOut {
  std::uint64_t in_doubt = 0;  ///< phases with an incomplete detour, and the episodes around them
  std::uint64_t edges = 0;     ///< at the start or end of a series: what was before, or comes after, is not known
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
  /// Residuals of phases in no episode.
  [[nodiscard]] const Moments& quiet() const { return quiet_; }
  [[nodiscard]] const EpisodesLeftOut& left_out() const { return left_out_; }
  /// By how many ns, in the mean, the work in an episode's phases is longer than in others only because a longer phase
  /// is likelier to be hit: covariance of a phase's duration with the residuals of it and the `reach` next ones, over
  /// the mean duration; of quiet ones. Nothing below 30 of them.
  [[nodiscard]] std::optional<double> length_bias_ns() const;

 private:
  struct Lasting {
    std::uint64_t duration_ns;
    std::uint64_t residual_ns;
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
  std::uint64_t inside_ns_ = 0;
  std::uint64_t outside_ns_ = 0;

  Pattern key_;
  std::map<Pattern, EpisodeSums> patterns_;
  Moments quiet_;
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
