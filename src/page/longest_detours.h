// SPDX-License-Identifier: Apache-2.0
// The longest detours of a recording, with their entries.
#pragma once

#include <noised/types.h>
#include <noised/views.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "recording/player.h"

namespace noised::page {

struct LongDetour {
  DetourView view;
  Category category = Category::unexplained;  ///< the one that took most of its time
};

/// Keeps the longest `most`; of two that are equally long, the earlier. Memory does not grow beyond that.
class LongestDetours {
 public:
  explicit LongestDetours(std::size_t most) : most_(most) {}

  /// Whether a detour of this duration would be kept now.
  [[nodiscard]] bool wants(std::uint64_t duration_ns) const {
    return kept_.size() < most_ || kept_.front().view.duration_ns < duration_ns;
  }
  void add(LongDetour detour);
  /// All that were kept, the longest first.
  [[nodiscard]] std::vector<LongDetour> sorted() const;

 private:
  std::size_t most_;
  std::vector<LongDetour> kept_;  // a heap: the shortest first
};

}  // namespace noised::page
