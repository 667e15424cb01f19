// SPDX-License-Identifier: Apache-2.0
// A daemon of the test's own that watches the tasks of all CPUs, or of some.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "command.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"
#include "views/watch.h"
#include "watched_task.h"

namespace noised::live {

class WatchingDaemon {
 public:
  /// Returns when it answers; fails the test when it does not. It logs from this level.
  explicit WatchingDaemon(const std::string& cpus = "all", const std::string& log_level = "error");

  /// A noisectl command that asks this daemon.
  [[nodiscard]] Arguments command(const Arguments& arguments) const;

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  /// What it logged, so far.
  [[nodiscard]] std::string log() const { return process_->err(); }

 private:
  test::TemporaryDirectory directory_;
  QuietCpu quiet_;
  std::string socket_;
  std::optional<Background> process_;
};

/// The report that is the last line of a text; fails the test if it is none.
WatchReport report_in(const std::string& text);

/// What is told of a command that `noisectl watch` runs, and what it printed.
struct Watched {
  WatchReport report;
  std::string out;
};
/// Runs it to its end, with the options of `noisectl watch` before it; fails the test where that takes two minutes.
Watched watch_command(const WatchingDaemon& daemon, const Arguments& program, const Arguments& options = {});

/// What is told of this task, or of these, while `act` runs.
WatchReport watched_while(const WatchingDaemon& daemon, pid_t pid, const std::function<void()>& act);
WatchReport watched_while(const WatchingDaemon& daemon, const std::vector<pid_t>& pids,
                          const std::function<void()>& act);

/// Fails unless what is told of one task is what the kernel counted of it from `before` to `after`, and its times are
/// within the time in which it was watched: nothing is told twice, and nothing has wrapped.
void check_as_the_kernel(const WatchReport& report, pid_t pid, const KernelCounts& before, const KernelCounts& after);

}  // namespace noised::live
