// SPDX-License-Identifier: Apache-2.0
// /v1/watch: from a request to a session.
#pragma once

#include <string>
#include <vector>

#include "service/http_server.h"
#include "service/watch_stream.h"

namespace noised {

/// Opens a stream for the tasks that the query chooses (pids, comm or cgroup; none: all), with a report every
/// interval_ns, for duration_ns or until they have ended; with losses=each, also lines of their single losses. Refuses
/// what makes no sense.
StreamReply open_watch(const WatchPlace& place, const HttpRequest& request);

}  // namespace noised
