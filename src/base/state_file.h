// SPDX-License-Identifier: Apache-2.0
// Where the service keeps what outlives it.
#pragma once

#include <string>

namespace noised {

/// Whether systemd has given this process the directory (StateDirectory=noised, told by $STATE_DIRECTORY). A variable
/// that a program inherited from another service is not taken for it.
bool has_state_directory();

/// The file of the service's last report, in that directory, or in /var/lib/noised.
std::string last_report_path();

}  // namespace noised
