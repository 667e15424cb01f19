// SPDX-License-Identifier: Apache-2.0
// Namespaces: the kernel's programs tell pids and times as the initial ones have them.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace noised::system {

/// Fails where pids or CLOCK_MONOTONIC of this process are not those that the kernel's programs tell.
Status check_namespaces(const std::string& proc = "/proc");

/// The same for a process that asked this one, which has passed. `by_pid`: pids come from there.
Status check_client(pid_t client, bool by_pid, const std::string& proc = "/proc");

/// True if /proc hides from this process those of other users.
bool proc_hides_tasks(const std::string& proc = "/proc");

}  // namespace noised::system
