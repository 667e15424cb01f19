// SPDX-License-Identifier: Apache-2.0
// fork(2) and exec of noised; its end is tied to ours by the kernel.
#include "noisectl/watch/own_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/text.h"
#include "noisectl/client/http_client.h"
#include "noisectl/client/quiet.h"
#include "views/views.h"

namespace noised::client {
namespace {

constexpr std::chrono::seconds kAnswers{1};
constexpr std::uint64_t kStartNs = 60'000'000'000;  // an emulated machine takes a while
constexpr int kLookMs = 50;
constexpr int kEndMs = 5'000;
constexpr int kNoProgram = 127;

// Nothing that allocates: the words are there already. A session of its own: Ctrl-C is for the watched command.
[[noreturn]] void be_daemon(pid_t parent, const char* const* words, const CpuSet* there) {
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(0);  // which is gone already
  (void)setsid();
  (void)unsetenv("NOTIFY_SOCKET");  // of the unit that noisectl is in: its manager is told nothing
  if (there != nullptr) (void)sched_setaffinity(0, there->bytes(), there->get());
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  (void)::dup2(nowhere, STDIN_FILENO);
  (void)::dup2(nowhere, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(words[0], const_cast<char* const*>(words));
  _exit(kNoProgram);
}

Error no_own_daemon(const std::string& why) {
  return failure("no daemon watches tasks here, and one could not be started: " + why,
                 "start one with 'noised --mode watch --cpus all'");
}

}  // namespace

Status OwnDaemon::run(const std::vector<unsigned>& cpus, bool confined) {
  const std::string list = format_cpu_list(cpus);
  const auto there = confined ? std::optional<CpuSet>(std::in_place, cpus) : std::nullopt;
  // A shell's PATH may lack where daemons are.
  const char* const set = std::getenv("PATH");
  const std::string path = set == nullptr || *set == '\0' ? "/usr/bin:/bin" : set;
  (void)setenv("PATH", (path + ":/usr/local/sbin:/usr/sbin").c_str(), 1);
  // The machine's configuration is of the service, which may measure by loops.
  const std::array words{"noised",
                         "--config",
                         "/dev/null",
                         "--mode",
                         "watch",
                         "--cpus",
                         list.c_str(),
                         "--socket",
                         socket_.c_str(),
                         "--web.listen-address",
                         "",
                         "--log-level",
                         "error",
                         static_cast<const char*>(nullptr)};
  const pid_t parent = getpid();
  (void)std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, as it may be inherited, nobody learns how a child ended
  pid_ = fork();
  if (pid_ < 0) return no_own_daemon("fork: " + errno_text(errno));
  if (pid_ == 0) be_daemon(parent, words.data(), there ? &*there : nullptr);
  (void)setenv("PATH", path.c_str(), 1);
  ended_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));  // glibc has no name for it before 2.36
  return ended_ ? success() : no_own_daemon("pidfd_open: " + errno_text(errno));
}

Status OwnDaemon::await_answer(int stop_fd) {
  const std::uint64_t until_ns = monotonic_ns() + kStartNs;
  std::array<pollfd, 2> waits{{{ended_.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}}};
  while (monotonic_ns() < until_ns) {
    Result<HttpClient> client = HttpClient::create(socket_);
    if (!client) return client.error();
    if (client.value().get("/v1/status", kAnswers)) return success();
    (void)::poll(waits.data(), waits.size(), kLookMs);
    if (waits[1].revents != 0) return failure("interrupted before watching began");
    if (waits[0].revents == 0) continue;
    int status = 0;
    (void)waitpid(std::exchange(pid_, -1), &status, 0);
    if (WIFSIGNALED(status)) return no_own_daemon(fmt::format("noised was killed by signal {}", WTERMSIG(status)));
    const bool missing = WEXITSTATUS(status) == kNoProgram;
    return no_own_daemon(missing ? "noised is not in PATH" : "noised has ended, and has said why");
  }
  return no_own_daemon("noised does not answer");
}

Result<std::unique_ptr<OwnDaemon>> OwnDaemon::start(const std::vector<unsigned>& cpus, bool confined, int stop_fd) {
  std::unique_ptr<OwnDaemon> daemon(new OwnDaemon(fmt::format("/run/noisectl-watch-{}.sock", getpid())));
  if (Status runs = daemon->run(cpus, confined); !runs) return runs.error();
  if (Status answers = daemon->await_answer(stop_fd); !answers) return answers.error();
  return daemon;
}

OwnDaemon::~OwnDaemon() {
  if (pid_ > 0) {
    (void)kill(pid_, SIGTERM);
    pollfd ended{ended_.get(), POLLIN, 0};
    if (::poll(&ended, 1, kEndMs) == 0) (void)kill(pid_, SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
  }
  // It removes them itself, unless it was killed.
  (void)::unlink(socket_.c_str());
  (void)::unlink((socket_ + ".lock").c_str());
}

namespace {

// The CPUs that the daemon there measures by loops, if it does, or nothing where nobody is; an error where another
// daemon is needed by neither. A connection is closed again: the one that is forked would inherit it.
Result<std::vector<unsigned>> loops_at(const std::string& socket, bool& needed) {
  Result<HttpClient> client = HttpClient::create(socket);
  if (!client) return client.error();
  const Result<std::string> body = client.value().get("/v1/status", kAnswers);
  needed = !body && client.value().found_nobody();
  if (!body) return std::vector<unsigned>();
  const Result<StatusView> status = views::parse_status(body.value());
  needed = status && status.value().mode == "probe";
  return needed ? parse_cpu_list(status.value().probe_cpus) : std::vector<unsigned>();
}

}  // namespace

Result<std::unique_ptr<OwnDaemon>> daemon_where_none_watches(const std::string& socket, int stop_fd) {
  std::unique_ptr<OwnDaemon> none;
  if (geteuid() != 0) return none;
  bool needed = false;
  const auto probed = loops_at(socket, needed);
  const auto online = online_cpus();
  const auto allowed = allowed_cpus();
  if (!needed || !probed || !online || !allowed) return none;
  std::vector<unsigned> cpus = without(online.value(), probed.value());
  std::erase_if(cpus, [&](unsigned cpu) { return !std::ranges::binary_search(allowed.value().permitted, cpu); });
  if (cpus.empty()) return none;
  return OwnDaemon::start(cpus, !probed.value().empty(), stop_fd);
}

}  // namespace noised::client
