// SPDX-License-Identifier: Apache-2.0
// What a bar tells of a ledger: its name, and its parts beside it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "attribution/ledger.h"
#include "export/perfetto_file.h"
#include "trace/sources.h"

namespace noised {

/// The name of the largest part: a source, "overhead", "hypervisor", "hardware" or "unexplained".
std::string largest_part(const Ledger& ledger, const SourceTable& sources);

/// Notes what else is known of an entry.
using NoteEntry = std::function<void(PerfettoFile::Notes& notes, std::size_t entry)>;
/// Notes all parts, and whether something was lost.
void note_ledger(const Ledger& ledger, const SourceTable& sources, const NoteEntry& more, PerfettoFile::Notes& notes);

}  // namespace noised
