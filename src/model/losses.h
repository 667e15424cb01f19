// SPDX-License-Identifier: Apache-2.0
// Single losses of watched tasks, as plain values: the lines of noised.losses/1 between the reports of a watch.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace noised {

/// A source that losses name by its number from here on.
struct LossSource {
  unsigned number = 0;
  std::string category;
  std::string kind;
  std::string name;
};

/// Time that a task lost in one piece.
struct LossView {
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t duration_ns = 0;
  bool incomplete = false;
  std::vector<std::pair<unsigned, std::uint64_t>> parts;  ///< source and time; they sum to duration_ns
};

struct LossesView {
  std::uint64_t since_ns = 0;    ///< losses are told from then on
  std::uint64_t settled_ns = 0;  ///< every loss that ended by then was told, but for the waits that ended as these
  std::vector<std::pair<std::uint32_t, std::uint64_t>> running;  ///< runs began: pid, start
  std::uint64_t dropped = 0;                                     ///< that had no room, since the line before
  std::vector<std::uint32_t> watched;                            ///< tasks that ran, those that are new
  std::vector<LossSource> sources;                               ///< those that are new
  std::vector<LossView> losses;
};

}  // namespace noised
