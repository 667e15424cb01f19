// SPDX-License-Identifier: Apache-2.0
// The live view on a terminal.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"

#include "noisectl/client/options.h"
#include "noisectl/client/output.h"
#include "noisectl/top/feed.h"

namespace noised::client {

struct TopOptions : SharedOptions {
  std::optional<std::uint64_t> duration_ns;   ///< end after this time
  std::uint64_t interval_ns = 1'000'000'000;  ///< between two updates
  double speed = 1;                           ///< of a recording: times as fast as it happened
};

/// A usage error if standard input and output are no terminal.
Status need_terminal();

/// Shows what the feed has until the user, a signal or --duration ends it. `stop` was there before the feed's threads,
/// which leave the signals to it.
Status show_top(const TopOptions& options, const StopSignals& stop, TopFeed& feed);

/// Shows the live view of a daemon; needs a terminal.
Status run_top(const TopOptions& options);

}  // namespace noised::client
