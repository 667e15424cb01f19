// SPDX-License-Identifier: Apache-2.0
// A bulk-synchronous job, played over recorded detours: each rank works for a grain, and the last lets all go on. Where
// the projection takes the begin of a phase as independent of a rank's noise, here it is what the ranks make it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <noised/types.h>

namespace noised::bench {

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

struct Replayed {
  double slowdown = 0;
  double error = 0;  ///< standard error by how ranks' recordings lie to each other, and by nothing else
};

/// So many nodes, with a rank on each of these CPUs, each at a time of its recording that is drawn; a few times.
inline Replayed replay_job(const std::vector<const Detours*>& cpus, std::uint64_t nodes, std::uint64_t grain_ns) {
  constexpr int kTimes = 4;
  std::mt19937_64 random{nodes};
  double sum = 0;
  double squares = 0;
  for (int time = 0; time < kTimes; ++time) {
    std::vector<Rank> ranks;
    std::uint64_t length_ns = 0;
    for (std::uint64_t i = 0; i < nodes * cpus.size(); ++i) {
      const Detours& detours = *cpus[i % cpus.size()];
      ranks.emplace_back(detours, std::uniform_int_distribution<std::uint64_t>(0, detours.length_ns)(random));
      length_ns = std::max(length_ns, detours.length_ns);
    }
    std::uint64_t now = 0;
    std::uint64_t phases = 0;
    for (; now < length_ns; ++phases) {
      std::uint64_t last = now;
      for (Rank& rank : ranks) last = std::max(last, rank.finish(now, grain_ns));
      now = last;
    }
    const double slowdown = static_cast<double>(now) / (static_cast<double>(phases) * static_cast<double>(grain_ns));
    sum += slowdown;
    squares += slowdown * slowdown;
  }
  const double mean = sum / kTimes;
  return {mean, std::sqrt(std::max(0.0, squares / kTimes - mean * mean) / (kTimes - 1))};
}

}  // namespace noised::bench
