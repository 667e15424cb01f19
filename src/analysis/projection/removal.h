// SPDX-License-Identifier: Apache-2.0
// Which sources are worth asking what removing them would give back. Pure: no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attribution/ledger.h"
#include "trace/sources.h"

namespace noised {

/// A source, of all CPUs together.
struct RemovableSource {
  SourceId id = 0;
  Kind kind = Kind::none;
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;    ///< self time, as the next
  std::uint64_t longest_ns = 0;  ///< in one detour's ledger
};

/// Self times of all sources. Memory grows with sources only.
class SourceTotals {
 public:
  void add(const Ledger& ledger, const SourceTable& sources);

  /// So many at most: first those with the most time, which cost small jobs, then those with the longest single time,
  /// which cost large ones. Sources that were only counted (faults that the kernel refuses to time) and overhead, which
  /// goes with its source, are none of them.
  [[nodiscard]] std::vector<RemovableSource> choose(std::size_t most, const SourceTable& sources) const;
  /// All with a time.
  [[nodiscard]] std::vector<RemovableSource> timed(const SourceTable& sources) const;
  /// Those that were only counted.
  [[nodiscard]] std::vector<RemovableSource> untimed(const SourceTable& sources) const;

 private:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t longest_ns = 0;
  };
  void add(SourceId source, std::uint64_t self_ns);
  [[nodiscard]] std::vector<RemovableSource> list(bool timed, const SourceTable& sources) const;

  std::vector<Total> totals_;  // by source
};

}  // namespace noised
