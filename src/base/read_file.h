// SPDX-License-Identifier: Apache-2.0
// Small files (sysfs, configuration) read whole.
#pragma once

#include <string>

#include <noised/result.h>

namespace noised {

/// The whole content of a file of at most 1 MiB; fails naming the path and the errno.
Result<std::string> read_file(const std::string& path);

}  // namespace noised
