// SPDX-License-Identifier: Apache-2.0
// One mode of a self-test: noise on a CPU, and all that the daemon shows of that CPU meanwhile.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/views.h"

#include "noisectl/client/http_client.h"
#include "selftest/compare.h"
#include "selftest/generator.h"

namespace noised::client {

/// What one generator did, and what was shown of it.
struct Observation {
  selftest::Truth truth;
  std::vector<DetourView> detours;  ///< of the CPU, from before the noise to after it
  selftest::Losses losses;
  std::string not_made;  ///< why the generator failed; there is no truth then
};

/// Runs a generator while following the daemon's detours, until all of the noise was shown. Ends with an error when
/// `stop_fd` becomes readable (negative: never). The caller must have one thread only.
Result<Observation> observe(HttpClient& client, const selftest::Mode& mode, const selftest::GeneratorOptions& options,
                            int stop_fd);

/// Replaces the truth's sources by what this daemon can see in their place, or makes the truth unsupported.
void adapt_to(const StatusView& status, selftest::Truth& truth);

}  // namespace noised::client
