// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/barrier.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace noised::analysis {

double delay_probability(double p, double nodes) { return p >= 1 ? 1 : -std::expm1(nodes * std::log1p(-p)); }

double linear_law(double p, double nodes) { return p * nodes; }

double linear_law_error(double p, double nodes) {
  if (p <= 0) return 0;
  // The share is (n - 1) p / 2, less a third of the square of p * n: below this their difference has no digits left.
  constexpr double kNearlyEqual = 1e-6;
  if (p * nodes < kNearlyEqual) return (nodes - 1) * p / 2;
  return 1 - delay_probability(p, nodes) / linear_law(p, nodes);
}

double bimodal_slowdown(double grain, double delayed, double probability) {
  return ((1 - probability) * grain + probability * delayed) / grain;
}

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

DelayTail::DelayTail(const std::vector<DelayTail>& parts, const std::vector<double>& shares) {
  std::size_t size = 0;
  for (const DelayTail& part : parts) size = std::max(size, part.size());
  buckets_.resize(size);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (shares[part] <= 0) continue;
    for (std::size_t i = 0; i < parts[part].size(); ++i) {
      for (const Times& times : {parts[part].at(i).outside, parts[part].at(i).inside}) {
        buckets_[i].outside.low_ns += shares[part] * times.low_ns;
        buckets_[i].outside.high_ns += shares[part] * times.high_ns;
        buckets_[i].outside.mean_ns += shares[part] * times.mean_ns;
      }
    }
  }
}

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

namespace {

// From shares that are all 1. With 14 steps, none of the jobs of analysis_barrier_test changes by more than 0.02%.
constexpr int kSteps = 6;
// So many buckets of Excess are taken together: 1/4 of their lower bound wide. The share is smooth.
constexpr std::size_t kTogether = 8;

/// P(wait >= this) for one CPU among all ranks of a job, whose own ln F is `share` of that of `own`.
class Wait {
 public:
  Wait(const DelayCurve& node, const DelayCurve& own, double share, double nodes)
      : node_(node), own_(own), share_(share), nodes_(nodes) {}

  [[nodiscard]] double at_least(double age_ns) const {
    const double others = nodes_ * node_.log_within(age_ns) - share_ * own_.log_within(age_ns);
    return std::isnan(others) ? 1 : -std::expm1(std::min(others, 0.0));
  }

 private:
  const DelayCurve& node_;
  const DelayCurve& own_;
  double share_;
  double nodes_;
};

/// A begin at this age, from which the detour lasts x or more: it is in one that lasts x + age or more, and there is
/// one such begin for each nanosecond of age. The sum over ages is over the buckets of x + age.
double kept_share(const DelayTail& cpu, std::size_t from, const Wait& wait) {
  const double from_ns = Excess::low_ns(from);
  double kept_ns = 0;
  for (std::size_t i = from; i < cpu.size(); i += kTogether) {
    const std::size_t end = std::min(i + kTogether, cpu.size());
    const double begins_ns = cpu.at(i).inside.low_ns - (end < cpu.size() ? cpu.at(end).inside.low_ns : 0);
    if (begins_ns <= 0) continue;
    const double age_ns = (Excess::low_ns(i) + Excess::low_ns(end)) / 2 - from_ns;
    kept_ns += begins_ns * wait.at_least(age_ns);
  }
  const double all_ns = cpu.at(from).inside.low_ns;
  return all_ns > 0 ? std::clamp(kept_ns / all_ns, 0.0, 1.0) : 0;
}

KeptShares kept_shares(const DelayTail& cpu, const Wait& wait) {
  KeptShares shares(cpu.size(), 0);
  for (std::size_t i = 0; i < cpu.size(); i += kTogether) shares[i] = kept_share(cpu, i, wait);
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const std::size_t low = i - i % kTogether;
    const double next = low + kTogether < cpu.size() ? shares[low + kTogether] : 0;
    const double part = static_cast<double>(i - low) / kTogether;
    if (i != low) shares[i] = shares[low] + (next - shares[low]) * part;
  }
  return shares;
}

}  // namespace

std::vector<KeptShares> kept_at_barrier(const std::vector<DelayTail>& cpus, double nodes) {
  std::vector<KeptShares> kept;
  kept.reserve(cpus.size());
  for (const DelayTail& cpu : cpus) kept.emplace_back(cpu.size(), 1.0);
  for (int step = 0; step < kSteps; ++step) {
    DelayCurve node;
    std::vector<DelayCurve> each(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      node.add(cpus[i], &kept[i]);
      each[i].add(cpus[i], &kept[i]);
    }
    for (std::size_t i = 0; i < cpus.size(); ++i) kept[i] = kept_shares(cpus[i], Wait(node, each[i], 1, nodes));
  }
  return kept;
}

std::vector<double> kept_at_barrier(const std::vector<DelayTail>& ages, const std::vector<DelayTail>& cpus,
                                    double nodes) {
  const std::vector<KeptShares> kept_alone = kept_at_barrier(cpus, nodes);
  DelayCurve product;
  for (std::size_t i = 0; i < cpus.size(); ++i) product.add(cpus[i], &kept_alone[i]);
  std::vector<double> kept(ages.size(), 1.0);
  for (int step = 0; step < kSteps; ++step) {
    DelayCurve node;
    node.add(DelayTail(ages, kept));
    const Wait wait(node, product, 1 / static_cast<double>(cpus.size()), nodes);
    for (std::size_t age = 1; age < ages.size(); ++age) kept[age] = wait.at_least(ExcessBlocks::age_ns(age));
  }
  return kept;
}

}  // namespace noised::analysis
