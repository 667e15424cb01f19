// SPDX-License-Identifier: Apache-2.0
// fork(2) now, execvp(3) when told: both over a pair of sockets that the exec closes.
#include "noisectl/watch/watched_process.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace noised::client {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

int exit_code_of(int error) { return error == ENOENT || error == ENOTDIR ? kNotFound : kNotExecutable; }

// Nothing that allocates or locks: it may run the command in a moment.
[[noreturn]] void be_child(int socket, char* const* words, const sigset_t& blocked) {
  std::signal(SIGPIPE, SIG_DFL);  // ignored in noisectl, which is no reason to ignore it in the command
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  char told = 0;
  if (read(socket, &told, 1) != 1) _exit(kNotExecutable);  // noisectl is gone, or could not begin to watch
  execvp(words[0], words);
  const int error = errno;
  (void)!send(socket, &error, sizeof error, MSG_NOSIGNAL);
  _exit(exit_code_of(error));
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<WatchedProcess> WatchedProcess::start(const std::vector<std::string>& words, const sigset_t& blocked) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return failure(std::string("socketpair: ") + errno_text(errno));
  Descriptor here(ends[0]);
  Descriptor there(ends[1]);
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, as it may be inherited, nobody learns how a child ended
  const pid_t pid = fork();
  if (pid < 0) return failure(std::string("fork: ") + errno_text(errno));
  if (pid == 0) {
    here.reset();
    be_child(there.get(), arguments.data(), blocked);
  }
  Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));  // glibc has no name for it before 2.36
  const int error = errno;
  WatchedProcess process(pid, words.front(), std::move(here), std::move(ended));
  if (process.fd() < 0) return failure(std::string("pidfd_open: ") + errno_text(error));
  return process;
}

WatchedProcess::WatchedProcess(pid_t pid, std::string name, Descriptor socket, Descriptor ended)
    : pid_(pid), name_(std::move(name)), socket_(std::move(socket)), ended_(std::move(ended)) {}

WatchedProcess::WatchedProcess(WatchedProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      name_(std::move(other.name_)),
      socket_(std::move(other.socket_)),
      ended_(std::move(other.ended_)) {}

WatchedProcess::~WatchedProcess() {
  if (pid_ < 0 || !socket_) return;
  socket_.reset();
  wait_for(pid_);
}

Status WatchedProcess::release() {
  const Descriptor socket = std::move(socket_);
  const char go = 0;
  (void)!send(socket.get(), &go, 1, MSG_NOSIGNAL);  // to one that was killed meanwhile: wait() tells
  int error = 0;
  ssize_t size = 0;
  do {
    size = recv(socket.get(), &error, sizeof error, MSG_WAITALL);
  } while (size < 0 && errno == EINTR);
  if (size != sizeof error) return success();
  wait_for(std::exchange(pid_, -1));
  const int code = exit_code_of(error);
  return Error{"cannot run " + in_quotes(name_) + ": " + errno_text(error),
               code == kNotFound ? "give the path of a program, or a name that is in PATH" : "",
               static_cast<ExitCode>(code)};  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange): the command's
}

void WatchedProcess::signal(int number) const {
  if (pid_ > 0) (void)kill(pid_, number);
}

ProcessEnd WatchedProcess::wait() {
  const int status = wait_for(std::exchange(pid_, -1));
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace noised::client
