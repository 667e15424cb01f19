// SPDX-License-Identifier: Apache-2.0
// Logarithms of F: for the millions of nodes only what is next to 1 counts.
#include "analysis/slowdown.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace noised {
namespace {

double log_of_rest(double share) { return share >= 1 ? -HUGE_VAL : std::log1p(-share); }

/// Of both kinds of begins, at a bucket's lower bound, its upper bound, and in the mean.
DelayTail::Times together(const DelayTail& cpu, std::size_t number, const std::vector<double>* kept) {
  const DelayTail::Bucket& bucket = cpu.at(number);
  const double low = kept == nullptr ? 1 : (*kept)[number];
  const double high = kept == nullptr ? 1 : number + 1 < cpu.size() ? (*kept)[number + 1] : 0;
  return {bucket.outside.low_ns + low * bucket.inside.low_ns, bucket.outside.high_ns + high * bucket.inside.high_ns,
          bucket.outside.mean_ns + (low + high) / 2 * bucket.inside.mean_ns};
}

}  // namespace

double DelayCurve::Step::at() const {
  if (before == after) return 1;
  return std::isinf(before) ? certain : std::clamp(place / (after - before), 0.0, 1.0);
}

bool DelayCurve::add(const DelayTail& cpu, const std::vector<double>* kept) {
  const std::size_t size = cpu.size();
  const double all_ns = size == 0 ? 0 : together(cpu, 0, kept).low_ns;
  if (all_ns <= 0) return false;
  if (steps_.size() < size) steps_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const DelayTail::Times survival = together(cpu, i, kept);
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

double DelayCurve::log_within(double delay_ns) const {
  const std::size_t number = Excess::number(static_cast<std::uint64_t>(delay_ns));
  return number < steps_.size() ? steps_[number].before : 0;
}

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
