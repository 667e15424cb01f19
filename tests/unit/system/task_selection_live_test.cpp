// SPDX-License-Identifier: Apache-2.0
// Selections in the /proc of this kernel, of processes that the test makes.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <string>
#include <thread>

#include "base/files.h"
#include "system/task_selection.h"

using namespace noised;
using namespace noised::system;

namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  Descriptor read;
  Descriptor write;
};

std::uint32_t tell(const Descriptor& to, int pid) {
  const auto value = static_cast<std::uint32_t>(pid);
  if (::write(to.get(), &value, sizeof value) != sizeof value) ::_exit(1);
  return value;
}

std::uint32_t hear(const Descriptor& from) {
  std::uint32_t value = 0;
  REQUIRE(::read(from.get(), &value, sizeof value) == sizeof value);
  return value;
}

// A child process, killed and reaped at the end; its own children end with the pipe that they all wait for.
class Child {
 public:
  template <typename Life>
  explicit Child(Life life) : pid_(::fork()) {
    if (pid_ == 0) {
      life();
      ::_exit(0);
    }
    REQUIRE(pid_ > 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    (void)::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  // Not reaped yet: it is a zombie when this returns.
  void kill() const {
    (void)::kill(pid_, SIGKILL);
    siginfo_t about{};
    (void)::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOWAIT);
  }

 private:
  pid_t pid_;
};

void wait_for_end(const Descriptor& from) {
  char end = 0;
  while (::read(from.get(), &end, 1) < 0 && errno == EINTR) {
  }
}

Selection by_pid(std::uint32_t pid) { return {SelectBy::pids, {pid}, {}, false, {}}; }

}  // namespace

TEST_CASE("a child, its thread and its grandchild are found by any of its pids, and by name", "[selection]") {
  Pipe news;
  Pipe end;
  // Names of this test's own, should another one run: as awkward as the kernel lets them be.
  const std::string of_first = "n) S 1\n" + std::to_string(::getpid());
  const std::string of_thread = "n (t) " + std::to_string(::getpid());
  const Child child([&] {
    end.write.reset();
    (void)::prctl(PR_SET_NAME, of_first.c_str());
    (void)tell(news.write, ::getpid());
    std::thread thread([&] {
      (void)::prctl(PR_SET_NAME, of_thread.c_str());
      (void)tell(news.write, ::gettid());
      wait_for_end(end.read);
    });
    if (::fork() == 0) {
      (void)::prctl(PR_SET_NAME, ")");
      (void)tell(news.write, ::getpid());
      wait_for_end(end.read);
      ::_exit(0);
    }
    thread.join();
  });
  std::vector<std::uint32_t> all = {hear(news.read), hear(news.read), hear(news.read)};
  std::ranges::sort(all);
  REQUIRE(std::ranges::find(all, child.pid()) != all.end());
  const TaskSelector selector;
  CHECK(selector.threads(by_pid(child.pid())).value() == all);
  CHECK(selector.threads({SelectBy::comm, {}, of_thread, false, {}}).value().size() == 2);
  CHECK(selector.threads({SelectBy::comm, {}, of_first, false, {}}).value().size() == 2);
  std::uint32_t thread = 0;
  for (const ChosenTask& task : selector.tasks(by_pid(child.pid())).value()) {
    if (task.tgid == child.pid() && task.pid != child.pid()) thread = task.pid;
  }
  REQUIRE(thread != 0);
  const Selection settled = selector.settle(by_pid(thread)).value();
  CHECK(describe(settled) == "pid " + std::to_string(child.pid()));
  CHECK(selector.threads(settled).value() == all);
  CHECK_FALSE(selector.ended(settled));
  child.kill();
  CHECK(selector.ended(settled));
}

TEST_CASE("a process lives on when its first thread has ended", "[selection]") {
  Pipe news;
  const Child child([&] {
    std::thread([&] {
      (void)tell(news.write, ::gettid());
      ::pause();
    }).detach();
    (void)::syscall(SYS_exit, 0);  // not pthread_exit(3), which would unwind into the test's runner
  });
  const std::uint32_t thread = hear(news.read);
  const TaskSelector selector;
  const Selection settled = selector.settle(by_pid(child.pid())).value();
  const ProcTasks proc("/proc");
  while (!proc.stat(child.pid(), child.pid())->ended()) std::this_thread::yield();
  CHECK_FALSE(selector.ended(settled));
  const auto found = selector.threads(settled).value();
  CHECK(std::ranges::find(found, thread) != found.end());
  child.kill();
  CHECK(selector.ended(settled));
}

TEST_CASE("processes that come and go all the time are no error", "[selection]") {
  const Child child([] {
    for (;;) {
      if (const pid_t pid = ::fork(); pid == 0)
        ::_exit(0);
      else if (pid > 0)
        (void)::waitpid(pid, nullptr, 0);
    }
  });
  const TaskSelector selector;
  const Selection settled = selector.settle(by_pid(child.pid())).value();
  for (int i = 0; i < 20; ++i) {
    const auto found = selector.threads(settled);
    REQUIRE(found);
    REQUIRE(std::ranges::find(found.value(), child.pid()) != found.value().end());
    REQUIRE(selector.threads(Selection{}));
    REQUIRE(selector.threads({SelectBy::comm, {}, "nobody", false, {}}));
  }
}

TEST_CASE("the cgroups of this machine can be looked at", "[selection]") {
  const TaskSelector selector;
  if (!selector.settle({SelectBy::cgroup, {}, "/", false, {}})) SKIP("no cgroup hierarchy is mounted, or not its root");
  const auto found = selector.threads({SelectBy::cgroup, {}, "/", false, {}}).value();
  CHECK(std::ranges::find(found, static_cast<std::uint32_t>(::getpid())) != found.end());
}
