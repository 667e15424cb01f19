// SPDX-License-Identifier: Apache-2.0
// Loops that leave their CPUs to tasks, and come back: mode "auto".
#pragma once

#include <noised/abi.h>
#include "base/result.h"
#include "model/views.h"

#include <pthread.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/cpus.h"
#include "base/files.h"
#include "kernel/tracer.h"
#include "model/histogram.h"
#include "pipeline/task_pipeline.h"
#include "probe/probe.h"

namespace noised::daemon {

/// A loop that runs steps aside by itself. One that a task has taken the CPU from is sent away, by a thread that waits
/// for the kernel to tell of it. The pipeline's thread has them come back.
class SteppingAside {
 public:
  /// Loops go to these CPUs, and come back when their own had no task, but for kernel threads, for so long. All that is
  /// referred to outlives this.
  SteppingAside(kernel::Tracer& tracer, std::vector<std::unique_ptr<probe::Probe>>& probes,
                const std::vector<unsigned>& to, std::uint64_t quiet_ns);
  ~SteppingAside();
  SteppingAside(const SteppingAside&) = delete;
  SteppingAside& operator=(const SteppingAside&) = delete;

  /// Starts the thread.
  Status start();
  /// After a drain. Sends away, late, also a loop whose arrival was not told.
  void step(const pipeline::TaskPipeline& tasks, std::uint64_t now_ns);
  /// Which loops are aside, and how long after a task could have run they were there.
  [[nodiscard]] AsideView view() const;

 private:
  static void* thread_main(void* self);
  void run();
  void step(std::size_t place, const pipeline::TaskPipeline& tasks, std::uint64_t now_ns);

  kernel::Tracer& tracer_;
  std::vector<std::unique_ptr<probe::Probe>>& probes_;
  CpuSet to_;
  std::uint64_t quiet_ns_;
  std::vector<std::uint64_t> busy_ns_;  // as `probes`: a task had the CPU then
  Histogram times_;
  std::uint64_t longest_ns_ = 0;
  Descriptor stop_;  // eventfd
  std::optional<pthread_t> thread_;
};

}  // namespace noised::daemon
