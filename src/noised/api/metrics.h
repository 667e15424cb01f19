// SPDX-License-Identifier: Apache-2.0
// What Prometheus scrapes: a snapshot in its text format, with the names of the contract (design.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "account/report_builder.h"
#include "account/snapshot.h"
#include "model/sources.h"

namespace noised::daemon {

/// Not synchronised: the HTTP thread's.
class Metrics {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  /// Of the sources of all CPUs together, the first `series_cap` have series of their own (of time and of number); all
  /// further ones of a CPU, category and kind are added up in source="other".
  explicit Metrics(std::size_t series_cap) : series_cap_(series_cap) {}

  /// The snapshots of one run, in order: a source keeps the series that it has, so that no counter goes back.
  std::string text(const account::Snapshot& snapshot, const SourceTable& sources, const account::RunDescription& run);

 private:
  struct Decision {
    SourceId source = 0;
    bool made = false;
    bool own_series = false;
  };
  [[nodiscard]] bool admit(std::size_t cpu_index, SourceId source);
  void forget_departed(std::size_t cpu_index, const CpuStatistics& statistics);

  std::size_t series_cap_;
  std::size_t admitted_count_ = 0;
  std::size_t over_cap_ = 0;
  std::vector<std::vector<Decision>> decisions_;  // by index of the CPU and slot of the source
  friend struct SourceFamilies;
};

}  // namespace noised::daemon
