// SPDX-License-Identifier: Apache-2.0
// Where a client may run without being noise itself: on CPUs that the daemon does not measure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/views.h"

#include "noisectl/client/http_client.h"

namespace noised::client {

/// The daemon's state, now.
Result<StatusView> ask_status(HttpClient& client);

/// CPUs of the list without the unwanted ones.
std::vector<unsigned> without(std::vector<unsigned> cpus, const std::vector<unsigned>& unwanted);

/// Confines the calling thread, and those it starts from now on, to CPUs of its own that are not among `probed`; where
/// there is none, to others that it is permitted. Returns them; an error when no CPU is left.
Result<std::vector<unsigned>> keep_off(const std::vector<unsigned>& probed);

/// The same for a view that lasts, as far as possible: without an answer from the daemon, or another CPU to run on,
/// nothing changes, for the view matters more.
void keep_off_probed(const std::string& socket);

}  // namespace noised::client
