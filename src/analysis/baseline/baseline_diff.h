// SPDX-License-Identifier: Apache-2.0
// What is different between two runs, beyond what chance and a noisy machine explain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/baseline/baseline.h"
#include "analysis/baseline/baseline_density.h"
#include "base/result.h"

namespace noised::analysis {

/// The chance that a pair of runs of one machine, whose blocks are independent, is called different at all: every test
/// of the pair counts (Holm).
inline constexpr double kFamilyLevel = 0.01;
/// So much of it is the density's, the rest the sources'.
inline constexpr double kDensityShare = 0.2;

/// Runs that are compared have at least so many blocks each: of 8 and 8, one in 6435 divides them cleanly.
inline constexpr std::size_t kFewestBlocks = 8;

/// What is less than this is no difference that matters, however certain it is: in a long run, everything is. All but
/// the first are above what two runs of one machine differ by, for reasons that one run cannot show: on a virtual
/// machine of two CPUs, of 20 s each (tests/bench/baseline_pairs).
struct LeastEffect {
  /// Of rates, how much more or less.
  double ratio = 2;
  /// The same of self times, and of time outside of the kernel. The median self time of the timer tick was between 1.3
  /// and 5.6 us, by what ran on the other CPU meanwhile; gaps without kernel activity came 2977 to 5708 times a second.
  double noisy_ratio = 3;
  /// Of each second of a CPU, what it adds or takes: 0.01% of it. Kernel threads that may run anywhere stay on a CPU
  /// for longer than a run, or not: kcompactd0 takes 16 us there, kworkers 25, rcu_preempt up to 89.
  double added_ns = 100'000;
  /// As in DensityDifference. The same runs were up to 0.54 apart, half of them 0.24.
  double density_area = 0.6;
};

enum class ChangeKind { appeared, gone, more_frequent, less_frequent, longer, shorter };

/// A source in one of both runs.
struct SourceSide {
  std::uint64_t count = 0;        ///< in the blocks that were compared
  double per_second = 0;          ///< of a CPU; the tenth of the blocks with most of it left out: a burst is no rate
  std::optional<double> self_ns;  ///< median over blocks of its mean self time; nothing: it did not occur
};

struct SourceChange {
  Kind kind = Kind::none;
  std::string name;
  ChangeKind change = ChangeKind::appeared;
  SourceSide before;
  SourceSide after;
  double added_ns = 0;   ///< by this change, of each second of a CPU; negative: less
  bool matters = false;  ///< it is as large as LeastEffect says, or larger
  double p = 1;          ///< after the correction: different where at most kFamilyLevel
};

/// Something about the machine or the measurement that is not the same.
struct SettingChange {
  std::string what;
  std::string before;
  std::string after;
};

/// The least rate of a source that is not in the baseline at which it would have been found.
struct Power {
  std::size_t blocks = 0;  ///< in which it has to occur
  double per_second = 0;   ///< at random times, for 95 chances in 100
};

struct BaselineDiff {
  std::vector<SettingChange> settings;
  std::vector<std::string> not_compared;  ///< kinds of sources that one of both could not see
  std::uint64_t block_ns = 0;
  std::size_t blocks_before = 0;
  std::size_t blocks_after = 0;
  std::size_t tests = 0;  ///< of sources
  LeastEffect least;
  std::vector<SourceChange> changes;         ///< by what they add or take, falling
  std::vector<SourceChange> undecided;       ///< the same: large enough to matter, but it may be chance
  std::optional<DensityDifference> density;  ///< nothing: one of both has no detour with kernel activity
  double density_p = 1;                      ///< after the correction; 1 where the area is too small to be asked
  bool density_differs = false;
  std::optional<Power> power;  ///< nothing: the runs are too short to find any

  [[nodiscard]] bool different() const { return !changes.empty() || density_differs; }
};

/// Compares two runs. A usage error where nothing can be said: thresholds that are not the same, as the loop then saw
/// other detours, or a run so much shorter than the other that too few blocks are left.
Result<BaselineDiff> compare(const Baseline& before, const Baseline& after, const LeastEffect& least = {});

/// What is needed of a source that is not in the first run, with `tests` tests in all.
std::optional<Power> power_of(std::size_t blocks_before, std::size_t blocks_after, std::uint64_t block_ns,
                              std::size_t tests);

// The sources of two runs, compared.

/// Tests each source for how often it comes and for how long it stays, block against block, and sets tests, changes,
/// undecided and not_compared of `diff`, by its least effect. Blocks of both have the same length.
void compare_sources(Baseline before, Baseline after, BaselineDiff& diff);

}  // namespace noised::analysis
