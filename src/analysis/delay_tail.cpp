// SPDX-License-Identifier: Apache-2.0
#include "analysis/delay_tail.h"

namespace noised {
namespace {

Excess::Bucket difference(const Excess::Bucket& whole, const Excess::Bucket& part) {
  return {whole.weight_ns - part.weight_ns, whole.ramps - part.ramps, whole.level_sum - part.level_sum,
          whole.ramp_sum - part.ramp_sum, whole.ramp_squares - part.ramp_squares};
}

}  // namespace

DelayTail::DelayTail(const Excess& excess, const Excess* left_out) : buckets_(excess.size()) {
  double levels_ns = 0;
  double ramps_ns = 0;  // of the time in ramps, the part above
  double ramps = 0;     // how many of them are there
  for (std::size_t i = buckets_.size(); i > 0; --i) {
    const Excess::Bucket whole = excess.at(i - 1);
    const Excess::Bucket bucket = left_out == nullptr ? whole : difference(whole, left_out->at(i - 1));
    const double width_ns = Excess::low_ns(i) - Excess::low_ns(i - 1);
    Bucket& tail = buckets_[i - 1];
    tail.outside.high_ns = levels_ns;
    tail.inside.high_ns = ramps_ns;
    tail.outside.mean_ns = levels_ns + bucket.level_sum / width_ns;
    tail.inside.mean_ns = ramps_ns + ramps * width_ns / 2 + bucket.ramp_squares / width_ns;
    levels_ns += static_cast<double>(bucket.weight_ns);
    ramps_ns += ramps * width_ns + bucket.ramp_sum;
    ramps += static_cast<double>(bucket.ramps);
    tail.outside.low_ns = levels_ns;
    tail.inside.low_ns = ramps_ns;
  }
}

}  // namespace noised
