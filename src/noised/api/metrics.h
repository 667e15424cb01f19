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

/// What sources of a snapshot stand for.
struct MetricSources {
  const SourceTable& all;
  const SourceTable* of_tasks = nullptr;  ///< of CpuSnapshot::public_sums, which are told instead of tasks' own names
};

/// Not synchronised: the HTTP thread's.
class Metrics {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  /// Of the sources of all CPUs together, the first `series_cap` have series of their own (of time and of number); all
  /// further ones of a CPU, category and kind are added up in source="other".
  explicit Metrics(std::size_t series_cap) : series_cap_(series_cap) {}

  /// The snapshots of one run, in order: a source keeps the series that it has, so that no counter goes back.
  std::string text(const account::Snapshot& snapshot, const MetricSources& sources, const account::RunDescription& run);

 private:
  struct Sum {
    std::uint64_t ns = 0;
    std::uint64_t times = 0;
  };
  struct Decision {
    SourceId source = 0;
    bool made = false;
    bool own_series = false;
    bool of_noised = false;
    Sum told;
  };
  using Decisions = std::vector<Decision>;  // by slot of the source
  struct Cpu {
    Decisions decisions;
    Decisions of_tasks;  // where they have public names, which do not leave
    Sum departed;        // what series of their own told of names that are "other" now,
    Sum own_departed;    // and of those that are "noised/other"
  };
  static void add(Sum& sum, const Sum& more);
  static void take(Sum& sum, const Sum& less);
  [[nodiscard]] Decision& decide(Decisions& decisions, SourceId source, bool of_noised);
  void forget_departed(Cpu& cpu, const CpuStatistics& statistics);

  std::size_t series_cap_;
  std::size_t admitted_count_ = 0;
  std::size_t over_cap_ = 0;
  std::vector<Cpu> cpus_;  // by index
  friend struct SourceFamilies;
};

}  // namespace noised::daemon
