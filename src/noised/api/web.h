// SPDX-License-Identifier: Apache-2.0
// What a monitoring system asks for: /, /metrics and /-/healthy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "account/report_builder.h"
#include "account/snapshot.h"
#include "noised/api/metrics.h"
#include "noised/http/http_server.h"

namespace noised::daemon {

/// Whether data was lost lately. Judged by its askers: what was lost between two questions shows in the answer to the
/// second.
class Health {
 public:
  /// A loss is told of for so long.
  static constexpr std::uint64_t kMemoryNs = 60'000'000'000;

  /// True if nothing was lost since the question before, nor in the time that is remembered.
  bool judge(const ReportLost& lost, std::uint64_t now_ns);

 private:
  std::uint64_t lost_ = 0;  // in all, at the last question
  std::uint64_t lost_ns_ = 0;
};

/// The state of these routes, shared by all listeners; HTTP thread only.
class Web {
 public:
  /// Answers are as old as this at most: slow readers share one, so that they cannot make the daemon grow, and fast
  /// ones cannot drive the pipeline.
  static constexpr std::uint64_t kFreshNs = 1'000'000'000;

  /// All of it outlives this.
  Web(account::SnapshotExchange& snapshots, const SourceTable& sources, const account::RunDescription& run,
      std::size_t series_cap, std::uint64_t fresh_ns = kFreshNs)
      : snapshots_(snapshots), sources_(sources), run_(run), metrics_(series_cap), fresh_ns_(fresh_ns) {}

  std::vector<HttpRoute> routes();

 private:
  HttpResponse metrics(std::uint64_t now_ns);
  HttpResponse healthy(std::uint64_t now_ns);
  HttpResponse judge(std::uint64_t now_ns);

  account::SnapshotExchange& snapshots_;
  const SourceTable& sources_;
  const account::RunDescription& run_;
  Metrics metrics_;
  Health health_;
  std::uint64_t fresh_ns_;
  std::shared_ptr<const std::string> body_;
  std::uint64_t made_ns_ = 0;
  HttpResponse verdict_;
  std::uint64_t judged_ns_ = 0;
};

}  // namespace noised::daemon
