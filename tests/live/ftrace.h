// SPDX-License-Identifier: Apache-2.0
// The kernel's own record of its tracepoints, by an ftrace instance of the test's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace noised::live {

/// One line of the trace.
struct TraceEvent {
  std::uint64_t ticks = 0;  ///< of the time stamp counter
  std::string name;         ///< "local_timer_entry"
  std::string text;         ///< what follows it: "vector=236"
  unsigned cpu = 0;         ///< where it happened
};

/// Records on one CPU, or on several, from construction to stop(). Time is the counter itself (trace_clock x86-tsc):
/// the text of the other clocks is in microseconds. The instance is removed in the end, and tracefs unmounted if it was
/// not mounted.
class Ftrace {
 public:
  /// Events are named as in the directory events, "irq/softirq_entry"; those that this kernel lacks are left out. A
  /// filter may follow, "raw_syscalls/sys_enter if id == 24". Skips the test where there is no tracefs, fails it where
  /// it does not obey.
  Ftrace(std::vector<unsigned> cpus, const std::vector<std::string>& events);
  Ftrace(unsigned cpu, const std::vector<std::string>& events) : Ftrace(std::vector<unsigned>{cpu}, events) {}
  Ftrace(const Ftrace&) = delete;
  Ftrace& operator=(const Ftrace&) = delete;

  /// Ends recording, and gives every event, oldest first. Fails the test if the kernel lost one.
  std::vector<TraceEvent> stop();

 private:
  // Where tracefs is; mounted for as long as this lives if it was not.
  struct Mount {
    Mount();
    ~Mount();
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;
    std::string directory;
    bool ours = false;
  };
  struct Instance {
    explicit Instance(std::string path);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    std::string directory;
  };
  void write(const std::string& file, const std::string& value) const;
  void enable(const std::string& event) const;
  void check_losses(unsigned cpu) const;

  std::vector<unsigned> cpus_;
  Mount mount_;
  Instance instance_;
};

}  // namespace noised::live
