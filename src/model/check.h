// SPDX-License-Identifier: Apache-2.0
// Whether a node is quiet enough, by limits that somebody set: what a check found, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/report.h"

namespace noised {

/// A limit that was passed on one CPU: a time (the longest) or a share of the observed time.
struct CheckExcess {
  unsigned cpu = 0;
  std::string source;  ///< whose limit it is, "task:agent*"; empty: that of all sources together
  std::optional<std::uint64_t> found_ns;
  std::optional<std::uint64_t> allowed_ns;
  std::optional<double> found_share;
  std::optional<double> allowed_share;
  std::vector<ReportPart> by;  ///< who took it, falling
};

/// Why it cannot be said that a CPU is quiet.
struct CheckUnseen {
  unsigned cpu = 0;
  std::string reason;
};

struct CheckView {
  std::string verdict;           ///< "good", "noisy" or "blind"
  std::uint64_t elapsed_ns = 0;  ///< that was judged
  std::string cpus;              ///< CPU list, of those that were
  std::uint64_t max_detour_ns = 0;
  double max_share = 0;  ///< of the observed time of a CPU
  std::vector<CheckExcess> noisy;
  std::vector<CheckUnseen> blind;
};

}  // namespace noised
