// SPDX-License-Identifier: Apache-2.0
// What loops measured as streams of the Common Trace Format.
#pragma once

#include "base/result.h"

#include <cstdint>

#include "export/export.h"
#include "export/new_file.h"

namespace noised::exports {

/// A stream for each CPU, of beginnings and ends in order of time. Returns how many got a later time.
Result<std::uint64_t> write_ctf_loops(recording::Player& player, NewDirectory& directory, const Progress& progress);

}  // namespace noised::exports
