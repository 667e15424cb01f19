// SPDX-License-Identifier: Apache-2.0
// A daemon of the test's own, on a quiet CPU, and what it shows of a generator's noise.
#pragma once

#include <optional>
#include <string>

#include "command.h"
#include "noisectl/commands/selftest_session.h"
#include "quiet_cpu.h"
#include "unit/base/temporary_directory.h"

namespace noised::live {

/// The threshold is above the shortest strikes of the host: at 24,000 a second they fill the feed of recent detours,
/// and what is not shown cannot be judged. All noise that tests make is longer.
class Daemon {
 public:
  /// Returns when it answers; fails the test when it does not. `more`: what its configuration
  /// has besides a threshold.
  explicit Daemon(const std::string& more = "");

  /// A noisectl command that asks this daemon.
  [[nodiscard]] Arguments command(const Arguments& arguments) const;
  /// Runs a generator of the self-test for so long on the daemon's CPU, and keeps all that the daemon showed.
  [[nodiscard]] client::Observation observe(const std::string& mode, std::uint64_t duration_ns) const;

  [[nodiscard]] unsigned cpu() const { return cpu_; }
  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] Background& process() { return *process_; }

 private:
  test::TemporaryDirectory directory_;
  unsigned cpu_;
  QuietCpu quiet_;
  std::string socket_;
  std::optional<Background> process_;
};

}  // namespace noised::live
