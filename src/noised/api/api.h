// SPDX-License-Identifier: Apache-2.0
// The daemon's HTTP routes: /v1/status, /v1/report, /v1/histogram, the streams /v1/detours,
// /v1/recording and /v1/watch, and /v1/reload.
#pragma once

#include <noised/views.h>

#include <vector>

#include "pipeline/detour_feed.h"
#include "pipeline/report_builder.h"
#include "pipeline/snapshot.h"
#include "recording/recorder.h"
#include "service/http_server.h"
#include "service/phase_exchange.h"
#include "service/reload_exchange.h"
#include "service/watch_stream.h"

namespace noised {

/// What the routes read; all of it outlives the server.
struct ApiContext {
  SnapshotExchange& snapshots;
  DetourFeed& feed;
  const SourceTable& sources;
  const RunDescription& run;
  const StatusView& settings;  ///< the fields of a status that do not change
  ReloadExchange& reloads;
  Recorder& recorder;
  PhaseExchange& phases;
  const WatchPlace* watch = nullptr;  ///< null where loops measure, not tasks
};

std::vector<HttpRoute> make_routes(const ApiContext& context);

}  // namespace noised
