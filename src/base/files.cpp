// SPDX-License-Identifier: Apache-2.0
// Reads until end of file: sysfs files have no useful size.
#include "base/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/descriptor.h"
#include "base/quote.h"

namespace noised {

Result<std::string> read_file(const std::string& path, std::size_t largest) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure("cannot open " + path + ": " + errno_text(errno));
  std::string content;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure("cannot read " + path + ": " + errno_text(errno));
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > largest)
      return failure(fmt::format("cannot read {}: larger than {} MiB", path, largest >> 20U));
  }
}

}  // namespace noised
