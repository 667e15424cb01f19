// SPDX-License-Identifier: Apache-2.0
// Remembers the first error of standard output.
#include "noisectl/client/output.h"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

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

bool Output::check(bool done) {
  if (!done && error_ == 0) error_ = errno;
  return error_ == 0;
}

std::size_t columns_of(std::FILE* file) {
  constexpr std::size_t kLeast = 40;
  winsize size{};
  if (::isatty(::fileno(file)) != 1 || ::ioctl(::fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return SIZE_MAX;
  return std::max<std::size_t>(size.ws_col, kLeast);
}

bool Output::write(std::string_view text) {
  if (error_ != 0) return false;
  return check(std::fwrite(text.data(), 1, text.size(), file_) == text.size());
}

bool Output::flush() {
  if (error_ != 0) return false;
  return check(std::fflush(file_) == 0);
}

Status Output::finish() {
  flush();
  if (error_ == 0 || error_ == EPIPE) return success();
  return failure(std::string("standard output: ") + std::strerror(error_));
}

}  // namespace noised::client
