// SPDX-License-Identifier: Apache-2.0
// How many files may be open at once: some work needs one for each CPU.
#pragma once

#include <string>

namespace noised {

/// As many as the limit that only an administrator can raise. The usual limit is lower for the sake of programs that
/// use select(2), which this one does not.
void allow_open_files();

/// What to do where open(2) or its like failed with this errno; empty where the errno says all.
std::string open_remedy(int error);

}  // namespace noised
