// SPDX-License-Identifier: Apache-2.0
// What loops measured as streams of the Common Trace Format.
#pragma once

#include <noised/result.h>

#include <cstdint>

#include "export/export.h"
#include "export/new_directory.h"

namespace noised {

/// A stream for each CPU, of beginnings and ends in order of time. Returns how many got a later time.
Result<std::uint64_t> write_ctf_loops(Player& player, NewDirectory& directory, const Progress& progress);

}  // namespace noised
