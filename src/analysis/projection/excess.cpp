// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/excess.h"

namespace noised::analysis {

void Excess::merge(const Excess& other) {
  for (std::size_t octave = 0; octave < kOctaves; ++octave) {
    const Octave* const from = other.octaves_[octave].get();
    if (from == nullptr) continue;
    Octave& to = octaves_[octave].get_or_make();
    for (std::size_t step = 0; step < kSteps; ++step) {
      const Bucket& added = (*from)[step];
      to[step].weight_ns += added.weight_ns;
      to[step].ramps += added.ramps;
      to[step].level_sum += added.level_sum;
      to[step].ramp_sum += added.ramp_sum;
      to[step].ramp_squares += added.ramp_squares;
    }
  }
}

std::size_t Excess::size() const {
  for (std::size_t octave = kOctaves; octave > 0; --octave) {
    if (octaves_[octave - 1].get() != nullptr) return octave * kSteps;
  }
  return 0;
}

}  // namespace noised::analysis
