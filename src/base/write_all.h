// SPDX-License-Identifier: Apache-2.0
// All bytes to a file, however many calls that takes.
#pragma once

#include <string_view>

namespace noised {

/// Writes everything; 0, or the errno of what failed.
int write_all(int file, std::string_view bytes);

}  // namespace noised
