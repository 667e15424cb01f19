// SPDX-License-Identifier: Apache-2.0
#include "analysis/baseline.h"

#include <algorithm>
#include <bit>

#include "statistics/saturating.h"

namespace noised {

std::uint64_t duration_bucket(std::uint64_t duration_ns) {
  constexpr int kStepBits = 4;
  const int shift = std::max(0, static_cast<int>(std::bit_width(duration_ns)) - kStepBits - 1);
  return duration_ns >> shift << shift;
}

Baseline with_longer_blocks(const Baseline& run) {
  Baseline longer = run;
  longer.block_ns *= 2;
  const std::size_t blocks = run.blocks() / 2;
  longer.detours.assign(blocks, {});
  for (std::size_t block = 0; block < 2 * blocks; ++block) {
    for (const auto& [low_ns, count] : run.detours[block]) {
      std::uint64_t& sum = longer.detours[block / 2][low_ns];
      sum = saturating_add(sum, count);
    }
  }
  for (BaselineSource& source : longer.sources) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const SourceBlock& first = source.blocks[2 * block];
      const SourceBlock& second = source.blocks[2 * block + 1];
      source.blocks[block] = {saturating_add(first.count, second.count), saturating_add(first.self_ns, second.self_ns)};
    }
    source.blocks.resize(blocks);
  }
  std::erase_if(longer.sources, [](const BaselineSource& source) {
    return std::all_of(source.blocks.begin(), source.blocks.end(), [](const SourceBlock& b) { return b.count == 0; });
  });
  return longer;
}

}  // namespace noised
