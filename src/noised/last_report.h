// SPDX-License-Identifier: Apache-2.0
// What a service leaves when it is stopped, or upgraded: its last report, for noisectl report --last.
#pragma once

#include "base/files.h"
#include "base/result.h"
#include "model/report.h"
#include "noised/config.h"

namespace noised::daemon {

/// The file of the last report, open, in the directory that systemd gives the service (StateDirectory=); none without
/// such a directory: a measurement by hand leaves nothing behind. What the service before this one left stays in it
/// until write_last_report(). It has the names of all tasks: for root, and for the group that may ask the daemon where
/// its members may read all names.
Result<Descriptor> open_last_report(SocketNames names);
/// Writes the report in its place. To be called once.
Status write_last_report(const Descriptor& file, const Report& report);

}  // namespace noised::daemon
