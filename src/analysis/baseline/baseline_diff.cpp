// SPDX-License-Identifier: Apache-2.0
// Every test that could have been made counts, also those of effects that are too small to be looked at.
#include "analysis/baseline_sources.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/significance.h"
#include "statistics/saturating.h"

namespace noised {
namespace {

double per_second_of(const Baseline& run, double each_block) {
  return each_block / (static_cast<double>(run.block_ns) / 1e9 * static_cast<double>(run.cpus.size()));
}

/// What one source did in one run, block by block.
struct Series {
  std::vector<double> rates;       ///< a second of a CPU, of every block
  std::vector<double> self_times;  ///< mean in ns, of the blocks in which it occurred
  SourceSide side;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double without_highest_tenth(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.resize(values.size() - values.size() / 10);
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

std::vector<double> presence(std::vector<double> rates) {
  for (double& rate : rates) rate = rate > 0 ? 1 : 0;
  return rates;
}

Series series_of(const Baseline& run, const BaselineSource* source) {
  Series series;
  series.rates.assign(run.blocks(), 0);
  if (source == nullptr) return series;
  for (std::size_t i = 0; i < run.blocks(); ++i) {
    const SourceBlock& block = source->blocks[i];
    if (block.count == 0) continue;
    series.rates[i] = per_second_of(run, static_cast<double>(block.count));
    series.self_times.push_back(static_cast<double>(block.self_ns) / static_cast<double>(block.count));
    series.side.count = saturating_add(series.side.count, block.count);
  }
  series.side.per_second = without_highest_tenth(series.rates);
  if (!series.self_times.empty()) series.side.self_ns = median(series.self_times);
  return series;
}

bool apart(double before, double after, double ratio) {
  return std::max(before, after) >= ratio * std::min(before, after) && before != after;
}

class Comparison {
 public:
  Comparison(const Baseline& before, const Baseline& after, const LeastEffect& least)
      : before_(before), after_(after), least_(least) {}

  void compare(Kind kind, const std::string& name, const BaselineSource* was, const BaselineSource* is) {
    const Series then = series_of(before_, was);
    const Series now = series_of(after_, is);
    SourceChange change{kind, name, ChangeKind::appeared, then.side, now.side, 0, false, 1};
    compare_rates(then, now, change);
    if (then.side.self_ns && now.side.self_ns) compare_self_times(then, now, change);
  }

  /// Every test that was made; those with p 1 had too small an effect to be made, and count all the same.
  std::vector<SourceChange> tests;

 private:
  void compare_rates(const Series& then, const Series& now, SourceChange change) {
    const double more = now.side.per_second - then.side.per_second;
    change.change = more > 0 ? ChangeKind::more_frequent : ChangeKind::less_frequent;
    if (then.side.count == 0) change.change = ChangeKind::appeared;
    if (now.side.count == 0) change.change = ChangeKind::gone;
    const std::optional<double> self_ns = more > 0 ? now.side.self_ns : then.side.self_ns;
    change.added_ns = more * self_ns.value_or(0);
    const double ratio = change.kind >= Kind::hypervisor ? least_.moody_ratio : least_.ratio;
    change.matters = matters(then.side.per_second, now.side.per_second, ratio, change);
    // Of what one run does not have at all, only the presence counts: however moody it is, it is always more than none.
    const bool only_one = then.side.count == 0 || now.side.count == 0;
    const auto values = [&](const Series& side) { return only_one ? presence(side.rates) : side.rates; };
    if (change.matters) change.p = serial_rank_sum_p(values(then), values(now), kFewestBlocks);
    tests.push_back(std::move(change));
  }

  void compare_self_times(const Series& then, const Series& now, SourceChange change) {
    const double longer_ns = *now.side.self_ns - *then.side.self_ns;
    change.change = longer_ns > 0 ? ChangeKind::longer : ChangeKind::shorter;
    change.added_ns = longer_ns * now.side.per_second;
    change.matters = matters(*then.side.self_ns, *now.side.self_ns, least_.moody_ratio, change);
    if (change.matters) change.p = serial_rank_sum_p(then.self_times, now.self_times, kFewestBlocks);
    tests.push_back(std::move(change));
  }

  [[nodiscard]] bool matters(double before, double after, double ratio, const SourceChange& change) const {
    return apart(before, after, ratio) && std::abs(change.added_ns) >= least_.added_ns;
  }

  const Baseline& before_;
  const Baseline& after_;
  const LeastEffect& least_;
};

bool seen_by(const Baseline& run, Kind kind) {
  return kind >= Kind::hypervisor || std::binary_search(run.kinds.begin(), run.kinds.end(), to_string(kind));
}

/// Which of the two it was is told by steal time, which is counted in steps of many ms: from run to run each varied
/// thirtyfold, both together not twofold.
void join_outside(Baseline& run) {
  BaselineSource joined{Kind::hypervisor, "hypervisor or hardware", std::vector<SourceBlock>(run.blocks())};
  std::erase_if(run.sources, [&](const BaselineSource& source) {
    if (source.kind != Kind::hypervisor && source.kind != Kind::hardware) return false;
    for (std::size_t i = 0; i < run.blocks(); ++i) {
      SourceBlock& sum = joined.blocks[i];
      sum = {saturating_add(sum.count, source.blocks[i].count), saturating_add(sum.self_ns, source.blocks[i].self_ns)};
    }
    return true;
  });
  run.sources.push_back(std::move(joined));
}

bool has_hypervisor(const Baseline& run) {
  return std::any_of(run.sources.begin(), run.sources.end(),
                     [](const BaselineSource& source) { return source.kind == Kind::hypervisor; });
}

/// Corrects for all tests, and keeps those with an effect that matters.
void judge(std::vector<SourceChange>& tests, BaselineDiff& diff) {
  std::vector<double> p;
  p.reserve(tests.size());
  for (const SourceChange& test : tests) p.push_back(test.p);
  p = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    SourceChange& test = tests[i];
    if (!test.matters) continue;
    test.p = std::min(1.0, p[i] / (1 - kDensityShare));
    (test.p <= kFamilyLevel ? diff.changes : diff.undecided).push_back(std::move(test));
  }
  for (std::vector<SourceChange>* const list : {&diff.changes, &diff.undecided}) {
    std::stable_sort(list->begin(), list->end(), [](const SourceChange& a, const SourceChange& b) {
      return std::abs(a.added_ns) > std::abs(b.added_ns);
    });
  }
}

}  // namespace

void compare_sources(Baseline before, Baseline after, BaselineDiff& diff) {
  if (has_hypervisor(before) || has_hypervisor(after)) {
    join_outside(before);
    join_outside(after);
  }
  std::map<std::pair<Kind, std::string>, std::pair<const BaselineSource*, const BaselineSource*>> sources;
  for (const BaselineSource& source : before.sources) sources[{source.kind, source.name}].first = &source;
  for (const BaselineSource& source : after.sources) sources[{source.kind, source.name}].second = &source;
  Comparison comparison(before, after, diff.least);
  std::set<std::string> unseen;
  for (const auto& [key, pair] : sources) {
    if (seen_by(before, key.first) && seen_by(after, key.first)) {
      comparison.compare(key.first, key.second, pair.first, pair.second);
    } else {
      unseen.emplace(to_string(key.first));
    }
  }
  diff.not_compared.assign(unseen.begin(), unseen.end());
  diff.tests = comparison.tests.size();
  judge(comparison.tests, diff);
}

}  // namespace noised
