// SPDX-License-Identifier: Apache-2.0
// Runs are made comparable, then compared: machine, sources, durations.
#include "analysis/baseline/baseline_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/baseline/significance.h"
#include "base/saturating.h"

namespace noised::analysis {
namespace {

constexpr unsigned kDensityDraws = 999;  // the least p is 1/1000: below the density's share of the level
// More do not find more, and an exact test takes time with the square of them.
constexpr std::size_t kEnoughBlocks = 64;

void add_setting(const char* what, const std::string& before, const std::string& after, BaselineDiff& diff) {
  if (before != after) diff.settings.push_back({what, before, after});
}

void compare_settings(const Baseline& before, const Baseline& after, BaselineDiff& diff) {
  const auto unsupported = [](const Baseline& run) { return fmt::format("{}", fmt::join(run.unsupported, "; ")); };
  const auto duty = [](const Baseline& run) { return fmt::format("{}%", run.duty_percent); };
  const auto cpus = [](const Baseline& run) {
    std::vector<unsigned> numbers;
    numbers.reserve(run.cpus.size());
    for (const BaselineCpu& cpu : run.cpus) numbers.push_back(cpu.cpu);
    return fmt::format("{}", fmt::join(numbers, ","));
  };
  add_setting("host", before.host, after.host, diff);
  add_setting("kernel", before.kernel, after.kernel, diff);
  add_setting("boot parameters", before.boot_parameters, after.boot_parameters, diff);
  add_setting("processor", before.processor, after.processor, diff);
  add_setting("CPUs", cpus(before), cpus(after), diff);
  add_setting("policy of the loop", before.policy, after.policy, diff);
  add_setting("time in which the loop runs", duty(before), duty(after), diff);
  add_setting("unsupported", unsupported(before), unsupported(after), diff);
}

Status same_thresholds(const Baseline& before, const Baseline& after) {
  std::set<std::uint64_t> thresholds;
  for (const Baseline* const run : {&before, &after})
    for (const BaselineCpu& cpu : run->cpus) thresholds.insert(cpu.threshold_ns);
  if (thresholds.size() <= 1) return success();
  return usage_error(fmt::format("the loops had different thresholds ({} ns): they saw different detours",
                                 fmt::join(thresholds, ", ")),
                     "measure with the threshold of the baseline");
}

/// Blocks as long as the other's, and not many more than are needed.
void align(Baseline& before, Baseline& after) {
  while (before.block_ns < after.block_ns) before = with_longer_blocks(before);
  while (after.block_ns < before.block_ns) after = with_longer_blocks(after);
  while (before.blocks() + after.blocks() > kEnoughBlocks &&
         std::min(before.blocks(), after.blocks()) >= 2 * kFewestBlocks) {
    before = with_longer_blocks(before);
    after = with_longer_blocks(after);
  }
}

void compare_densities(const Baseline& before, const Baseline& after, BaselineDiff& diff) {
  diff.density = density_difference(all_durations(before.detours), all_durations(after.detours));
  if (!diff.density || diff.density->area < diff.least.density_area) return;
  // As few blocks as are enough for this one test: the longer they are, the less each follows the one before.
  Baseline then = before;
  Baseline now = after;
  while (std::min(then.blocks(), now.blocks()) >= 2 * kFewestBlocks) {
    then = with_longer_blocks(then);
    now = with_longer_blocks(now);
  }
  diff.density_p = std::min(1.0, density_p(then.detours, now.detours, kDensityDraws) / kDensityShare);
  diff.density_differs = diff.density_p <= kFamilyLevel;
}

}  // namespace

Result<BaselineDiff> compare(const Baseline& before, const Baseline& after, const LeastEffect& least) {
  if (Status same = same_thresholds(before, after); !same) return same.error();
  Baseline then = before;
  Baseline now = after;
  align(then, now);
  if (std::min(then.blocks(), now.blocks()) < kFewestBlocks) {
    return usage_error(fmt::format("{} and {} blocks of {} ms of both runs are too few to be compared", then.blocks(),
                                   now.blocks(), then.block_ns / 1'000'000),
                       "measure both runs about equally long, a second or more");
  }
  BaselineDiff diff;
  diff.least = least;
  diff.block_ns = then.block_ns;
  diff.blocks_before = then.blocks();
  diff.blocks_after = now.blocks();
  compare_settings(before, after, diff);
  compare_sources(then, now, diff);
  compare_densities(then, now, diff);
  // Were it found, it would be one test more.
  diff.power = power_of(then.blocks(), now.blocks(), now.block_ns, diff.tests + 1);
  return diff;
}

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
    const double ratio = change.kind >= Kind::hypervisor ? least_.noisy_ratio : least_.ratio;
    change.matters = matters(then.side.per_second, now.side.per_second, ratio, change);
    // Of what one run does not have at all, only the presence counts: however noisy it is, it is always more than none.
    const bool only_one = then.side.count == 0 || now.side.count == 0;
    const auto values = [&](const Series& side) { return only_one ? presence(side.rates) : side.rates; };
    if (change.matters) change.p = serial_rank_sum_p(values(then), values(now), kFewestBlocks);
    tests.push_back(std::move(change));
  }

  void compare_self_times(const Series& then, const Series& now, SourceChange change) {
    const double longer_ns = *now.side.self_ns - *then.side.self_ns;
    change.change = longer_ns > 0 ? ChangeKind::longer : ChangeKind::shorter;
    change.added_ns = longer_ns * now.side.per_second;
    change.matters = matters(*then.side.self_ns, *now.side.self_ns, least_.noisy_ratio, change);
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

/// On one machine they are one thing. Recordings that told the two apart by steal time, in steps of many ms, had each
/// vary thirtyfold from run to run, both together not twofold.
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

namespace {

// 95 in 100, when one more in 40 is lost because neighbours follow each other by chance, and once joined do so again.
constexpr double kFoundAlone = 0.975;

// Chance that of `blocks` at least `needed` have one or more, of a source that comes at random times.
double found_with(double per_block, std::size_t blocks, std::size_t needed) {
  const double hit = 1 - std::exp(-per_block);
  double found = 0;
  for (std::size_t k = needed; k <= blocks; ++k) {
    const auto [n, m] = std::pair(static_cast<double>(blocks), static_cast<double>(k));
    const double ways = std::lgamma(n + 1) - std::lgamma(m + 1) - std::lgamma(n - m + 1);
    found += std::exp(ways + m * std::log(hit) - (n - m) * per_block);
  }
  return found;
}

}  // namespace

std::optional<Power> power_of(std::size_t blocks_before, std::size_t blocks_after, std::uint64_t block_ns,
                              std::size_t tests) {
  const std::vector<double> before(blocks_before, 0);
  std::vector<double> after(blocks_after, 0);
  const double level = kFamilyLevel * (1 - kDensityShare) / static_cast<double>(std::max<std::size_t>(tests, 1));
  for (std::size_t needed = 1; needed <= blocks_after; ++needed) {
    after[needed - 1] = 1;
    if (rank_sum_p(before, after) > level) continue;
    double low = 0;
    double high = 50;  // in every block, as far as chance goes
    while (high - low > 1e-6) {
      const double middle = (low + high) / 2;
      (found_with(middle, blocks_after, needed) < kFoundAlone ? low : high) = middle;
    }
    return Power{needed, high / (static_cast<double>(block_ns) / 1e9)};
  }
  return std::nullopt;
}

}  // namespace noised::analysis
