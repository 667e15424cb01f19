// SPDX-License-Identifier: Apache-2.0
// libsystemd.
#include "noised/systemd.h"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "base/clocks.h"
#include "base/text.h"

namespace noised::daemon {
namespace {

constexpr std::uint64_t kNsPerUs = 1000;

void notify(const std::string& state) { (void)sd_notify(0, state.c_str()); }

struct FreeNames {
  void operator()(char** names) const {
    for (char** name = names; *name != nullptr; ++name) std::free(*name);
    std::free(static_cast<void*>(names));
  }
};

}  // namespace

void notify_status(const std::string& status) { notify("STATUS=" + on_one_line(status)); }

void notify_ready(const std::string& status) { notify("READY=1\nSTATUS=" + on_one_line(status)); }

void notify_reloading() {
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Reloading the configuration", monotonic_ns() / kNsPerUs));
}

void notify_stopping() { notify("STOPPING=1\nSTATUS=Stopping"); }

Watchdog::Watchdog() {
  std::uint64_t interval_us = 0;
  // Twice as often as it must: one late drain is no death.
  if (sd_watchdog_enabled(0, &interval_us) > 0) interval_ns_ = interval_us * kNsPerUs / 2;
}

void Watchdog::alive(std::uint64_t now_ns) {
  if (interval_ns_ == 0 || now_ns - told_ns_ < interval_ns_) return;
  told_ns_ = now_ns;
  notify("WATCHDOG=1");
}

Result<std::optional<Descriptor>> passed_socket() {
  char** raw = nullptr;
  const int count = sd_listen_fds_with_names(1, &raw);
  const std::unique_ptr<char*, FreeNames> names(raw);
  std::optional<Descriptor> found;
  for (int i = 0; i < count; ++i) {
    Descriptor passed(SD_LISTEN_FDS_START + i);
    if (sd_is_socket(passed.get(), AF_UNSPEC, SOCK_STREAM, 1) <= 0) continue;
    if (found) {
      return usage_error("the service manager passes several sockets, and one is served",
                         "in noised.socket, write an empty ListenStream= before the one that you want");
    }
    found = std::move(passed);
  }
  return found;
}

}  // namespace noised::daemon
