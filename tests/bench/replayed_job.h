// SPDX-License-Identifier: Apache-2.0
// A bulk-synchronous job, played over recorded detours: each rank works for a grain, and the last lets all go on. Where
// the projection takes the begin of a phase as independent of a rank's noise, here it is what the ranks make it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "model/types.h"

#include "analysis/projection/estimate.h"
#include "analysis/projection/excess.h"

namespace noised::bench {

using namespace noised::analysis;

/// Of one CPU, from the begin of its observation on; `length_ns` is how long that was.
struct Detours {
  std::vector<Detour> all;
  std::uint64_t length_ns = 0;
};

/// A rank on a CPU whose noise begins again when all of it was played.
class Rank {
 public:
  Rank(const Detours& detours, std::uint64_t offset_ns) : detours_(detours), offset_ns_(offset_ns) {}

  /// When so much work is over that begins at this time; begins do not fall.
  std::uint64_t finish(std::uint64_t begin_ns, std::uint64_t work_ns) {
    std::uint64_t now = begin_ns + offset_ns_;
    while (end(next_) <= now) ++next_;
    for (std::size_t i = next_;; ++i) {
      const std::uint64_t undisturbed = start(i) > now ? start(i) - now : 0;
      if (undisturbed >= work_ns) return now + work_ns - offset_ns_;
      work_ns -= undisturbed;
      now = end(i);
    }
  }

 private:
  [[nodiscard]] std::uint64_t base(std::size_t i) const { return i / detours_.all.size() * detours_.length_ns; }
  [[nodiscard]] std::uint64_t start(std::size_t i) const {
    return base(i) + detours_.all[i % detours_.all.size()].start_ns;
  }
  [[nodiscard]] std::uint64_t end(std::size_t i) const {
    return base(i) + detours_.all[i % detours_.all.size()].end_ns;
  }

  const Detours& detours_;
  std::uint64_t offset_ns_;
  std::size_t next_ = 0;
};

/// The noise of a part of the time, as if there was no other.
inline Detours part_of(const Detours& whole, std::size_t part, std::size_t parts) {
  const std::uint64_t length_ns = whole.length_ns / parts;
  const std::uint64_t first_ns = part * length_ns;
  Detours some{{}, length_ns};
  for (const Detour& detour : whole.all) {
    if (detour.end_ns <= first_ns || detour.start_ns >= first_ns + length_ns) continue;
    Detour& copy = some.all.emplace_back(detour);
    copy.start_ns = std::max(detour.start_ns, first_ns) - first_ns;
    copy.end_ns = std::min(detour.end_ns, first_ns + length_ns) - first_ns;
  }
  return some;
}

/// How much longer than the grain a phase takes, as a share of it, in a job of so many nodes with a rank on each of
/// these CPUs; each rank begins at a time of its recording that is drawn.
inline double play_job(const std::vector<Detours>& cpus, std::uint64_t nodes, std::uint64_t grain_ns,
                       std::mt19937_64& random) {
  std::vector<Rank> ranks;
  std::uint64_t length_ns = 0;
  for (std::uint64_t i = 0; i < nodes * cpus.size(); ++i) {
    const Detours& detours = cpus[i % cpus.size()];
    length_ns = std::max(length_ns, detours.length_ns);
    if (detours.all.empty()) continue;
    ranks.emplace_back(detours, std::uniform_int_distribution<std::uint64_t>(0, detours.length_ns)(random));
  }
  std::uint64_t now = 0;
  std::uint64_t phases = 0;
  for (; now < length_ns; ++phases) {
    std::uint64_t last = now + grain_ns;
    for (Rank& rank : ranks) last = std::max(last, rank.finish(now, grain_ns));
    now = last;
  }
  return static_cast<double>(now) / (static_cast<double>(phases) * static_cast<double>(grain_ns)) - 1;
}

/// The same, with its 95% interval by how much it differs between parts of the time.
inline Estimate replay_job(const std::vector<Detours>& cpus, std::uint64_t nodes, std::uint64_t grain_ns) {
  constexpr int kTimes = 4;
  constexpr std::size_t kParts = ExcessBlocks::kBlocks;
  std::mt19937_64 random{nodes};
  double value = 0;
  for (int time = 0; time < kTimes; ++time) value += play_job(cpus, nodes, grain_ns, random) / kTimes;
  std::vector<double> of_parts;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::vector<Detours> parts;
    for (const Detours& cpu : cpus) parts.push_back(part_of(cpu, part, kParts));
    of_parts.push_back(play_job(parts, nodes, grain_ns, random));
  }
  const double sum = std::accumulate(of_parts.begin(), of_parts.end(), 0.0);
  std::vector<double> without;
  for (const double of_part : of_parts) without.push_back((sum - of_part) / (kParts - 1));
  const Ends ends = confidence_ends(uncertainty(value, without));
  return {value, value * ends.low, value * ends.high, {}};
}

}  // namespace noised::bench
