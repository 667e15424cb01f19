// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/barrier.h"
#include "analysis/noise_law.h"
#include "analysis/slowdown.h"

namespace noised {
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

class NodeDelays {
 public:
  void add(const ExcessBlocks& cpu) {
    Excess all;
    for (const Excess& block : cpu.blocks()) all.merge(block);
    whole_.emplace_back(all, nullptr);
    for (std::size_t i = 0; i < kBlocks; ++i) without_[i].emplace_back(all, &cpu.blocks()[i]);
  }
  /// Of phases that begin anywhere.
  [[nodiscard]] Curves anywhere() const { return curves(nullptr); }
  /// Of phases that begin where a barrier of so many nodes lets them. Which begins these are is taken from the whole.
  [[nodiscard]] Curves at_barrier(double nodes) const {
    const std::vector<KeptShares> kept = kept_at_barrier(whole_, nodes);
    return curves(&kept);
  }

 private:
  static DelayCurve curve(const std::vector<DelayTail>& cpus, const std::vector<KeptShares>* kept) {
    DelayCurve result;
    for (std::size_t i = 0; i < cpus.size(); ++i) result.add(cpus[i], kept == nullptr ? nullptr : &(*kept)[i]);
    return result;
  }
  [[nodiscard]] Curves curves(const std::vector<KeptShares>* kept) const {
    Curves result{curve(whole_, kept), {}};
    for (std::size_t i = 0; i < kBlocks; ++i) result.without[i] = curve(without_[i], kept);
    return result;
  }

  std::vector<DelayTail> whole_;
  std::array<std::vector<DelayTail>, kBlocks> without_;
};

class Projector {
 public:
  explicit Projector(const ProjectionInput& input) : input_(input) {}

  Projection project() {
    choose_cpus();
    if (projection_.cpus.empty()) return std::move(projection_);
    for (const ProjectedCpu* const cpu : cpus_) node_.add(cpu->phases->whole());
    anywhere_ = node_.anywhere();
    for (const std::uint64_t nodes : input_.nodes) jobs_.push_back(node_.at_barrier(static_cast<double>(nodes)));
    add_delayed();
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
    const double p = anywhere_.whole.delayed();
    if (p <= 0) projection_.delayed_at_most = std::min(1.0, 3 / sample(1, 0).independent);
    projection_.delayed =
        estimate(p, anywhere_.each([](const DelayCurve& curve) { return curve.delayed(); }), sample(1, 0));
  }

  // The share beyond this delay is as uncertain as its blocks say: the delays at both ends of that share's interval.
  [[nodiscard]] Estimate exceeded(double probability) const {
    const double delay_ns = anywhere_.whole.exceeded_ns(probability);
    const auto share = [&](const DelayCurve& curve) {
      return delay_ns < 1 ? curve.delayed() : curve.delayed_from(delay_ns);
    };
    const double beyond = share(anywhere_.whole);
    const Uncertainty around = beyond > 0 ? uncertainty(beyond, anywhere_.each(share)) : Uncertainty{};
    Estimate result;
    result.needs_ns = needed_ns(around.log_error, kLargestError, sample(1 / probability, delay_ns));
    if (result.needs_ns) return result;
    const Ends ends = confidence_ends(around);
    result.value = delay_ns;
    result.low = anywhere_.whole.exceeded_ns(probability / ends.low);
    result.high = anywhere_.whole.exceeded_ns(probability / ends.high);
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
    Estimate result = projection_.delayed;
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
      const double whole = excess(jobs_[i].whole);
      const Sample seen = sample(count, whole * grain());
      JobSize size{nodes, job_delayed(count), {}, {}, estimate(whole, jobs_[i].each(excess), seen)};
      if (const std::optional<double>& p = projection_.delayed.value) {
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
    NodeDelays rest;
    for (const ProjectedCpu* const cpu : cpus_) rest.add(cpu->phases->without(source));
    SourceGain result{input_.sources[source], {}};
    for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
      const auto nodes = static_cast<double>(input_.nodes[i]);
      result.excess.push_back(gain(jobs_[i], rest.at_barrier(nodes), nodes));
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
  NodeDelays node_;
  Curves anywhere_;
  std::vector<Curves> jobs_;  // by size
  Projection projection_;
};

}  // namespace

Projection project(const ProjectionInput& input) { return Projector(input).project(); }

}  // namespace noised
