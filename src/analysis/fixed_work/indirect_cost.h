// SPDX-License-Identifier: Apache-2.0
// What an activation of a source costs the work besides the time that the source itself takes. Pure.
#pragma once

#include "model/types.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/fixed_work/phase_episodes.h"

namespace noised::analysis {

/// Nanoseconds, with a 95% confidence interval.
struct CostEstimate {
  double ns = 0;
  double low_ns = 0;
  double high_ns = 0;
};

enum class NoCost {
  none,         ///< there is one
  few,          ///< too few episodes with the source
  always,       ///< too few phases without it
  never_quiet,  ///< too few phases without any source
  tangled       ///< it comes with others, but not always with the same
};

/// Of one source, with those that always come with it: what these cost cannot be told from what it costs.
struct IndirectCost {
  std::vector<SourceId> sources;  ///< itself first; kOtherSource: all that are not in a row of their own
  std::vector<double> each;       ///< so many of their activations come with one of its own: 1 first
  std::uint64_t episodes = 0;     ///< with the first, as the next
  std::uint64_t activations = 0;
  NoCost why_not = NoCost::none;
  std::optional<CostEstimate> indirect;  ///< of an activation: inside and after
  std::optional<CostEstimate> inside;    ///< in the detour: entry, exit and refill up to the loop's next reading
  std::optional<CostEstimate> after;     ///< behind it: work that is slower
};

struct IndirectCosts {
  std::optional<double> base_ns;         ///< a phase to which nothing happened
  std::optional<double> length_bias_ns;  ///< taken out: PhaseEpisodes::length_bias_ns()
  std::vector<IndirectCost> sources;     ///< by episodes, falling; the last may be kOtherSource
};

/// Episodes, and phases without, that are needed to speak of a cost; sources that can have a row of their own.
inline constexpr std::uint64_t kLeastEpisodes = 30;
inline constexpr std::size_t kMostRegressors = 24;

/// Fits time = base * phases + sum over sources (cost * activations) to all episodes and quiet phases, so that a source
/// is not blamed for those that come with it: least squares weighted by 1 / phases, with errors that hold whatever the
/// spread of each kind of episode is (HC3: MacKinnon and White 1985).
///
/// The paper's comparison (phases with a tick against phases without) is this for one source, with one difference: a
/// phase that is longer for another reason is likelier to be hit, so that sources which cost nothing would seem to. At
/// 100 us and a spread of 5 us that is 250 ns. Where a source comes at no time in particular, an episode's work is
/// longer by length_bias_ns() for that reason, which is taken out of the normal equations. What is assumed: sources
/// come independent of what the work does, and costs add up.
IndirectCosts indirect_costs(const PhaseEpisodes& episodes);

}  // namespace noised::analysis
