// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/excess.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace noised::analysis {

void Excess::merge(const Excess& other) {
  for (std::size_t octave = 0; octave < kOctaves; ++octave) {
    const Octave* const from = other.octaves_[octave].get();
    if (from == nullptr) continue;
    Octave& to = octaves_[octave].get_or_make();
    for (std::size_t step = 0; step < kSteps; ++step) {
      const Bucket& added = (*from)[step];
      to[step].weight_ns += added.weight_ns;
      to[step].ramps += added.ramps;
      to[step].level_sum += added.level_sum;
      to[step].ramp_sum += added.ramp_sum;
      to[step].ramp_squares += added.ramp_squares;
    }
  }
}

std::size_t Excess::size() const {
  for (std::size_t octave = kOctaves; octave > 0; --octave) {
    if (octaves_[octave - 1].get() != nullptr) return octave * kSteps;
  }
  return 0;
}

void ExcessBlocks::seek(std::uint64_t position_ns) {
  position_ns_ = position_ns;
  block_ = std::min<std::size_t>(position_ns / length_ns_, kBlocks - 1);
  block_end_ns_ = (block_ + 1) * length_ns_;
}

void ExcessBlocks::advance(std::uint64_t by_ns) {
  starts_ns_ += by_ns;
  position_ns_ += by_ns;
  if (block_ + 1 < kBlocks && position_ns_ >= block_end_ns_) {
    ++block_;
    block_end_ns_ += length_ns_;
  }
}

Excess& ExcessBlocks::now_at(std::size_t age) {
  std::vector<Excess>& blocks = ages_[age];
  if (blocks.empty()) blocks.resize(kBlocks);
  return blocks[block_];
}

void ExcessBlocks::add_level(std::size_t age, std::uint64_t excess_ns, std::uint64_t weight_ns) {
  while (weight_ns > 0) {
    const std::uint64_t part_ns = std::min(weight_ns, left_ns());
    now_at(age).add_level(excess_ns, part_ns);
    advance(part_ns);
    weight_ns -= part_ns;
  }
}

void ExcessBlocks::add_ramp(std::size_t age, std::uint64_t low_ns, std::uint64_t high_ns) {
  while (high_ns > low_ns) {
    const std::uint64_t part_ns = std::min(high_ns - low_ns, left_ns());
    now_at(age).add_ramp(high_ns - part_ns, high_ns);
    advance(part_ns);
    high_ns -= part_ns;
  }
}

void ExcessBlocks::add_whole(const Begins& next, std::size_t age) {
  const std::uint64_t length_ns = next.end_ns - now_ns_;
  const std::uint64_t high_ns = std::max(next.done_ns, now_ns_) - now_ns_;
  const std::uint64_t falls_ns = std::min(high_ns - std::min(high_ns, next.level_ns), length_ns);
  add_ramp(age, high_ns - falls_ns, high_ns);
  add_level(age, next.level_ns, length_ns - falls_ns);
  now_ns_ = next.end_ns;
}

namespace {

constexpr unsigned kFirstAgeBits = 10;

std::size_t age_of(std::uint64_t away_ns) {
  const auto bits = static_cast<unsigned>(std::bit_width(away_ns));
  return std::min<std::size_t>(bits <= kFirstAgeBits ? 1 : bits - kFirstAgeBits + 1, ExcessBlocks::kAges - 1);
}

}  // namespace

double ExcessBlocks::age_ns(std::size_t age) {
  if (age == 0) return 0;
  const double low_ns = age == 1 ? 0 : std::ldexp(1.0, static_cast<int>(kFirstAgeBits + age) - 2);
  return age == 1 ? std::ldexp(0.5, kFirstAgeBits) : low_ns * std::sqrt(2.0);
}

void ExcessBlocks::add(const Begins& next) {
  if (next.seen == Begins::Seen::whole) {
    observed_ns_ += next.end_ns - now_ns_;
    Begins part = next;
    while (now_ns_ < next.end_ns) {
      std::size_t age = 0;
      part.end_ns = next.end_ns;
      if (ages_.size() > 1 && next.away_since_ns <= now_ns_) {
        age = age_of(now_ns_ - next.away_since_ns);
        const std::uint64_t until_ns = std::uint64_t{1} << (kFirstAgeBits + age - 1);  // since then
        if (age + 1 < kAges && next.end_ns - next.away_since_ns > until_ns) part.end_ns = next.away_since_ns + until_ns;
      }
      add_whole(part, age);
    }
    return;
  }
  if (next.seen == Begins::Seen::begun) seek(observed_ns_ += next.end_ns - now_ns_);
  now_ns_ = next.end_ns;
}

Excess ExcessBlocks::of_age(std::size_t age) const {
  Excess all;
  for (const Excess& block : ages_[age]) all.merge(block);
  return all;
}

}  // namespace noised::analysis
