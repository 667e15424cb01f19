// SPDX-License-Identifier: Apache-2.0
// A ring of 2 MiB takes 260,000 runs a second for 100 ms: more than two tasks that do nothing but wake each other make.
#include "service/drain_pace.h"

#include <algorithm>

namespace noised {

unsigned DrainPace::next(double fullness) {
  const bool little = fullness <= kLittle * factor_;
  calm_ = little ? std::min(calm_ + 1, kCalm) : 0;
  factor_ = calm_ == kCalm ? kRarely : 1;
  return factor_;
}

}  // namespace noised
