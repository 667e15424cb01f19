// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/projection.h"

#include <algorithm>
#include <array>
#include <cmath>

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

/// Of a node's phases that begin anywhere, and, by size of the job, of those that begin where its barriers let them.
struct NodeCurves {
  Curves anywhere;
  std::vector<Curves> jobs;
};

DelayCurve curve_of(const std::vector<DelayTail>& cpus, const std::vector<KeptShares>* kept) {
  DelayCurve result;
  for (std::size_t i = 0; i < cpus.size(); ++i) result.add(cpus[i], kept == nullptr ? nullptr : &(*kept)[i]);
  return result;
}

/// Which begins a barrier keeps is taken from the whole, also without a block. One block after the other, for the
/// delays of 1,000 CPUs take some 30 MB.
NodeCurves node_curves(const std::vector<const ExcessBlocks*>& cpus, const std::vector<std::uint64_t>& sizes) {
  std::vector<Excess> all(cpus.size());
  std::vector<DelayTail> tails;
  tails.reserve(cpus.size());
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) {
    for (const Excess& block : cpus[cpu]->blocks()) all[cpu].merge(block);
    tails.emplace_back(all[cpu], nullptr);
  }
  NodeCurves result{{curve_of(tails, nullptr), {}}, std::vector<Curves>(sizes.size())};
  std::vector<std::vector<KeptShares>> kept;
  kept.reserve(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    kept.push_back(kept_at_barrier(tails, static_cast<double>(sizes[i])));
    result.jobs[i].whole = curve_of(tails, &kept[i]);
  }
  for (std::size_t block = 0; block < kBlocks; ++block) {
    tails.clear();
    for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) tails.emplace_back(all[cpu], &cpus[cpu]->blocks()[block]);
    result.anywhere.without[block] = curve_of(tails, nullptr);
    for (std::size_t i = 0; i < sizes.size(); ++i) result.jobs[i].without[block] = curve_of(tails, &kept[i]);
  }
  return result;
}

class Projector {
 public:
  explicit Projector(const ProjectionInput& input) : input_(input) {}

  Projection project() {
    choose_cpus();
    if (projection_.cpus.empty()) return std::move(projection_);
    std::vector<const ExcessBlocks*> wholes;
    wholes.reserve(cpus_.size());
    for (const ProjectedCpu* const cpu : cpus_) wholes.push_back(&cpu->phases->whole());
    node_ = node_curves(wholes, input_.nodes);
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
    for (const ProjectedCpu& cpu : input_.cpus) {
      const std::uint64_t starts_ns = cpu.phases->whole().starts_ns();
      (starts_ns == 0 ? projection_.left_out : projection_.cpus).push_back(cpu.cpu);
      if (starts_ns == 0) continue;
      if (cpus_.empty() || starts_ns < projection_.starts_ns) {
        projection_.observed_ns = cpu.observed_ns;
        projection_.starts_ns = starts_ns;
      }
      all_ns += cpu.observed_ns;
      cpus_.push_back(&cpu);
    }
    projection_.unseen_ns = all_ns / 3;  // -ln(5%) = 3.0: the rule of three
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
      const double p = share(node_.anywhere.whole);
      const Sample seen = sample(1, delay_ns);
      DelayedShare& delayed = projection_.delayed.emplace_back(DelayedShare{of_grain, {}, {}});
      if (p <= 0) delayed.at_most = std::min(1.0, 3 / seen.independent);
      delayed.p = estimate(p, node_.anywhere.each(share), seen);
    }
  }

  // Both of phases that begin anywhere, also inside of detours: of how they come, nothing is left out.
  void add_together() {
    if (input_.joint == nullptr || cpus_.size() < 2 || !is_joint_most()) return;
    Excess all;
    for (const Excess& block : input_.joint->blocks()) all.merge(block);
    const auto mean_ns = [&all](const Excess* left_out) {
      DelayCurve curve;
      return curve.add(DelayTail(all, left_out)) ? curve.expected_excess_ns(1) : 0;
    };
    const double apart_ns = node_.anywhere.whole.expected_excess_ns(1);
    if (apart_ns <= 0) return;
    const double joint_ns = mean_ns(nullptr);
    Without without{};
    for (std::size_t block = 0; block < kBlocks; ++block) {
      const double rest_ns = node_.anywhere.without[block].expected_excess_ns(1);
      without[block] = rest_ns > 0 ? mean_ns(&input_.joint->blocks()[block]) / rest_ns : 0;
    }
    const double independent = static_cast<double>(input_.joint->starts_ns()) / (grain() + joint_ns);
    projection_.together = estimate(joint_ns / apart_ns, without, Sample{projection_.observed_ns, independent});
  }

  // Else what differs may be the times, in which a CPU was observed and another one was not.
  [[nodiscard]] bool is_joint_most() const {
    constexpr double kMost = 0.9;
    std::uint64_t longest_ns = 0;
    for (const ProjectedCpu* const cpu : cpus_) longest_ns = std::max(longest_ns, cpu->phases->whole().starts_ns());
    return static_cast<double>(input_.joint->starts_ns()) >= kMost * static_cast<double>(longest_ns);
  }

  // The share beyond this delay is as uncertain as its blocks say: the delays at both ends of that share's interval.
  [[nodiscard]] Estimate exceeded(double probability) const {
    const double delay_ns = node_.anywhere.whole.exceeded_ns(probability);
    const auto share = [&](const DelayCurve& curve) {
      return delay_ns < 1 ? curve.delayed() : curve.delayed_from(delay_ns);
    };
    const double beyond = share(node_.anywhere.whole);
    const Uncertainty around = beyond > 0 ? uncertainty(beyond, node_.anywhere.each(share)) : Uncertainty{};
    Estimate result;
    result.needs_ns = needed_ns(around.log_error, kLargestError, sample(1 / probability, delay_ns));
    if (result.needs_ns) return result;
    const Ends ends = confidence_ends(around);
    result.value = delay_ns;
    result.low = node_.anywhere.whole.exceeded_ns(probability / ends.low);
    result.high = node_.anywhere.whole.exceeded_ns(probability / ends.high);
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
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
      const std::uint64_t nodes = input_.nodes[i];
      const auto count = static_cast<double>(nodes);
      const auto excess = [&](const DelayCurve& curve) { return curve.expected_excess_ns(count) / grain(); };
      const double whole = excess(node_.jobs[i].whole);
      const Sample seen = sample(count, whole * grain());
      JobSize size{nodes, job_delayed(count), {}, {}, estimate(whole, node_.jobs[i].each(excess), seen)};
      if (const std::optional<double>& p = projection_.delayed.front().p.value) {
        size.linear = linear_law(*p, count);
        size.linear_error = linear_law_error(*p, count);
      }
      if (size.excess.value) projection_.ranked_by = projection_.sizes.size();
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
    std::vector<const ExcessBlocks*> rests;
    rests.reserve(cpus_.size());
    for (const ProjectedCpu* const cpu : cpus_) rests.push_back(&cpu->phases->without(source));
    const NodeCurves rest = node_curves(rests, input_.nodes);
    SourceGain result{input_.sources[source], {}};
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
      const auto nodes = static_cast<double>(input_.nodes[i]);
      result.excess.push_back(gain(node_.jobs[i], rest.jobs[i], nodes));
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
  std::vector<const ProjectedCpu*> cpus_;
  NodeCurves node_;
  Projection projection_;
};

}  // namespace

Projection project(const ProjectionInput& input) { return Projector(input).project(); }

}  // namespace noised::analysis
