// SPDX-License-Identifier: Apache-2.0
// ppoll and signalfd. The timer is the sleeping thread's own, armed on a housekeeping CPU, and expires there: on
// PREEMPT_RT one of a real-time thread expires in the interrupt, a timerfd in a thread that other real-time tasks keep
// waiting.
#include "noised/ticker.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
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
  ticker.signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  ticker.asked_ = options.asked_descriptor;
  ticker.reload_on_hangup_ = options.reload_on_hangup;
  if (!ticker.signals_) return failure(fmt::format("signalfd: {}", std::strerror(errno)));
  ticker.set_interval(options.interval_ns);
  if (options.duration_ns) ticker.end_ns_ = monotonic_ns() + *options.duration_ns;
  return ticker;
}

void Ticker::set_interval(std::uint64_t interval_ns) {
  interval_ns_ = interval_ns;
  due_ns_ = monotonic_ns() + interval_ns;
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
  std::array<pollfd, 2> waiting{{{signals_.get(), POLLIN, 0}, {asked_, POLLIN, 0}}};
  const std::uint64_t until_ns = std::min(due_ns_, end_ns_.value_or(UINT64_MAX));
  const std::uint64_t now_ns = monotonic_ns();
  const timespec left = to_timespec(until_ns - std::min(until_ns, now_ns));
  if (ppoll(waiting.data(), waiting.size(), &left, nullptr) < 0 && errno != EINTR)
    return failure(fmt::format("ppoll: {}", std::strerror(errno)));
  const std::uint64_t woken_ns = monotonic_ns();
  if (woken_ns >= due_ns_) due_ns_ += ((woken_ns - due_ns_) / interval_ns_ + 1) * interval_ns_;
  std::uint64_t asked = 0;
  if ((waiting[1].revents & POLLIN) != 0) (void)!read(asked_, &asked, sizeof(asked));
  if (end_ns_ && woken_ns >= *end_ns_) return Tick::stop;
  return (waiting[0].revents & POLLIN) != 0 ? signalled() : Tick::drain;
}

}  // namespace noised::daemon
