// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/page_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace noised::client {
namespace {

Error file_failure(const char* call, const std::string& path) {
  const int code = errno;
  return failure(fmt::format("{} {}: {}", call, path, std::strerror(code)),
                 code == ENOENT ? "its directory does not exist" : "the page was not written");
}

Status write_all(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_failure("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return success();
}

// As open(2) would have made it: mkostemp lets nobody else read.
mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Result<PageFile> PageFile::create(const std::string& path) {
  std::error_code unknown;
  const auto type = std::filesystem::status(path, unknown).type();
  using Type = std::filesystem::file_type;
  if (type == Type::directory) return usage_error("--html " + path + " is a directory", "give the name of a file");
  if (type != Type::regular && type != Type::not_found && type != Type::none) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return file_failure("open", path);
    return PageFile(std::move(file), path, "");
  }
  // A symbolic link stays one: what it names is replaced.
  const auto real = std::filesystem::weakly_canonical(path, unknown);
  const std::string target = unknown ? path : real.string();
  std::string temporary = target + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return file_failure("create", path);
  return PageFile(std::move(file), target, temporary);
}

PageFile::~PageFile() {
  if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
}

Status PageFile::fill(std::string_view text) {
  if (Status written = write_all(file_.get(), path_, text); !written || temporary_.empty()) return written;
  if (::fchmod(file_.get(), usual_mode()) != 0) return file_failure("fchmod", path_);
  if (::fsync(file_.get()) != 0) return file_failure("fsync", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return file_failure("rename to", path_);
  temporary_.clear();
  return success();
}

}  // namespace noised::client
