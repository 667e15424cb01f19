// SPDX-License-Identifier: Apache-2.0
// How long the self times above the 99th percentile are in all. A histogram knows how many they are, but not that: the
// recording is played once more.
#pragma once

#include <cstdint>
#include <vector>

#include "page/merged.h"
#include "recording/player.h"

namespace noised::page {

class Tails : public PlayerVisitor {
 public:
  /// `sources` with their p99_ns; `playback` is the one that will be played with this.
  Tails(const std::vector<MergedSource>& sources, const Playback& playback);

  void detour(std::size_t cpu, const Ledger& ledger, std::string_view details) override;
  /// Sets tail_ns of each; false if the counts are not those of the first time: another recording was played.
  bool set(std::vector<MergedSource>& sources) const;

 private:
  struct Tail {
    bool known = false;
    std::size_t source = 0;  // its place
    std::uint64_t above_ns = 0;
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
  };
  Tail& tail_of(SourceId id);
  void add(SourceId id, std::uint64_t ns);

  const Playback& playback_;
  std::map<std::pair<std::string, std::string>, Tail> named_;
  std::vector<Tail> tails_;  // by SourceId
};

}  // namespace noised::page
