// SPDX-License-Identifier: Apache-2.0
#include "marks/phase_totals.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>

#include "analysis/projection/barrier.h"
#include "analysis/projection/estimate.h"
#include "model/histogram.h"

namespace noised::marks {
namespace {

constexpr std::size_t kThreads = 65536;     // told apart; of more, the number stays there
constexpr std::uint64_t kLateShare = 100;   // one in so many
constexpr std::uint64_t kTypicalShare = 2;  // likewise
constexpr std::uint64_t kRanks[] = {1, 2, 4, 16, 64, 256, 1024, 4096, 16384};

std::uint64_t bucket_of(std::uint64_t ns) { return Histogram::bucket_of(ns).low_ns; }

void add(const StolenBlocks::Group& from, StolenBlocks::Group& to) {
  to.count += from.count;
  to.ns += from.ns;
}

void add(const PhaseGroup& from, PhaseGroup& to) {
  to.count += from.count;
  to.total_ns += from.total_ns;
  to.stolen_ns += from.stolen_ns;
}

std::uint64_t time_of(const SourceTimes& times, unsigned source) {
  const auto found = std::ranges::find(times, source, &SourceTimes::value_type::first);
  return found == times.end() ? 0 : found->second;
}

// Buckets in their order until so many phases are in them.
template <typename Buckets, typename AddBucket>
void collect(const Buckets& buckets, std::uint64_t wanted, PhaseGroup& group, const AddBucket& add_bucket) {
  for (const auto& [low_ns, bucket] : buckets) {
    if (group.count >= wanted) return;
    add(bucket.group, group);
    add_bucket(bucket);
  }
}

const SourceName& name_of(const SourceNames& names, unsigned source) {
  static const SourceName kUnknown{"unexplained", "unexplained", "unexplained"};
  const auto found = names.find(source);
  return found == names.end() ? kUnknown : found->second;
}

LongPhase view_of(const FinishedPhase& phase, const SourceNames& names) {
  LongPhase view;
  view.pid = phase.pid;
  view.start_ns = phase.start_ns;
  view.duration_ns = phase.end_ns - phase.start_ns;
  view.incomplete = phase.incomplete;
  view.sources.reserve(phase.stolen.size());
  for (const auto& [source, ns] : phase.stolen) {
    const SourceName& name = name_of(names, source);
    view.sources.emplace_back(name.kind + ":" + name.name, ns);
    view.stolen_ns += ns;
  }
  std::ranges::sort(view.sources, [](const auto& a, const auto& b) { return a.second > b.second; });
  return view;
}

}  // namespace

void add_time(SourceTimes& times, unsigned source, std::uint64_t ns) {
  if (ns == 0) return;
  const auto found = std::ranges::find(times, source, &SourceTimes::value_type::first);
  if (found == times.end()) {
    times.emplace_back(source, ns);
  } else {
    found->second += ns;
  }
}

void PhaseTotals::add(const FinishedPhase& phase) {
  const std::uint64_t ns = phase.end_ns - phase.start_ns;
  std::uint64_t stolen_ns = 0;
  Bucket& bucket = buckets_[bucket_of(ns)];
  for (const auto& [source, time] : phase.stolen) {
    stolen_ns += time;
    add_time(stolen_, source, time);
    add_time(touched_, source, 1);
    add_time(bucket.stolen, source, time);
  }
  const PhaseGroup one{1, ns, stolen_ns};
  marks::add(one, bucket.group);
  marks::add(one, all_);
  stolen_blocks_.add(stolen_ns);
  marks::add({1, stolen_ns}, stolen_groups_[bucket_of(stolen_ns)]);
  const auto own_ns = static_cast<double>(ns - std::min(ns, stolen_ns));
  for (std::size_t i = 0; i < delays_.size(); ++i)
    delays_[i] += static_cast<double>(stolen_ns) > analysis::kUsualDelays[i] * own_ns ? 1 : 0;
  min_ns_ = std::min(min_ns_, ns);
  max_ns_ = std::max(max_ns_, ns);
  delayed_ += stolen_ns != 0 ? 1 : 0;
  incomplete_ += phase.incomplete ? 1 : 0;
  if (threads_.size() < kThreads) threads_.insert(phase.pid);
  const auto longer = [ns](const FinishedPhase& other) { return other.end_ns - other.start_ns >= ns; };
  const auto place = std::ranges::find_if_not(longest_, longer);
  if (place == longest_.end() && longest_.size() == kLongest) return;
  longest_.insert(place, phase);
  longest_.resize(std::min(longest_.size(), kLongest));
}

std::vector<MarkedSource> PhaseTotals::sources(const SourceNames& names, const SourceTimes& late,
                                               const SourceTimes& typical) const {
  std::vector<MarkedSource> sources;
  sources.reserve(stolen_.size());
  for (const auto& [source, ns] : stolen_) {
    const SourceName& name = name_of(names, source);
    sources.push_back({.category = name.category,
                       .kind = name.kind,
                       .name = name.name,
                       .total_ns = ns,
                       .phases = time_of(touched_, source),
                       .late_ns = time_of(late, source),
                       .typical_ns = time_of(typical, source)});
  }
  std::ranges::sort(sources, [](const MarkedSource& a, const MarkedSource& b) { return a.total_ns > b.total_ns; });
  return sources;
}

namespace {

void add(const StolenBlocks::Groups& from, StolenBlocks::Groups& to) {
  for (const auto& [low_ns, group] : from) add(group, to[low_ns]);
}

std::uint64_t wide_bucket_of(std::uint64_t ns) {
  constexpr unsigned kBits = 4;  // the first of which is 1
  const auto bits = static_cast<unsigned>(std::bit_width(ns));
  return bits <= kBits ? ns : ns >> (bits - kBits) << (bits - kBits);
}

// The longest of n phases is late by the longest of n delays: each bucket's mean, by how likely the longest is in it.
// Of all, without these.
double mean_of_longest_ns(const StolenBlocks::Groups& all, const StolenBlocks::Groups& without, double n) {
  double count = 0;
  for (const auto& [low_ns, group] : all) count += static_cast<double>(group.count);
  for (const auto& [low_ns, group] : without) count -= static_cast<double>(group.count);
  if (count <= 0) return 0;
  double longest_ns = 0;
  double before = 0;
  double up_to = 0;
  for (const auto& [low_ns, group] : all) {
    const auto left_out = without.find(low_ns);
    const StolenBlocks::Group gone = left_out == without.end() ? StolenBlocks::Group() : left_out->second;
    if (group.count == gone.count) continue;
    up_to += static_cast<double>(group.count - gone.count);
    const double after = std::pow(up_to / count, n);
    longest_ns +=
        (after - before) * static_cast<double>(group.ns - gone.ns) / static_cast<double>(group.count - gone.count);
    before = after;
  }
  return longest_ns;
}

}  // namespace

void StolenBlocks::add(std::uint64_t stolen_ns) {
  if (in_last_ == length_ || blocks_.empty()) {
    if (blocks_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) {
        Groups pair = std::move(blocks_[2 * i]);
        marks::add(blocks_[2 * i + 1], pair);
        blocks_[i] = std::move(pair);
      }
      blocks_.resize(kMost / 2);
      length_ *= 2;
    }
    blocks_.emplace_back();
    in_last_ = 0;
  }
  ++in_last_;
  marks::add({1, stolen_ns}, blocks_.back()[wide_bucket_of(stolen_ns)]);
}

std::vector<StolenBlocks::Groups> StolenBlocks::blocks() const {
  std::vector<Groups> result(kBlocks);
  for (std::size_t i = 0; i < blocks_.size(); ++i) marks::add(blocks_[i], result[i * kBlocks / blocks_.size()]);
  return result;
}

std::vector<PhaseCost> PhaseTotals::costs() const {
  const auto count = static_cast<double>(all_.count);
  const double own_ns = static_cast<double>(all_.total_ns - std::min(all_.total_ns, all_.stolen_ns)) / count;
  const std::vector<StolenBlocks::Groups> blocks = stolen_blocks_.blocks();
  StolenBlocks::Groups all;
  for (const StolenBlocks::Groups& block : blocks) marks::add(block, all);
  std::vector<PhaseCost> costs;
  costs.reserve(std::size(kRanks));
  for (const std::uint64_t ranks : kRanks) {
    const auto n = static_cast<double>(ranks);
    PhaseCost& cost = costs.emplace_back();
    cost.ranks = ranks;
    cost.delayed = analysis::delay_probability(static_cast<double>(delays_.front()) / count, n);
    if (own_ns <= 0 || count / n < analysis::kLeastIndependent) continue;
    const double excess = mean_of_longest_ns(stolen_groups_, {}, n) / own_ns;
    cost.slowdown = 1 + excess;
    if (excess <= 0) continue;
    std::vector<double> without;
    without.reserve(blocks.size());
    for (const StolenBlocks::Groups& block : blocks) without.push_back(mean_of_longest_ns(all, block, n));
    const analysis::Ends ends =
        analysis::confidence_ends(analysis::uncertainty(mean_of_longest_ns(all, {}, n), without));
    cost.low = 1 + excess * ends.low;
    cost.high = 1 + excess * ends.high;
  }
  return costs;
}

MarkedPhase PhaseTotals::view(const SourceNames& names) const {
  MarkedPhase view;
  if (empty()) return view;
  view.threads = threads_.size();
  view.incomplete = incomplete_;
  view.min_ns = min_ns_;
  view.max_ns = max_ns_;
  view.mean_ns = all_.total_ns / all_.count;
  view.all = all_;
  view.delayed = delayed_;
  view.delays.reserve(delays_.size());
  for (std::size_t i = 0; i < delays_.size(); ++i) {
    const analysis::SeenShare p =
        analysis::seen_share(static_cast<double>(delays_[i]), static_cast<double>(all_.count));
    view.delays.push_back({analysis::kUsualDelays[i], delays_[i], p.value, p.low, p.high});
  }
  SourceTimes late;
  SourceTimes typical;
  const auto into = [](SourceTimes& times) {
    return [&times](const Bucket& bucket) {
      for (const auto& [source, ns] : bucket.stolen) add_time(times, source, ns);
    };
  };
  collect(buckets_ | std::views::reverse, std::max<std::uint64_t>(1, all_.count / kLateShare), view.late, into(late));
  collect(buckets_, (all_.count + kTypicalShare - 1) / kTypicalShare, view.typical, into(typical));
  std::uint64_t up_to = 0;
  for (const auto& [low_ns, bucket] : buckets_) {
    up_to += bucket.group.count;
    view.median_ns = std::min(max_ns_, Histogram::bucket_of(low_ns).high_ns);
    if (2 * up_to >= all_.count) break;
  }
  view.sources = sources(names, late, typical);
  view.longest.reserve(longest_.size());
  for (const FinishedPhase& phase : longest_) view.longest.push_back(view_of(phase, names));
  view.costs = costs();
  return view;
}

}  // namespace noised::marks
