// SPDX-License-Identifier: Apache-2.0
// Keeps other user tasks off a CPU for as long as a test measures it.
#pragma once

#include <sys/types.h>

#include "base/files.h"

namespace noised::live {

/// Takes the CPU out of the affinity of every user task that is running anywhere, and gives it back in the end, also if
/// the test is killed: another process, tests/quiet, waits for that. The test itself is not moved.
///
/// Tests that compare counts exactly need it on virtual machines whose host shadows the guest's page tables: the first
/// process of such a guest was seen to execute kernel text as it was before any tracepoint was switched on, so that
/// neither BPF nor ftrace is called for what happens while it, or a kernel thread on its page tables, has the CPU
/// (11 switches to it traced in 3 s, none of the 11 back). noised counts that as `unpaired`. The interrupts that it
/// sends have no sender either, so that its translations are flushed too: one came where it had run before, when it
/// freed memory (one in four storms of 1.3 s while it printed megabytes, none in 26 without that).
class QuietCpu {
 public:
  explicit QuietCpu(unsigned cpu);
  ~QuietCpu();
  QuietCpu(const QuietCpu&) = delete;
  QuietCpu& operator=(const QuietCpu&) = delete;

 private:
  Descriptor open_;  // the program ends when it is closed
  pid_t pid_ = -1;
};

}  // namespace noised::live
