// SPDX-License-Identifier: Apache-2.0
// Both ends of the pair of sockets between a self-test and its generator.
#include "selftest/child.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "base/text.h"
#include "selftest/generator_threads.h"

namespace noised::selftest {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kChildPatience{10};
constexpr int kBetweenMarksMs = 50;

// Runs on the CPU for a moment.
Status mark(const GeneratorOptions& options, std::string_view name) {
  GeneratorThreads threads;
  threads.add(on_cpu(options, std::string(name)), [](const Window&) {});
  const Result<Window> window = threads.run(0, 1);
  return window ? success() : Status(window.error());
}

// Marks the CPU until the other end sends a command.
Status mark_until_told(int socket, const GeneratorOptions& options, std::string_view name) {
  for (const auto end = Clock::now() + kChildPatience; Clock::now() < end;) {
    if (Status marked = mark(options, name); !marked) return marked;
    pollfd told{socket, POLLIN, 0};
    char command = 0;
    if (poll(&told, 1, kBetweenMarksMs) <= 0) continue;
    if (read(socket, &command, 1) != 1) _exit(1);  // nobody is there any more
    return success();
  }
  return failure("the daemon did not show a task that ran on CPU " + std::to_string(options.cpu),
                 "see 'noisectl detours --follow'");
}

Result<Truth> work(int socket, const Mode& mode, const GeneratorOptions& options) {
  if (Status begun = mark_until_told(socket, options, kBeginMark); !begun) return begun.error();
  Result<Truth> truth = generate(mode, options);
  if (!truth || !truth.value().unsupported.empty()) return truth;
  if (Status ended = mark_until_told(socket, options, kEndMark); !ended) return ended.error();
  return truth;
}

void write_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(socket, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// The signals do here what they do in any process: the terminal's Ctrl-C reaches both.
void take_default_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void be_child(pid_t parent, int socket, const Mode& mode, const GeneratorOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, std::string(kChildName).c_str());
  if (getppid() != parent) _exit(1);
  take_default_signals();
  const Result<Truth> truth = work(socket, mode, options);
  write_all(socket, truth ? "T" + to_json(truth.value()) : "E" + truth.error().line());
  _exit(0);
}

}  // namespace

Result<Child> Child::start(const Mode& mode, const GeneratorOptions& options) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return failure(std::string("socketpair: ") + errno_text(errno));
  Descriptor here(ends[0]);
  Descriptor there(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return failure(std::string("fork: ") + errno_text(errno));
  if (pid == 0) {
    here.reset();
    be_child(parent, there.get(), mode, options);
  }
  return Child(pid, std::move(here));
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// A child that died is noticed when its answer is read.
void Child::send(char command) { (void)!::send(socket_.get(), &command, 1, MSG_NOSIGNAL); }

Result<Truth> Child::truth() {
  std::string text;
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t size = read(socket_.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  if (text.starts_with('E')) return failure(text.substr(1));
  if (!text.starts_with('T')) return failure("the generator's process died");
  return parse_truth(std::string_view(text).substr(1));
}

}  // namespace noised::selftest
