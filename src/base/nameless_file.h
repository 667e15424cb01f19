// SPDX-License-Identifier: Apache-2.0
// Room on a disk for what is larger than memory: nothing of it is left behind, however the program ends.
#pragma once

#include <noised/result.h>

#include <string>

#include "base/descriptor.h"

namespace noised {

/// A file without a name, in the directory of `path`, to write and read. An error names a path like it, and errno.
Result<Descriptor> nameless_file(const std::string& path);

}  // namespace noised
