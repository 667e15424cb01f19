// SPDX-License-Identifier: Apache-2.0
// Blocking the stop signals and reading them through a signalfd.
#include "noisectl/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace noised::client {

StopSignals::StopSignals(std::initializer_list<int> signals) {
  sigset_t stop;
  sigemptyset(&stop);
  for (const int signal : signals) sigaddset(&stop, signal);
  // Without a descriptor the signals must keep their default effect, or nothing could end the program.
  fd_ = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
  sigprocmask(fd_ < 0 ? SIG_SETMASK : SIG_BLOCK, nullptr, &before_);
  if (fd_ >= 0) sigprocmask(SIG_BLOCK, &stop, nullptr);
}

StopSignals::~StopSignals() {
  if (fd_ < 0) return;
  // What is pending was answered; left there it would kill the program the moment it is unblocked.
  while (take() != 0) {
  }
  close(fd_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int StopSignals::take() const {
  signalfd_siginfo taken;
  return read(fd_, &taken, sizeof taken) == sizeof taken ? static_cast<int>(taken.ssi_signo) : 0;
}

}  // namespace noised::client
