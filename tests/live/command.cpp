// SPDX-License-Identifier: Apache-2.0
// Output goes to memory files: nothing has to read along, and a stopped reader blocks nobody.
#include "command.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <sstream>
#include <utility>

namespace noised::live {
namespace {

std::string content_of(const Descriptor& file) {
  std::string text(static_cast<std::size_t>(lseek(file.get(), 0, SEEK_CUR)), '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

bool become(uid_t user) {
  return setgroups(0, nullptr) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

// The child between fork and exec: system calls only. A signal may come already: it ends the program that is to be, and
// is not the test's own, whose handler the child still has.
[[noreturn]] void execute(char* const* arguments, char* const* environment, std::optional<uid_t> user, int out, int err,
                          const sigset_t& signals) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::signal(number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  // Opened as the test's user: the build directory may be closed to the other one.
  const int program = user ? open(arguments[0], O_PATH | O_CLOEXEC) : -1;
  if (user && !become(*user)) _exit(127);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (user) {
    fexecve(program, arguments, environment);
  } else {
    execvpe(arguments[0], arguments, environment);
  }
  _exit(127);
}

}  // namespace

Background::Background(const Arguments& arguments, CommandOptions options)
    : options_(std::move(options)),
      out_(memfd_create("standard output", MFD_CLOEXEC)),
      err_(memfd_create("standard error", MFD_CLOEXEC)) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  environment.insert(environment.begin(), options_.environment.begin(), options_.environment.end());
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = fork();
  if (pid_ == 0) {
    execute(argument_pointers.data(), environment_pointers.data(), options_.user, out_.get(), err_.get(), before);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  REQUIRE(pid_ >= 0);
}

Background::~Background() {
  if (ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Background::signal(int number) const {
  REQUIRE(!ended_);
  REQUIRE(kill(pid_, number) == 0);
}

Outcome Background::wait() {
  int status = 0;
  const bool in_time = eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, options_.timeout);
  if (!in_time) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  }
  ended_ = true;
  if (!in_time) FAIL("no end after " << options_.timeout.count() << " ms; standard error: " << err());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out(), err()};
}

std::string Background::out() const { return content_of(out_); }
std::string Background::err() const { return content_of(err_); }

Outcome run(const Arguments& arguments, const CommandOptions& options) { return Background(arguments, options).wait(); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

}  // namespace noised::live
