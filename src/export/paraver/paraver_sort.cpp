// SPDX-License-Identifier: Apache-2.0
#include "export/paraver/paraver_sort.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace noised::exports {
namespace {

constexpr std::size_t kBuffered = 512;  // 20 KiB a CPU, of which there may be thousands

}  // namespace

ParaverSpill::ParaverSpill(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
  buffer_.reserve(kBuffered);
}

Result<ParaverSpill> ParaverSpill::create(const std::string& out) {
  auto file = nameless_file(out);  // a disk with room for the export has room for it
  if (!file) return file.error();
  return ParaverSpill(std::move(file).value(), "a temporary file beside " + out);
}

void ParaverSpill::flush() {
  const std::string_view bytes(reinterpret_cast<const char*>(buffer_.data()), buffer_.size() * sizeof(ParaverRecord));
  if (error_ == 0) error_ = write_all(file_.get(), bytes);
  buffer_.clear();
}

bool ParaverSpill::add(const ParaverRecord& record) {
  buffer_.push_back(record);
  ++size_;
  if (buffer_.size() == kBuffered) flush();
  return error_ == 0;
}

Status ParaverSpill::rewind() {
  flush();
  if (error_ == 0 && ::lseek(file_.get(), 0, SEEK_SET) != 0) error_ = errno;
  if (error_ == 0) return success();
  return failure(fmt::format("cannot write {}: {}", name_, errno_text(error_)),
                 "an export needs about as much room again until it is finished");
}

Result<std::optional<ParaverRecord>> ParaverSpill::next() {
  if (at_ == buffer_.size()) {
    buffer_.resize(kBuffered);
    at_ = 0;
    char* const to = reinterpret_cast<char*>(buffer_.data());
    std::size_t got = 0;
    while (got < kBuffered * sizeof(ParaverRecord)) {
      const ssize_t more = ::read(file_.get(), to + got, kBuffered * sizeof(ParaverRecord) - got);
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) return failure(fmt::format("cannot read {}: {}", name_, errno_text(errno)));
      if (more == 0) break;
      got += static_cast<std::size_t>(more);
    }
    buffer_.resize(got / sizeof(ParaverRecord));
  }
  if (buffer_.empty()) return std::optional<ParaverRecord>();
  return std::optional(buffer_[at_++]);
}

Status ParaverSort::put_away() {
  std::ranges::stable_sort(buffer_, {}, &ParaverRecord::time_ns);
  auto run = ParaverSpill::create(out_);
  if (!run) return run.error();
  for (const ParaverRecord& record : buffer_) {
    if (!run.value().add(record)) break;
  }
  buffer_.clear();
  runs_.push_back(std::move(run).value());
  return runs_.back().rewind();
}

bool ParaverSort::add(const ParaverRecord& record) {
  if (!status_) return false;
  ++size_;
  first_ns_ = std::min(first_ns_, record.time_ns);
  last_ns_ = std::max({last_ns_, record.time_ns, record.end_ns});
  buffer_.push_back(record);
  if (buffer_.size() >= in_memory_) status_ = put_away();
  return status_.ok();
}

Status ParaverSort::advance(std::size_t run) {
  auto next = runs_[run].next();
  if (!next) return next.error();
  if (next.value()) heads_.push({*next.value(), run});
  return success();
}

Status ParaverSort::sort() {
  if (status_ && !buffer_.empty()) status_ = put_away();
  for (std::size_t run = 0; run < runs_.size() && status_; ++run) status_ = advance(run);
  return status_;
}

Result<std::optional<ParaverRecord>> ParaverSort::next() {
  if (heads_.empty()) return std::optional<ParaverRecord>();
  const Head head = heads_.top();
  heads_.pop();
  if (head.run == kAgain) return std::optional(head.record);
  if (Status status = advance(head.run); !status) return status.error();
  return std::optional(head.record);
}

}  // namespace noised::exports
