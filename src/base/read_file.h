// SPDX-License-Identifier: Apache-2.0
// Small files (sysfs, configuration) read whole.
#pragma once

#include <cstddef>
#include <string>

#include <noised/result.h>

namespace noised {

/// The whole content of a file of at most `largest` bytes; fails naming the path and the errno. 1 MiB is far above most
/// files of ours, and keeps a mistaken path (/dev/zero) from eating the memory.
Result<std::string> read_file(const std::string& path, std::size_t largest = std::size_t{1} << 20U);

}  // namespace noised
