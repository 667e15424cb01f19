// SPDX-License-Identifier: Apache-2.0
// The details of an entry of a detour as people say them.
#pragma once

#include <string>

#include <noised/views.h>

namespace noised::views {

/// "pid 42, woken by systemd[1] on CPU 0, of /system.slice/cron.service"; empty without details. Details that are no
/// part of a chain follow as "name value".
std::string chain_text(const DetourEntryView& entry);

}  // namespace noised::views
