// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"

namespace noised {

Result<Descriptor> nameless_file(const std::string& path) {
  std::string name = path + ".XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  const int error = errno;
  if (!file) return failure(fmt::format("cannot create {}: {}", name, errno_text(error)), open_remedy(error));
  (void)::unlink(name.c_str());
  return file;
}

void allow_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // what is still too much fails where it is opened, with a remedy
}

std::string open_remedy(int error) {
  if (error != EMFILE) return {};
  return "there is a file for each CPU: let an administrator raise the limit of open files (ulimit -Hn)";
}

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

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace noised
