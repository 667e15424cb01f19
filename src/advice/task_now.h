// SPDX-License-Identifier: Apache-2.0
// A task as it is now: where it may run, and whether that can be changed.
#pragma once

#include <optional>
#include <string>

#include "advice/machine.h"

namespace noised {

/// The task with this pid, if it lives and still has this name.
std::optional<TaskNow> read_task(unsigned pid, const std::string& name, const std::string& sysroot = "/");

}  // namespace noised
