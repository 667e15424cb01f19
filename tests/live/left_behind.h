// SPDX-License-Identifier: Apache-2.0
// What a daemon that has ended must not leave behind.
#pragma once

#include <string>
#include <vector>

namespace noised::live {

/// Names in a directory, sorted.
std::vector<std::string> names_in(const std::string& directory);

/// noised's BPF programs that are loaded while no process holds them: pinned, or leaked. Allows the kernel 2 s to free
/// what was just closed. Needs the rights to list programs; without them there is nothing to see, or to leave.
std::vector<std::string> programs_left_behind();

}  // namespace noised::live
