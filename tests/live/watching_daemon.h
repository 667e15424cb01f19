// SPDX-License-Identifier: Apache-2.0
// A daemon of the test's own that watches the tasks of all CPUs, or of some.
#pragma once

#include <optional>
#include <string>

#include "command.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"
#include "views/watch.h"

namespace noised::live {

class WatchingDaemon {
 public:
  /// Returns when it answers; fails the test when it does not.
  explicit WatchingDaemon(const std::string& cpus = "all");

  /// A noisectl command that asks this daemon.
  [[nodiscard]] Arguments command(const Arguments& arguments) const;

  [[nodiscard]] pid_t pid() const { return process_->pid(); }

 private:
  test::TemporaryDirectory directory_;
  QuietCpu quiet_;
  std::string socket_;
  std::optional<Background> process_;
};

/// The report that is the last line of a text; fails the test if it is none.
WatchReport report_in(const std::string& text);

}  // namespace noised::live
