// SPDX-License-Identifier: Apache-2.0
// A figure with its confidence interval, or how much more must be observed before there is one. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace noised::analysis {

struct Estimate {
  std::optional<double> value;  ///< nothing: too little was observed, as the next two
  std::optional<double> low;    ///< of its 95% confidence interval
  std::optional<double> high;
  std::optional<std::uint64_t> needs_ns;  ///< to be observed in addition, if all goes on as it was; nothing: not known
};

/// A phase is delayed where it takes longer by more than such a part of its grain: what p counts, wherever p is told,
/// unless somebody asks for others. The first one is that of the noise law.
inline constexpr std::array kUsualDelays{0.01, 0.1, 0.5};

/// The share of so many of which these were seen, with Wilson's 95% interval: its high end is above 0 even if none was.
/// It takes them for independent of each other.
struct SeenShare {
  double value = 0;
  double low = 0;
  double high = 1;
};
SeenShare seen_share(double hits, double count);

/// What an estimate comes from.
struct Sample {
  std::uint64_t observed_ns = 0;
  double independent = 0;  ///< so many phases that were observed do not overlap, for each that decides the figure
};

/// With fewer, what is seldom decides, and was not seen often enough to know how long it can be.
inline constexpr double kLeastIndependent = 50;
/// Of the logarithm: with a larger standard error, about eight events or fewer made the figure.
inline constexpr double kLargestError = 0.35;
/// The same for a part of a figure that is known: about two events. A list to be sorted asks for no more.
inline constexpr double kLargestErrorOfPart = 0.7;

/// What a figure's values without each block of time in turn (delete-one jackknife), in the order of time, tell of how
/// far it may be off. Where noise has moods that outlast a block, blocks beside each other are alike, and tell less
/// than as many that are independent: both errors are those of the independent ones, whose number falls by 1 + 2 sum (1
/// - k/b) r_k, over the autocorrelations r_k of b blocks until the first that is not positive.
struct Uncertainty {
  double log_error = 0;  ///< standard error of the logarithm; 1, that of a single event, if a value is not positive
  double error = 0;      ///< standard error as a share of the figure
  double skew = 0;       ///< of what each block tells: positive if few blocks make the figure as large as it is
};
Uncertainty uncertainty(double value, std::span<const double> without);

/// Moods that last longer than this part of what was observed may look like none: with those of a twelfth, 95%
/// intervals of one node's slowdown held in 95% to 97% of 500 runs (projection_moods_test).
inline constexpr double kLongestMood = 1.0 / 12;

/// The ends of the 95% confidence interval of a figure with this uncertainty, as shares of the figure, by Student's
/// quantile for ExcessBlocks::kBlocks - 1 degrees of freedom: of the logarithm's interval, which suits a figure of few
/// events, and that of Hall's cubic transformation against skew (Hall 1992, On the removal of skewness by
/// transformation, J. R. Statist. Soc. B 54, 221-228), which suits one of heavy tails, at each end the wider.
struct Ends {
  double low = 1;
  double high = 1;
};
Ends confidence_ends(const Uncertainty& uncertainty);

/// How much more must be observed, in ns, for a figure with this error of its logarithm; nothing if what was observed
/// is enough. The square of the error falls as more is observed, and the number of independent phases rises.
std::optional<std::uint64_t> needed_ns(double log_error, double largest_error, const Sample& sample);

/// The figure with its interval, or what it needs; neither if it is not positive: then it was never seen.
Estimate estimate(double value, std::span<const double> without, const Sample& sample,
                  double largest_error = kLargestError);

}  // namespace noised::analysis
