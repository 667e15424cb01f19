// SPDX-License-Identifier: Apache-2.0
// Not O_TMPFILE: not every file system has it.
#include "base/nameless_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/open_files.h"
#include "base/quote.h"

namespace noised {

Result<Descriptor> nameless_file(const std::string& path) {
  std::string name = path + ".XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  const int error = errno;
  if (!file) return failure(fmt::format("cannot create {}: {}", name, errno_text(error)), open_remedy(error));
  (void)::unlink(name.c_str());
  return file;
}

}  // namespace noised
