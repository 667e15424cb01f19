// SPDX-License-Identifier: Apache-2.0
// Which sources came together in one detour, in order, and what each such combination cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/types.h"

#include "model/moments.h"
#include "model/sources.h"

namespace noised {

/// Stands for sources that have no id of their own here: the tail of a long combination, or all of one beyond the cap.
inline constexpr SourceId kOtherSource = UINT32_MAX;

/// The sources of a detour in a fixed space, so that looking one up never allocates. Of a longer list the first
/// eleven are kept, followed by kOtherSource.
class CombinationKey {
 public:
  static constexpr std::size_t kCapacity = 12;

  CombinationKey() = default;
  explicit CombinationKey(std::span<const SourceId> sources);

  /// The source ids in order.
  [[nodiscard]] std::span<const SourceId> sources() const { return {sources_.data(), size_}; }

  /// A number that is equal for equal keys and well spread over 64 bits otherwise.
  [[nodiscard]] std::uint64_t hash() const;

  bool operator==(const CombinationKey&) const = default;

 private:
  std::uint32_t size_ = 0;
  std::array<SourceId, kCapacity> sources_{};  // zero from size_ on, as equality compares all of it
};

/// One combination: how many detours had exactly these sources, and how long those were.
struct Combination {
  CombinationKey key;
  Moments moments;
};

/// A table of combinations that keeps at most a given number of them; the detours of all further ones are added up in
/// one combination {kOtherSource}. Allocates only when a combination is new.
class CombinationTable {
 public:
  static constexpr std::uint32_t kDefaultLimit = 1024;

  explicit CombinationTable(std::uint32_t limit = kDefaultLimit);

  /// Counts one detour with these sources.
  void add(std::span<const SourceId> sources, std::uint64_t detour_ns);

  /// Adds the combinations of another table; the limit stays this table's.
  void merge(const CombinationTable& other);

  /// Each of these sources becomes another one, and combinations that are equal then become one.
  void let_go(const Departures& departures);

  /// The combinations kept, in the order in which they were first seen.
  [[nodiscard]] std::span<const Combination> kept() const { return entries_; }

  /// The detours whose combination came after the table was full; count is 0 while it is not.
  [[nodiscard]] const Combination& other() const { return other_; }

 private:
  Combination& find_or_make(const CombinationKey& key);

  std::uint32_t limit_;
  std::vector<std::uint32_t> slots_;  // open addressing: index into entries_ plus one; 0 is free
  std::vector<Combination> entries_;
  Combination other_;
};

}  // namespace noised
