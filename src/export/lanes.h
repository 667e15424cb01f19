// SPDX-License-Identifier: Apache-2.0
// Lanes on which bars nest: the viewers' "slices", which must end in the reverse order of their beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace noised {

/// The lanes of one track. Intervals of a CPU nest, so one lane holds them all; one that comes late, or overlaps others
/// as a damaged or foreign recording may have it, goes to the next, where its times stay what they are.
class Lanes {
 public:
  static constexpr std::size_t kMost = 16;
  /// What ended on a lane.
  using End = std::function<void(std::size_t lane, std::uint64_t at_ns)>;

  /// Opens a bar from `start_ns` to `end_ns` on the first lane where it nests, after it told what ended there before;
  /// nothing if there is no such lane.
  std::optional<std::size_t> open(std::uint64_t start_ns, std::uint64_t end_ns, const End& end);
  /// Tells everything that has not ended.
  void finish(const End& end);

 private:
  struct Lane {
    std::uint64_t told_ns = 0;        // nothing before this can be told any more
    std::vector<std::uint64_t> ends;  // of what is open, the innermost last
  };
  static bool fits(const Lane& lane, std::uint64_t start_ns, std::uint64_t end_ns);

  std::vector<Lane> lanes_;
};

}  // namespace noised
