// SPDX-License-Identifier: Apache-2.0
// The chains that came with one source, out of the detours of a stream: counted, summed, most time first. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/views.h"

#include "noisectl/top/delta.h"

namespace noised::client {

/// A chain, of every interval of the source that had it.
struct TopChain {
  std::string text;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;  ///< self time
  std::uint64_t max_ns = 0;    ///< of one interval; 0: not known
};

/// Another source in the detours of the source.
struct TopPartner {
  std::string label;
  std::uint64_t detours = 0;
  std::uint64_t total_ns = 0;  ///< its self time in them
};

/// What a stream told of a source so far.
struct TopChainsView {
  TopKey source;
  std::vector<TopChain> chains;      ///< by total time, falling; what had no place is the last one
  std::vector<TopPartner> partners;  ///< by detours, falling; what had no place is the last one
  std::uint64_t detours = 0;         ///< of the source's CPU
  std::uint64_t detours_with = 0;    ///< of these, with the source
  std::uint64_t missed = 0;          ///< not received, of any CPU
  std::uint64_t span_ns = 0;         ///< from the start of the first to the end of the last detour
  std::string problem;               ///< why the stream does not go on; empty if it does
};

class TopChains {
 public:
  /// That many distinct chains, and other sources, are held; those that come later are summed as one.
  static constexpr std::size_t kMost = 1000;

  explicit TopChains(TopKey source) : source_(std::move(source)) {}

  void add(const DetourView& detour);
  void add_missed(std::uint64_t detours) { missed_ += detours; }
  [[nodiscard]] TopChainsView view() const;

 private:
  struct Kept {
    DetourEntryView chain;  // with the details that every interval of it had
    TopChain sums;
  };
  void add_interval(const DetourEntryView& entry);
  void add_partners(const DetourView& detour);

  TopKey source_;
  std::unordered_map<std::string, Kept> chains_;  // by their text without the particulars of one interval
  TopChain other_;
  TopChain summed_;  // intervals of detours with so many that the daemon summed them
  std::unordered_map<std::string, TopPartner> partners_;
  TopPartner other_partner_;
  std::uint64_t detours_ = 0;
  std::uint64_t detours_with_ = 0;
  std::uint64_t missed_ = 0;
  std::uint64_t first_ns_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last_ns_ = 0;
};

}  // namespace noised::client
