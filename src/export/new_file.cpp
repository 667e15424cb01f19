// SPDX-License-Identifier: Apache-2.0
// Buffered: the lines of an export are short.
#include "export/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace noised::exports {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10U;

}  // namespace

bool is_special(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

Status can_create(const std::string& path) {
  const std::filesystem::path name = path.substr(0, path.find_last_not_of('/') + 1);  // mkdir takes "out/" too
  struct stat status{};
  if (::lstat(name.c_str(), &status) == 0) return usage_error(path + " exists", "give another name, or remove it");
  const std::filesystem::path directory = name.has_parent_path() ? name.parent_path() : ".";
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return success();
  return failure(fmt::format("cannot create {}: {}", path, errno_text(errno)));
}

Status NewFile::can_create(const std::string& path) {
  return is_special(path) ? success() : noised::exports::can_create(path);
}

Result<NewFile> NewFile::create(const std::string& path) {
  const bool special = is_special(path);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_EXCL), 0666));
  if (file) return NewFile(std::move(file), path, !special);
  if (errno == EEXIST) return usage_error(path + " exists", "give another name, or remove it");
  const int error = errno;
  return failure(fmt::format("cannot create {}: {}", path, errno_text(error)), open_remedy(error));
}

NewFile::NewFile(Descriptor file, std::string path, bool created)
    : file_(std::move(file)), path_(std::move(path)), remove_(created) {}

NewFile::NewFile(NewFile&& other) noexcept
    : file_(std::move(other.file_)),
      path_(std::move(other.path_)),
      remove_(std::exchange(other.remove_, false)),
      buffer_(std::move(other.buffer_)),
      status_(std::move(other.status_)) {}

NewFile::~NewFile() {
  if (remove_) (void)::unlink(path_.c_str());
}

void NewFile::write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) flush();
}

void NewFile::flush() {
  const int error = status_ ? write_all(file_.get(), buffer_) : 0;
  if (error != 0) {
    status_ = failure(fmt::format("cannot write {}: {}", path_, errno_text(error)), "what was written is removed");
  }
  buffer_.clear();
}

Status NewFile::finish() {
  flush();
  // Some file systems tell only now that the disk is full.
  if (status_ && ::close(file_.release()) != 0) {
    status_ = failure(fmt::format("cannot write {}: {}", path_, errno_text(errno)), "what was written is removed");
  }
  return status_;
}

Result<std::unique_ptr<NewDirectory>> NewDirectory::create(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return std::unique_ptr<NewDirectory>(new NewDirectory(path));
  if (errno == EEXIST) return usage_error(path + " exists", "give another name, or remove it");
  return failure(fmt::format("cannot create {}: {}", path, errno_text(errno)));
}

NewDirectory::~NewDirectory() {
  if (kept_) return;
  for (const std::string& file : files_) (void)::unlink(file.c_str());
  (void)::rmdir(path_.c_str());
}

Result<NewFile> NewDirectory::file(const std::string& name) {
  auto file = NewFile::create(files_.emplace_back(path_ + "/" + name));
  if (file) file.value().keep();
  return file;
}

}  // namespace noised::exports
