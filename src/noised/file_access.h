// SPDX-License-Identifier: Apache-2.0
// Closing the file system to a daemon that measures, where the kernel can (Landlock, since Linux 5.13).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace noised::daemon {

/// What is left of the file system: directories and files that are not there are passed over.
struct FileAccess {
  std::vector<std::string> read;                ///< these, and what is below them, may be read
  std::vector<std::string> remove;              ///< in these directories, and below, files may be removed
  std::vector<std::string> remove_directories;  ///< likewise, directories that are empty
};

/// Leaves this thread, and those that it creates from now on, nothing else of the file system but the descriptors that
/// are open; for good. No new privileges can be had from then on. False where this kernel has no Landlock, or it is not
/// turned on.
Result<bool> close_file_system(const FileAccess& access);

}  // namespace noised::daemon
