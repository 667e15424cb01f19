// SPDX-License-Identifier: Apache-2.0
// What is done once a drain.
#include "pipeline/cpu_stream.h"

namespace noised::pipeline {

CpuStream::CpuStream(const StreamParts& parts, unsigned cpu, std::size_t room, std::uint64_t now_ns)
    : parts_(parts), cpu_(cpu), doubt_(now_ns), drained_ns_(now_ns) {
  intervals_.reserve(room);
  losses_.kernel = parts_.kernel.lost(cpu_);
}

void CpuStream::begin_drain() {
  intervals_.clear();
  doubt_.unseen_ns().clear();
  bad_records_ = 0;
}

bool CpuStream::note_losses(bool more, std::uint64_t began_ns) {
  const system::LostCounters kernel = parts_.kernel.lost(cpu_);
  system::LostCounters marked = kernel;
  marked.unseen = losses_.kernel.unseen;  // a mark says itself which detour it touches
  const bool lost = more || bad_records_ != 0 || marked != losses_.kernel;
  const bool waits = kernel.unfinished != losses_.kernel.unfinished;
  losses_.kernel = kernel;
  losses_.bad += bad_records_;
  doubt_.look(lost, began_ns, parts_.clock.now_ns());
  // The drain before had ended when it was begun, the look after that perhaps not.
  if (waits) doubt_.reach_back(drained_ns_);
  return lost;
}

void CpuStream::begin_join(bool known, std::uint64_t drained_ns) {
  causes_known_ = known;
  if (!known) causes_.forget(drained_ns);
}

}  // namespace noised::pipeline
