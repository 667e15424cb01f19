// SPDX-License-Identifier: Apache-2.0
// Reads until end of file: sysfs files have no useful size.
#include "base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/descriptor.h"
#include "base/quote.h"

namespace noised {

namespace {
// Far above any file of ours; keeps a mistaken path (/dev/zero) from eating the memory.
constexpr std::size_t kLargest = 1 << 20;
}  // namespace

Result<std::string> read_file(const std::string& path) {
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
    if (content.size() > kLargest) return failure("cannot read " + path + ": larger than 1 MiB");
  }
}

}  // namespace noised
