// SPDX-License-Identifier: Apache-2.0
// The victim's detours out of what `noisectl detours --json` prints.
#pragma once

#include <istream>
#include <vector>

#include "base/result.h"
#include "model/views.h"

#include "victim/account.h"

namespace noised::victim {

/// The detours of the victim's task; where a line names no task, those of its CPU. The error names the line.
Result<std::vector<DetourView>> read_detours(std::istream& lines, const Account& account);

}  // namespace noised::victim
