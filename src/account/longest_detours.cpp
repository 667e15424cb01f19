// SPDX-License-Identifier: Apache-2.0
#include "account/longest_detours.h"

#include <algorithm>
#include <functional>

namespace noised::account {
namespace {

constexpr std::size_t kOfAllCpus = 2048;  // 3.5 MB, twice
constexpr std::size_t kLeastKept = 4;

}  // namespace

LongestDetours::LongestDetours(std::size_t cpus)
    : kept_(std::clamp(kOfAllCpus / std::max<std::size_t>(cpus, 1), kLeastKept, kKept)) {}

void LongestDetours::add(const FeedDetour& detour) {
  if (cpus_.size() <= detour.cpu) cpus_.resize(detour.cpu + std::size_t{1});
  Cpu& cpu = cpus_[detour.cpu];
  const bool is_full = cpu.longest.size() == kept_;
  if (is_full && detour.duration_ns <= cpu.longest.back().duration_ns) return;
  if (is_full) cpu.longest.pop_back();
  const auto at =
      std::ranges::upper_bound(cpu.longest, detour.duration_ns, std::ranges::greater(), &FeedDetour::duration_ns);
  cpu.longest.insert(at, detour);
  cpu.is_new = any_new_ = true;
}

void LongestDetours::commit() {
  if (!any_new_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  shown_.resize(cpus_.size());
  for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    if (!cpus_[cpu].is_new) continue;
    shown_[cpu] = cpus_[cpu].longest;
    cpus_[cpu].is_new = false;
  }
  any_new_ = false;
}

std::vector<FeedDetour> LongestDetours::read(std::size_t count) {
  std::vector<FeedDetour> longest;
  {
    const std::lock_guard lock(mutex_);
    for (const std::vector<FeedDetour>& cpu : shown_) longest.insert(longest.end(), cpu.begin(), cpu.end());
  }
  std::ranges::stable_sort(longest, std::ranges::greater(), &FeedDetour::duration_ns);
  longest.resize(std::min(longest.size(), count));
  return longest;
}

}  // namespace noised::account
