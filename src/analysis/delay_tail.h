// SPDX-License-Identifier: Apache-2.0
// For how long phases of a CPU begin that are delayed by some time or more. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/excess.h"

namespace noised {

/// Of one CPU, by the buckets of Excess. Begins inside of detours are apart, since a barrier does not let all of them
/// be.
class DelayTail {
 public:
  /// Time in which phases begin with a delay beyond a bucket's lower and its upper bound, and the mean over its width.
  struct Times {
    double low_ns = 0;
    double high_ns = 0;
    double mean_ns = 0;
  };
  struct Bucket {
    Times outside;  ///< begins where no detour is
    Times inside;   ///< and within a detour
  };

  /// What `left_out` (nothing: null) holds does not count.
  DelayTail(const Excess& excess, const Excess* left_out);

  [[nodiscard]] std::size_t size() const { return buckets_.size(); }
  [[nodiscard]] const Bucket& at(std::size_t number) const { return buckets_[number]; }
  /// All begins outside of detours, and inside them.
  [[nodiscard]] double outside_ns() const { return buckets_.empty() ? 0 : buckets_.front().outside.low_ns; }
  [[nodiscard]] double inside_ns() const { return buckets_.empty() ? 0 : buckets_.front().inside.low_ns; }

 private:
  std::vector<Bucket> buckets_;
};

}  // namespace noised
