// SPDX-License-Identifier: Apache-2.0
// Logarithms of F: for the millions of nodes only what is next to 1 counts.
#include "analysis/slowdown.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace noised {
namespace {

/// What is at or above the lower bound of a bucket: sums over all buckets from there on.
struct Tail {
  double levels_ns = 0;  // weight
  double ramps_ns = 0;   // of the time in ramps, the part above
  double ramps = 0;      // how many of them are there

  [[nodiscard]] double all_ns() const { return levels_ns + ramps_ns; }
};

double log_of_rest(double share) { return share >= 1 ? -HUGE_VAL : std::log1p(-share); }

Excess::Bucket difference(const Excess::Bucket& whole, const Excess::Bucket& part) {
  return {whole.weight_ns - part.weight_ns, whole.ramps - part.ramps, whole.level_sum - part.level_sum,
          whole.ramp_sum - part.ramp_sum, whole.ramp_squares - part.ramp_squares};
}

/// Survival of one bucket of one CPU: time above its lower and its upper bound, and the mean over its width.
struct Survival {
  double low_ns = 0;
  double high_ns = 0;
  double mean_ns = 0;
};

/// Moves the tail down by one bucket.
Survival take(const Excess::Bucket& bucket, double width_ns, Tail& tail) {
  Survival survival;
  survival.high_ns = tail.all_ns();
  const double area =
      tail.all_ns() * width_ns + tail.ramps * width_ns * width_ns / 2 + bucket.level_sum + bucket.ramp_squares;
  survival.mean_ns = area / width_ns;
  tail.levels_ns += static_cast<double>(bucket.weight_ns);
  tail.ramps_ns += tail.ramps * width_ns + bucket.ramp_sum;
  tail.ramps += static_cast<double>(bucket.ramps);
  survival.low_ns = tail.all_ns();
  return survival;
}

}  // namespace

double DelayCurve::Step::at() const {
  if (before == after) return 1;
  return std::isinf(before) ? certain : std::clamp(place / (after - before), 0.0, 1.0);
}

bool DelayCurve::add(const Excess& excess, const Excess* left_out) {
  const std::size_t size = excess.size();
  std::vector<Survival> survivals(size);
  Tail tail;
  for (std::size_t i = size; i > 0; --i) {
    const Excess::Bucket whole = excess.at(i - 1);
    const Excess::Bucket bucket = left_out == nullptr ? whole : difference(whole, left_out->at(i - 1));
    survivals[i - 1] = take(bucket, Excess::low_ns(i) - Excess::low_ns(i - 1), tail);
  }
  const double all_ns = tail.all_ns();
  if (all_ns <= 0) return false;
  if (steps_.size() < size) steps_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const Survival& survival = survivals[i];
    const double before = log_of_rest(survival.low_ns / all_ns);
    const double after = log_of_rest(std::max(0.0, survival.high_ns / all_ns));
    Step& step = steps_[i];
    step.before += before;
    step.after += after;
    const double height = survival.low_ns - survival.high_ns;
    if (height <= 0) continue;
    const double place = std::clamp((survival.mean_ns - survival.high_ns) / height, 0.0, 1.0);
    if (std::isinf(before)) {
      step.certain = std::isinf(after) ? step.certain : std::max(step.certain, place);
    } else {
      step.place += place * (after - before);
    }
  }
  return true;
}

double DelayCurve::delayed() const { return steps_.empty() ? 0 : -std::expm1(steps_.front().after); }

double DelayCurve::delayed_from(double delay_ns) const {
  const std::size_t number = Excess::number(static_cast<std::uint64_t>(delay_ns));
  return number < steps_.size() ? -std::expm1(steps_[number].before) : 0;
}

double DelayCurve::expected_excess_ns(double nodes) const {
  double sum = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const double place = step.at();
    const double mean = -place * std::expm1(nodes * step.before) - (1 - place) * std::expm1(nodes * step.after);
    sum += mean * (Excess::low_ns(i + 1) - Excess::low_ns(i));
  }
  return sum;
}

double DelayCurve::exceeded_ns(double probability) const {
  for (std::size_t i = steps_.size(); i > 1; --i) {
    const Step& step = steps_[i - 1];
    if (-std::expm1(step.before) <= probability) continue;
    const double low_ns = Excess::low_ns(i - 1);
    const double width_ns = Excess::low_ns(i) - low_ns;
    return low_ns + width_ns * (-std::expm1(step.after) > probability ? 1 : step.at());
  }
  return 0;
}

}  // namespace noised
