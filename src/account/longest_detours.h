// SPDX-License-Identifier: Apache-2.0
// The longest detours of each CPU since the start, as they were shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "account/detour_feed.h"

namespace noised::account {

/// The pipeline adds and never waits; one reader copies out.
class LongestDetours {
 public:
  static constexpr std::size_t kKept = 20;  ///< of a CPU, 33 KiB twice; of so many CPUs that it is too much, fewer

  /// `cpus`: how many there are, about.
  explicit LongestDetours(std::size_t cpus = 1);

  /// Pipeline: but for the longest, a comparison.
  void add(const FeedDetour& detour);
  /// Pipeline, once a drain: hands over what is new, unless a reader holds the lock; then with the next.
  void commit();
  /// Pipeline: calls visit(SourceId) for each source that is shown of them.
  template <typename Visit>
  void for_each_source(const Visit& visit) const {
    for (const Cpu& cpu : cpus_) {
      for (const FeedDetour& detour : cpu.longest) {
        if (detour.victim_pid != 0) visit(detour.victim);
        for (std::size_t i = 0; i < detour.size; ++i) visit(detour.entries[i].source);
      }
    }
  }
  /// Reader: of all CPUs, the longest first, at most so many.
  std::vector<FeedDetour> read(std::size_t count);

 private:
  struct Cpu {
    std::vector<FeedDetour> longest;  // falling
    bool is_new = false;              // something of it
  };

  std::size_t kept_;
  bool any_new_ = false;
  std::vector<Cpu> cpus_;  // by number; the pipeline's
  std::mutex mutex_;
  std::vector<std::vector<FeedDetour>> shown_;  // likewise
};

}  // namespace noised::account
