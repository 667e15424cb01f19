// SPDX-License-Identifier: Apache-2.0
// The daemon's HTTP routes: /v1/status, /v1/report, /v1/recent, /v1/histogram, the streams /v1/detours,
// /v1/recording and /v1/watch; and what root changes, /v1/phases and /v1/reload.
#pragma once

#include "model/views.h"

#include <vector>

#include "account/detour_feed.h"
#include "account/report_builder.h"
#include "account/snapshot.h"
#include "noised/api/shown_names.h"
#include "noised/api/watch_stream.h"
#include "noised/exchanges.h"
#include "noised/http/http_server.h"
#include "recording/recorder.h"

namespace noised::daemon {

/// What the routes read; all of it outlives the server.
struct ApiContext {
  account::SnapshotExchange& snapshots;
  account::DetourFeed& feed;
  const SourceTable& sources;
  const account::RunDescription& run;
  const StatusView& settings;  ///< the fields of a status that do not change
  ReloadExchange& reloads;
  recording::Recorder& recorder;
  PhaseExchange& phases;
  NameRule& names;
  const WatchPlace* watch = nullptr;  ///< null where loops measure, not tasks
};

std::vector<HttpRoute> make_routes(const ApiContext& context);

}  // namespace noised::daemon
