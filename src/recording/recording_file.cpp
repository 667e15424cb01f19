// SPDX-License-Identifier: Apache-2.0
// Disks stall: the pipeline must not wait for them.
#include "recording/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace noised::recording {
namespace {

// Two drains of the default interval.
constexpr std::chrono::milliseconds kBetweenLooks{50};

}  // namespace

Result<BlockWriter> create_recording(const std::string& path) {
  // A pipe or a device is not created, and has nothing to lose. A recording names the tasks of everybody.
  struct stat status{};
  const bool special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_EXCL), 0600));
  if (file) return BlockWriter::begin(std::move(file), path);
  if (errno == EEXIST) return usage_error(path + " exists", "give another name, or remove it");
  return failure("cannot create " + path + ": " + std::strerror(errno));
}

RecordingFile::RecordingFile(BlockWriter writer, Recorder& recorder)
    : writer_(std::move(writer)), recorder_(recorder), thread_([this] { write(); }) {}

RecordingFile::~RecordingFile() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void RecordingFile::write_all() {
  while (const auto block = recorder_.front()) {
    // After an error the blocks are still taken, so that finish() does not wait for room.
    finished_ = block->kind == BlockKind::end;
    if (status_) status_ = finished_ ? writer_.finish() : writer_.add(block->kind, block->bytes);
    recorder_.pop();
  }
}

void RecordingFile::write() {
  while (!stop_.load(std::memory_order_relaxed)) {
    const bool ended = recorder_.ended();
    write_all();
    if (ended) return;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Status RecordingFile::finish() {
  thread_.join();
  if (status_ && !finished_) return failure("the recording is not complete", "the disk is too slow: record elsewhere");
  return status_;
}

}  // namespace noised::recording
