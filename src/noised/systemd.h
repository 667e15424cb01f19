// SPDX-License-Identifier: Apache-2.0
// What the service manager is told, and what it hands over. Without one, nothing happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

#include "base/files.h"

namespace noised::daemon {

/// What goes on, as `systemctl status` shows it.
void notify_status(const std::string& status);
/// Start-up is complete, or a reload.
void notify_ready(const std::string& status);
void notify_reloading();
void notify_stopping();

/// Tells the manager that the pipeline is alive, when it is time to; called once a drain.
class Watchdog {
 public:
  Watchdog();
  void alive(std::uint64_t now_ns);

 private:
  std::uint64_t interval_ns_ = 0;  // 0: nobody watches
  std::uint64_t told_ns_ = 0;
};

/// The listening socket that the manager opened for the metrics, if it did; an error if it opened several, of which all
/// but one would be listened on by nobody.
Result<std::optional<Descriptor>> passed_socket();

}  // namespace noised::daemon
