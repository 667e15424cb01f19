// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/projection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "analysis/projection/barrier.h"

namespace noised::analysis {
namespace {

constexpr std::size_t kBlocks = ExcessBlocks::kBlocks;
// As the paper's figure 2: what a machine of tens of thousands of nodes asks for is 10^-6, and some more.
constexpr int kLastDecade = 9;
constexpr double kRounding = 1e-12;
using Without = std::array<double, kBlocks>;

/// Delays of a node's phases, and the same without what was observed in each block of time.
struct Curves {
  DelayCurve whole;
  std::array<DelayCurve, kBlocks> without;

  template <typename Figure>
  [[nodiscard]] Without each(const Figure& figure) const {
    Without values{};
    for (std::size_t i = 0; i < kBlocks; ++i) values[i] = figure(without[i]);
    return values;
  }
};

using Units = std::vector<const ExcessBlocks*>;
/// By unit; empty: all begins count.
using Kept = std::vector<KeptShares>;

/// The delays of CPUs that are independent of each other, or of their phases without one block.
std::vector<DelayTail> tails_of(const std::vector<Excess>& all, const Units& units,
                                std::optional<std::size_t> without) {
  std::vector<DelayTail> tails;
  tails.reserve(units.size());
  for (std::size_t i = 0; i < units.size(); ++i)
    tails.emplace_back(all[i], without ? &units[i]->blocks()[*without] : nullptr);
  return tails;
}

std::vector<Excess> merged(const Units& units) {
  std::vector<Excess> all;
  all.reserve(units.size());
  for (const ExcessBlocks* const unit : units) all.push_back(unit->of_age());
  return all;
}

DelayCurve curve_of(const std::vector<DelayTail>& units, const Kept& kept) {
  DelayCurve result;
  for (std::size_t i = 0; i < units.size(); ++i) result.add(units[i], kept.empty() ? nullptr : &kept[i]);
  return result;
}

/// For each of `kept`, which is taken from the whole, also without a block. One block after the other, for the delays
/// of 1,000 CPUs take some 30 MB.
std::vector<Curves> product_curves(const Units& units, const std::vector<Kept>& kept) {
  const std::vector<Excess> all = merged(units);
  std::vector<Curves> result(kept.size());
  const std::vector<DelayTail> whole = tails_of(all, units, std::nullopt);
  for (std::size_t i = 0; i < kept.size(); ++i) result[i].whole = curve_of(whole, kept[i]);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::vector<DelayTail> rest = tails_of(all, units, block);
    for (std::size_t i = 0; i < kept.size(); ++i) result[i].without[block] = curve_of(rest, kept[i]);
  }
  return result;
}

/// The delays of a node's phases by age.
std::vector<DelayTail> tails_by_age(const std::vector<Excess>& all, const ExcessBlocks& node,
                                    std::optional<std::size_t> without) {
  std::vector<DelayTail> tails;
  tails.reserve(all.size());
  for (std::size_t age = 0; age < all.size(); ++age) {
    const bool any = without && !node.blocks(age).empty();
    tails.emplace_back(all[age], any ? &node.blocks(age)[*without] : nullptr);
  }
  return tails;
}

std::vector<Excess> merged_by_age(const ExcessBlocks& node) {
  std::vector<Excess> all;
  all.reserve(node.ages());
  for (std::size_t age = 0; age < node.ages(); ++age) all.push_back(node.of_age(age));
  return all;
}

/// The same as product_curves(), of all CPUs at once: of each age a share is kept.
std::vector<Curves> joint_curves(const ExcessBlocks& node, const std::vector<std::vector<double>>& kept) {
  const std::vector<Excess> all = merged_by_age(node);
  std::vector<Curves> result(kept.size());
  const std::vector<DelayTail> whole = tails_by_age(all, node, std::nullopt);
  for (std::size_t i = 0; i < kept.size(); ++i) result[i].whole.add(DelayTail(whole, kept[i]));
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::vector<DelayTail> rest = tails_by_age(all, node, block);
    for (std::size_t i = 0; i < kept.size(); ++i) result[i].without[block].add(DelayTail(rest, kept[i]));
  }
  return result;
}

class Projector {
 public:
  explicit Projector(const ProjectionInput& input) : input_(input) {}

  Projection project() {
    choose_cpus();
    if (projection_.cpus.empty()) return std::move(projection_);
    jobs_ = job_curves(input_.phases->whole());
    alone_ = std::move(jobs_.back());
    jobs_.pop_back();
    add_delayed();
    add_together();
    add_exceeded();
    add_sizes();
    add_gains();
    return std::move(projection_);
  }

 private:
  void choose_cpus() {
    projection_.grain_ns = input_.grain_ns;
    std::uint64_t all_ns = 0;
    std::uint64_t most_ns = 0;
    for (std::size_t i = 0; i < input_.cpus.size(); ++i) {
      const ProjectedCpu& cpu = input_.cpus[i];
      const std::uint64_t starts_ns = input_.phases->whole().cpu(i).starts_ns();
      (starts_ns == 0 ? projection_.left_out : projection_.cpus).push_back(cpu.cpu);
      if (starts_ns == 0) continue;
      if (places_.empty() || starts_ns < projection_.starts_ns) {
        projection_.observed_ns = cpu.observed_ns;
        projection_.starts_ns = starts_ns;
      }
      most_ns = std::max(most_ns, starts_ns);
      all_ns += cpu.observed_ns;
      places_.push_back(i);
    }
    projection_.unseen_ns = all_ns / 3;  // -ln(5%) = 3.0: the rule of three
    if (!places_.empty()) choose_joint(most_ns);
  }

  // Of CPUs that were not observed at the same times, most of what is known is of one of them.
  void choose_joint(std::uint64_t most_ns) {
    constexpr double kMost = 0.9;
    const JointPhases& whole = input_.phases->whole();
    projection_.waited = !is_complete();
    projection_.joint = places_.size() == whole.size() && !projection_.waited &&
                        static_cast<double>(whole.all().starts_ns()) >= kMost * static_cast<double>(most_ns);
    if (!projection_.joint) return;
    projection_.starts_ns = whole.all().starts_ns();
    projection_.observed_ns = whole.all().observed_ns();
  }

  [[nodiscard]] bool is_complete() const {
    bool complete = input_.phases->whole().complete();
    for (std::size_t i = 0; i < input_.sources.size(); ++i) complete &= input_.phases->without(i).complete();
    return complete;
  }

  [[nodiscard]] Units cpus_of(const JointPhases& phases) const {
    Units units;
    for (const std::size_t place : places_) units.push_back(&phases.cpu(place));
    return units;
  }

  /// By size of the job, and then of a node by itself.
  [[nodiscard]] std::vector<Curves> job_curves(const JointPhases& phases) const {
    const Units cpus = cpus_of(phases);
    const std::vector<DelayTail> cpu_tails = tails_of(merged(cpus), cpus, std::nullopt);
    std::vector<double> sizes(input_.nodes.begin(), input_.nodes.end());
    sizes.push_back(1);
    if (!projection_.joint || cpus.size() == 1) {
      std::vector<Kept> kept;
      kept.reserve(sizes.size());
      for (const double nodes : sizes) kept.push_back(kept_at_barrier(cpu_tails, nodes));
      return product_curves(cpus, kept);
    }
    const std::vector<DelayTail> ages = tails_by_age(merged_by_age(phases.all()), phases.all(), std::nullopt);
    std::vector<std::vector<double>> kept;
    kept.reserve(sizes.size());
    for (const double nodes : sizes) kept.push_back(kept_at_barrier(ages, cpu_tails, nodes));
    return joint_curves(phases.all(), kept);
  }

  /// Of what is seen once in so many phases of a node, each with this delay: phases that one detour delays overlap,
  /// however short their grain is.
  [[nodiscard]] Sample sample(double phases, double delay_ns) const {
    return {projection_.observed_ns, static_cast<double>(projection_.starts_ns) / (phases * (grain() + delay_ns))};
  }

  void add_delayed() {
    for (const double of_grain : input_.delays) {
      const double delay_ns = of_grain * grain();
      const auto share = [delay_ns](const DelayCurve& curve) {
        return delay_ns < 1 ? curve.delayed() : curve.delayed_from(delay_ns);
      };
      const double p = share(alone_.whole);
      const Sample seen = sample(1, delay_ns);
      DelayedShare& delayed = projection_.delayed.emplace_back(DelayedShare{of_grain, {}, {}});
      if (p <= 0) delayed.at_most = std::min(1.0, 3 / seen.independent);
      delayed.p = estimate(p, alone_.each(share), seen);
    }
  }

  // Both of phases that begin anywhere, also inside of detours: of how they come, nothing is left out.
  void add_together() {
    if (!projection_.joint || places_.size() < 2) return;
    const JointPhases& phases = input_.phases->whole();
    const Curves joint = joint_curves(phases.all(), {std::vector<double>(phases.all().ages(), 1)}).front();
    const Curves product = product_curves(cpus_of(phases), {Kept()}).front();
    const auto mean_ns = [](const DelayCurve& curve) { return curve.expected_excess_ns(1); };
    const double apart_ns = mean_ns(product.whole);
    if (apart_ns <= 0) return;
    const double joint_ns = mean_ns(joint.whole);
    Without without = joint.each(mean_ns);
    const Without rest = product.each(mean_ns);
    for (std::size_t i = 0; i < kBlocks; ++i) without[i] = rest[i] > 0 ? without[i] / rest[i] : 0;
    projection_.together = estimate(joint_ns / apart_ns, without, sample(1, joint_ns));
  }

  // The share beyond this delay is as uncertain as its blocks say: the delays at both ends of that share's interval.
  [[nodiscard]] Estimate exceeded(double probability) const {
    const double delay_ns = alone_.whole.exceeded_ns(probability);
    const auto share = [&](const DelayCurve& curve) {
      return delay_ns < 1 ? curve.delayed() : curve.delayed_from(delay_ns);
    };
    const double beyond = share(alone_.whole);
    const Uncertainty around = beyond > 0 ? uncertainty(beyond, alone_.each(share)) : Uncertainty{};
    Estimate result;
    result.needs_ns = needed_ns(around.log_error, kLargestError, sample(1 / probability, delay_ns));
    if (result.needs_ns) return result;
    const Ends ends = confidence_ends(around);
    result.value = delay_ns;
    result.low = alone_.whole.exceeded_ns(probability / ends.low);
    result.high = alone_.whole.exceeded_ns(probability / ends.high);
    return result;
  }

  void add_exceeded() {
    for (int k = 1; k <= kLastDecade; ++k) {
      const double probability = std::pow(10.0, -k);
      projection_.exceeded.push_back({probability, exceeded(probability)});
      if (!projection_.exceeded.back().delay_ns.value) return;
    }
  }

  // Equation 1 rises with p: the ends of its interval are those of p's.
  [[nodiscard]] Estimate job_delayed(double nodes) const {
    Estimate result = projection_.delayed.front().p;
    for (std::optional<double>* const end : {&result.value, &result.low, &result.high}) {
      if (*end) *end = delay_probability(std::min(**end, 1.0), nodes);
    }
    return result;
  }

  void add_sizes() {
    std::optional<double> at_least;
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
      const std::uint64_t nodes = input_.nodes[i];
      const auto count = static_cast<double>(nodes);
      const auto excess = [&](const DelayCurve& curve) { return curve.expected_excess_ns(count) / grain(); };
      const double whole = excess(jobs_[i].whole);
      const Sample seen = sample(count, whole * grain());
      JobSize size{nodes, job_delayed(count), {}, {}, estimate(whole, jobs_[i].each(excess), seen), {}};
      if (const std::optional<double>& p = projection_.delayed.front().p.value) {
        size.linear = linear_law(*p, count);
        size.linear_error = linear_law_error(*p, count);
      }
      if (size.excess.value) {
        projection_.ranked_by = projection_.sizes.size();
        at_least = std::max(at_least.value_or(0), *size.excess.low);
      } else {
        size.at_least = at_least;
      }
      projection_.sizes.push_back(size);
    }
  }

  [[nodiscard]] Estimate gain(const Curves& job, const Curves& rest, double nodes) const {
    const auto gained = [&](const DelayCurve& with, const DelayCurve& without) {
      return (with.expected_excess_ns(nodes) - without.expected_excess_ns(nodes)) / grain();
    };
    const double with_ns = job.whole.expected_excess_ns(nodes);
    const double whole = gained(job.whole, rest.whole);
    // At this size others always decide: rounding is all that is left.
    if (std::abs(whole) * grain() <= kRounding * with_ns) return {0, 0, 0, {}};
    Without values{};
    for (std::size_t i = 0; i < kBlocks; ++i) values[i] = gained(job.without[i], rest.without[i]);
    return estimate(whole, values, sample(nodes, with_ns), kLargestErrorOfPart);
  }

  [[nodiscard]] SourceGain gain(std::size_t source) const {
    const std::vector<Curves> rest = job_curves(input_.phases->without(source));
    SourceGain result{input_.sources[source], {}};
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
      const auto nodes = static_cast<double>(input_.nodes[i]);
      result.excess.push_back(gain(jobs_[i], rest[i], nodes));
    }
    return result;
  }

  void add_gains() {
    for (std::size_t i = 0; i < input_.sources.size(); ++i) projection_.gains.push_back(gain(i));
    std::stable_sort(projection_.gains.begin(), projection_.gains.end(), [&](const SourceGain& a, const SourceGain& b) {
      if (!projection_.ranked_by) return a.source.total_ns > b.source.total_ns;
      const std::optional<double>& left = a.excess[*projection_.ranked_by].value;
      const std::optional<double>& right = b.excess[*projection_.ranked_by].value;
      return left == right ? a.source.total_ns > b.source.total_ns : left > right;  // nothing is less than any number
    });
  }

  [[nodiscard]] double grain() const { return static_cast<double>(input_.grain_ns); }

  const ProjectionInput& input_;
  std::vector<std::size_t> places_;  // in phases, of the node's CPUs
  std::vector<Curves> jobs_;         // by size
  Curves alone_;                     // of a node by itself
  Projection projection_;
};

}  // namespace

Projection project(const ProjectionInput& input) { return Projector(input).project(); }

}  // namespace noised::analysis
