// SPDX-License-Identifier: Apache-2.0
// Files are read, not mapped: one that is cut meanwhile must not end the reader.
#include "marks/mark_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/text.h"

namespace noised::marks {
namespace {

constexpr std::string_view kEnding = ".marks";

Descriptor open_directory(const char* path) { return Descriptor(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

RingReader::ReadAt reads(int file) {
  return [file](std::uint64_t offset, void* to, std::size_t size) {
    return ::pread(file, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  };
}

bool has_ended(const RingReader& ring) {
  return ::syscall(SYS_tgkill, static_cast<pid_t>(ring.pid()), static_cast<pid_t>(ring.tid()), 0) != 0 &&
         errno == ESRCH;
}

}  // namespace

Result<MarkDirectory> MarkDirectory::create() {
  const char* const configured = std::getenv("TMPDIR");
  for (const std::string& base :
       {std::string("/dev/shm"), std::string(configured == nullptr ? "" : configured), std::string("/tmp")}) {
    std::string path = base + "/noisectl-marks-XXXXXX";
    if (base.empty() || ::mkdtemp(path.data()) == nullptr) continue;
    Descriptor directory = open_directory(path.c_str());
    if (directory) return MarkDirectory(std::move(path), std::move(directory), true);
    ::rmdir(path.c_str());
  }
  return failure(std::string("a directory for marks: ") + errno_text(errno), "make /dev/shm or TMPDIR writable");
}

Result<MarkDirectory> MarkDirectory::open(const std::string& path) {
  Descriptor directory = open_directory(path.c_str());
  if (!directory)
    return failure(in_quotes(path) + ": " + errno_text(errno), "give the directory that NOISED_MARKS names");
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);  // a command may go elsewhere
  return MarkDirectory(error ? path : absolute.string(), std::move(directory), false);
}

MarkDirectory::MarkDirectory(MarkDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      directory_(std::move(other.directory_)),
      own_(std::exchange(other.own_, false)),
      rings_(std::move(other.rings_)),
      done_(std::move(other.done_)),
      refused_(other.refused_) {}

MarkDirectory::~MarkDirectory() {
  if (!own_) return;
  for (const std::string& name : names()) (void)::unlinkat(directory_.get(), name.c_str(), 0);
  (void)::rmdir(path_.c_str());
}

std::vector<std::string> MarkDirectory::names() const {
  std::vector<std::string> names;
  const int again = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again), ::closedir);
  if (!list) {
    ::close(again);
    return names;
  }
  while (const dirent* const entry = ::readdir(list.get())) {
    if (std::string_view(entry->d_name).ends_with(kEnding)) names.emplace_back(entry->d_name);
  }
  return names;
}

void MarkDirectory::open_ring(const std::string& name) {
  Descriptor file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return;
  struct stat is{};
  const bool regular = file && ::fstat(file.get(), &is) == 0 && S_ISREG(is.st_mode);
  if (regular && (is.st_size == 0 || !RingReader::is_ready(reads(file.get())))) return;  // with the next look
  if (regular && rings_.size() < kThreads) {
    Result<RingReader> reader = RingReader::open(reads(file.get()));
    if (reader) {
      rings_.emplace(name, Ring{std::move(file), std::move(reader).value()});
      return;
    }
  }
  refuse(name);
}

void MarkDirectory::refuse(const std::string& name) {
  done_.insert(name);
  ++refused_;
}

void MarkDirectory::look_for_new() {
  for (const std::string& name : names()) {
    if (!rings_.contains(name) && !done_.contains(name)) open_ring(name);
  }
}

void MarkDirectory::read(const OnMarks& on_marks) {
  look_for_new();
  for (auto ring = rings_.begin(); ring != rings_.end();) {
    auto& [name, held] = *ring;
    const bool ended = has_ended(held.reader);  // before it is read, so that nothing comes after
    std::uint64_t lost = 0;
    const bool good = held.reader.read(marks_, lost);
    if (good && (!marks_.empty() || lost != 0)) on_marks(held.reader, marks_, lost);
    if (good && !ended) {
      ++ring;
      continue;
    }
    if (!good) {
      refuse(name);
    } else if (!own_ || ::unlinkat(directory_.get(), name.c_str(), 0) != 0) {
      done_.insert(name);
    }
    ring = rings_.erase(ring);
  }
}

}  // namespace noised::marks
