// SPDX-License-Identifier: Apache-2.0
// The live view on a terminal.
#pragma once

#include <noised/result.h>

#include "noisectl/options.h"
#include "noisectl/stop_signals.h"
#include "noisectl/top_feed.h"

namespace noised::client {

/// A usage error if standard input and output are no terminal.
Status need_terminal();

/// Shows what the feed has until the user, a signal or --duration ends it. `stop` was there before the feed's threads,
/// which leave the signals to it.
Status show_top(const Options& options, const StopSignals& stop, TopFeed& feed);

/// Shows the live view of a daemon; needs a terminal.
Status run_top(const Options& options);

}  // namespace noised::client
