// SPDX-License-Identifier: Apache-2.0
#include "export/paraver_sort.h"

namespace noised {

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

}  // namespace noised
