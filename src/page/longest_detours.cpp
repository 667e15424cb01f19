// SPDX-License-Identifier: Apache-2.0
#include "page/longest_detours.h"

#include <algorithm>
#include <tuple>

namespace noised::page {
namespace {

bool longer(const LongDetour& a, const LongDetour& b) {
  return std::tie(b.view.duration_ns, a.view.start_ns, a.view.cpu) <
         std::tie(a.view.duration_ns, b.view.start_ns, b.view.cpu);
}

}  // namespace

void LongestDetours::add(LongDetour detour) {
  kept_.push_back(std::move(detour));
  std::push_heap(kept_.begin(), kept_.end(), longer);
  if (kept_.size() <= most_) return;
  std::pop_heap(kept_.begin(), kept_.end(), longer);
  kept_.pop_back();
}

std::vector<LongDetour> LongestDetours::sorted() const {
  std::vector<LongDetour> sorted = kept_;
  std::sort(sorted.begin(), sorted.end(), longer);
  return sorted;
}

}  // namespace noised::page
