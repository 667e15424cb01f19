// SPDX-License-Identifier: Apache-2.0
// timerfd and signalfd. The timer is armed by a thread that runs on a housekeeping CPU, and expires there.
#include "noised/ticker.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fmt/format.h>

#include "base/clocks.h"

namespace noised::daemon {

unsigned DrainPace::next(double fullness) {
  const bool little = fullness <= kLittle * factor_;
  calm_ = little ? std::min(calm_ + 1, kCalm) : 0;
  factor_ = calm_ == kCalm ? kRarely : 1;
  return factor_;
}

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);  // the terminal it was started on is gone
  return set;
}

timespec to_timespec(std::uint64_t ns) { return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)}; }

}  // namespace

void block_stop_signals() {
  sigset_t set = stop_signals();
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<Ticker> Ticker::create(const TickerOptions& options) {
  Ticker ticker;
  const sigset_t set = stop_signals();
  ticker.timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  ticker.signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  ticker.asked_ = options.asked_descriptor;
  ticker.reload_on_hangup_ = options.reload_on_hangup;
  if (!ticker.timer_ || !ticker.signals_) return failure(fmt::format("timerfd or signalfd: {}", std::strerror(errno)));
  if (Status set_up = ticker.set_interval(options.interval_ns); !set_up) return set_up.error();
  if (options.duration_ns) ticker.end_ns_ = monotonic_ns() + *options.duration_ns;
  return ticker;
}

Status Ticker::set_interval(std::uint64_t interval_ns) {
  const itimerspec every{to_timespec(interval_ns), to_timespec(interval_ns)};
  if (timerfd_settime(timer_.get(), 0, &every, nullptr) == 0) return success();
  return failure(fmt::format("timerfd_settime: {}", std::strerror(errno)));
}

Tick Ticker::signalled() const {
  Tick tick = Tick::drain;
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    const bool reload = reload_on_hangup_ && info.ssi_signo == SIGHUP;
    if (!reload) return Tick::stop;
    tick = Tick::reload;
  }
  return tick;
}

Result<Tick> Ticker::wait() {
  std::array<pollfd, 3> waiting{{{timer_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {asked_, POLLIN, 0}}};
  int timeout_ms = -1;
  if (end_ns_) {
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t left_ms = now_ns < *end_ns_ ? (*end_ns_ - now_ns) / 1'000'000 + 1 : 0;
    timeout_ms = static_cast<int>(std::min<std::uint64_t>(left_ms, INT_MAX));
  }
  if (poll(waiting.data(), waiting.size(), timeout_ms) < 0 && errno != EINTR) {
    return failure(fmt::format("poll: {}", std::strerror(errno)));
  }
  std::uint64_t expirations = 0;
  if ((waiting[0].revents & POLLIN) != 0 && read(timer_.get(), &expirations, sizeof(expirations)) < 0 &&
      errno != EAGAIN) {
    return failure(fmt::format("read from timerfd: {}", std::strerror(errno)));
  }
  std::uint64_t asked = 0;
  if ((waiting[2].revents & POLLIN) != 0) (void)!read(asked_, &asked, sizeof(asked));
  if (end_ns_ && monotonic_ns() >= *end_ns_) return Tick::stop;
  return (waiting[1].revents & POLLIN) != 0 ? signalled() : Tick::drain;
}

}  // namespace noised::daemon
