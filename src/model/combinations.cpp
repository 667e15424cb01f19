// SPDX-License-Identifier: Apache-2.0
// The combination table: linear probing over a table that is never more than half full and never forgets.
#include "model/combinations.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace noised {

CombinationKey::CombinationKey(std::span<const SourceId> sources) {
  size_ = static_cast<std::uint32_t>(std::min(sources.size(), kCapacity));
  std::copy_n(sources.begin(), size_, sources_.begin());
  if (sources.size() > kCapacity) sources_.back() = kOtherSource;
}

std::uint64_t CombinationKey::hash() const {
  // Odd multiplier near 2^64 / golden ratio; the shift brings the well-mixed high bits down to where slots look.
  std::uint64_t hash = size_;
  for (const SourceId source : sources()) {
    hash = (hash ^ source) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

CombinationTable::CombinationTable(std::uint32_t limit)
    : limit_(limit), slots_(std::bit_ceil(std::size_t{limit} * 2 + 1)) {
  other_.key = CombinationKey(std::span(&kOtherSource, 1));
}

void CombinationTable::add(std::span<const SourceId> sources, std::uint64_t detour_ns) {
  find_or_make(CombinationKey(sources)).moments.add(detour_ns);
}

void CombinationTable::merge(const CombinationTable& other) {
  assert(this != &other);
  for (const Combination& entry : other.entries_) find_or_make(entry.key).moments.merge(entry.moments);
  other_.moments.merge(other.other_.moments);
}

void CombinationTable::let_go(const Departures& departures) {
  CombinationTable renamed(limit_);
  renamed.other_.moments = other_.moments;
  for (const Combination& entry : entries_) {
    std::array<SourceId, CombinationKey::kCapacity> sources{};
    std::size_t size = 0;
    for (const SourceId source : entry.key.sources()) {
      const SourceId now = departures.now(source);
      if (std::find(sources.begin(), sources.begin() + size, now) == sources.begin() + size) sources[size++] = now;
    }
    renamed.find_or_make(CombinationKey(std::span(sources).first(size))).moments.merge(entry.moments);
  }
  *this = std::move(renamed);
}

Combination& CombinationTable::find_or_make(const CombinationKey& key) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = key.hash() & mask;; at = (at + 1) & mask) {
    const std::uint32_t slot = slots_[at];
    if (slot == 0) {
      if (entries_.size() == limit_) return other_;
      entries_.push_back(Combination{key, {}});
      slots_[at] = static_cast<std::uint32_t>(entries_.size());
      return entries_.back();
    }
    if (entries_[slot - 1].key == key) return entries_[slot - 1];
  }
}

}  // namespace noised
