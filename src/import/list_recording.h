// SPDX-License-Identifier: Apache-2.0
// A recording of detours that another tool saw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/detour_list.h"
#include "recording/block.h"

namespace noised::imports {

/// When which CPUs were observed, on the clock of the detours; nothing: from the first detour's start, or to the last
/// one's end, of all CPUs, and those with a detour.
struct Observed {
  std::optional<std::uint64_t> from_ns;
  std::optional<std::uint64_t> until_ns;
  std::optional<std::vector<unsigned>> cpus;
};

/// Writes all of it, as if a loop had seen each detour, and the kernel nothing but one activity that took all of it; a
/// usage error, before anything is written, where a detour is outside of the time or on another CPU. `name`: where the
/// list is from.
Status write_recording(const DetourList& list, const Observed& observed, const std::string& name,
                       recording::BlockWriter& file);

}  // namespace noised::imports
