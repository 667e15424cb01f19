// SPDX-License-Identifier: Apache-2.0
// What a monitoring system asks for: /, /metrics, /-/healthy and /-/ready.
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

/// The state of these routes, shared by all listeners; HTTP thread only.
class Web {
 public:
  /// Answers are as old as this at most: slow readers share one, so that they cannot make the daemon grow, and fast
  /// ones cannot drive the pipeline.
  static constexpr std::uint64_t kFreshNs = 1'000'000'000;

  /// All of it outlives this.
  Web(account::SnapshotExchange& snapshots, const MetricSources& sources, const account::RunDescription& run,
      std::size_t series_cap, std::uint64_t fresh_ns = kFreshNs)
      : snapshots_(snapshots), sources_(sources), run_(run), metrics_(series_cap), fresh_ns_(fresh_ns) {}

  std::vector<HttpRoute> routes();

 private:
  HttpResponse metrics();
  HttpResponse healthy();
  HttpResponse ready();
  void look(std::uint64_t now_ns);

  account::SnapshotExchange& snapshots_;
  MetricSources sources_;
  const account::RunDescription& run_;
  Metrics metrics_;
  std::uint64_t fresh_ns_;
  std::shared_ptr<const std::string> body_;  // null: the pipeline did not answer
  bool complete_ = false;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace noised::daemon
