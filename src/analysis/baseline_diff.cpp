// SPDX-License-Identifier: Apache-2.0
// Runs are made comparable, then compared: machine, sources, durations.
#include "analysis/baseline_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/baseline_sources.h"

namespace noised {
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

}  // namespace noised
