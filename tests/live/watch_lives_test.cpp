// SPDX-License-Identifier: Apache-2.0
// Watched tasks whose pids are used again, that end where nobody watches, or that become leaders by an exec.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr const char* kPidMax = "/proc/sys/kernel/pid_max";

// Few pids, until this ends; also if the test is killed: another process waits for that.
class FewPids {
 public:
  explicit FewPids(unsigned pids) : before_(read_file(kPidMax).value()) {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    guard_ = fork();
    if (guard_ == 0) {
      setsid();
      close(ends[1]);
      char byte = 0;
      while (read(ends[0], &byte, 1) < 0) {
      }
      const int file = open(kPidMax, O_WRONLY | O_CLOEXEC);
      _exit(write(file, before_.data(), before_.size()) < 0 ? 1 : 0);
    }
    alive_ = Descriptor(ends[1]);
    close(ends[0]);
    REQUIRE(guard_ > 0);
    std::ofstream(kPidMax) << pids << std::flush;
  }
  ~FewPids() {
    alive_ = Descriptor();
    waitpid(guard_, nullptr, 0);
  }
  FewPids(const FewPids&) = delete;
  FewPids& operator=(const FewPids&) = delete;

  [[nodiscard]] static unsigned now() { return static_cast<unsigned>(std::stoul(read_file(kPidMax).value())); }

 private:
  std::string before_;
  pid_t guard_ = -1;
  Descriptor alive_;
};

// "0.00 0.01 0.05 1/123 4567": so many there are.
unsigned tasks_now() {
  const std::string text = read_file("/proc/loadavg").value();
  return static_cast<unsigned>(std::stoul(text.substr(text.find('/') + 1)));
}

}  // namespace

TEST_CASE("watch lives: 3,000 children that share few pids, and end now where they are watched, now elsewhere") {
  constexpr std::uint64_t kChildren = 3'000;
  const unsigned cpu = probed_cpu();
  const WatchingDaemon daemon(std::to_string(cpu));
  const unsigned before = FewPids::now();
  Watched watched;
  {
    const FewPids few(600 + tasks_now());  // the first 300 are not used again
    watched = watch_command(daemon, {kSwarm, "hop", std::to_string(kChildren), "0", std::to_string(cpu)});
  }
  CHECK(FewPids::now() == before);
  const WatchReport& report = watched.report;
  std::istringstream told(watched.out);
  std::uint64_t voluntary = 0;
  std::uint64_t involuntary = 0;
  std::uint64_t minor_faults = 0;
  REQUIRE(told >> voluntary >> involuntary >> minor_faults);
  std::printf("%llu of %llu voluntary switches, %llu of %llu involuntary, %llu of %llu minor faults, %llu tasks seen\n",
              static_cast<unsigned long long>(report.counts.voluntary), static_cast<unsigned long long>(voluntary),
              static_cast<unsigned long long>(report.counts.involuntary), static_cast<unsigned long long>(involuntary),
              static_cast<unsigned long long>(report.counts.minor_faults),
              static_cast<unsigned long long>(minor_faults), static_cast<unsigned long long>(report.tasks_seen));
  // The last switch of each, its end, comes after the kernel has told its parent.
  CHECK(report.counts.voluntary <= voluntary + kChildren + 1);
  CHECK(report.counts.involuntary <= involuntary + kChildren + 1);
  CHECK(report.counts.voluntary + report.counts.involuntary <= voluntary + involuntary + kChildren + 1);
  // What one did where nobody watches is counted when it comes back. Half of them end there: of each, a switch is
  // missing.
  CHECK(report.counts.voluntary + kChildren / 2 + kChildren / 20 > voluntary);
  CHECK(report.counts.minor_faults <= minor_faults);
  CHECK(report.counts.minor_faults > minor_faults / 2);
  CHECK(report.counts.unseen_runs <= voluntary + involuntary);
  CHECK(report.tasks_seen <= kChildren + 1);
  CHECK(report.tasks_seen > kChildren * 9 / 10);
}

TEST_CASE("watch lives: a thread that execs is one life under its leader's pid") {
  constexpr std::uint64_t kRounds = 200;
  const WatchingDaemon daemon;
  const Watched watched = watch_command(daemon, {kSwarm, "exec", std::to_string(kRounds)});
  const std::uint64_t voluntary = std::stoull(watched.out);
  const WatchReport& report = watched.report;
  REQUIRE(report.tasks.size() == 2);
  CHECK(report.tasks_seen == 2);
  CHECK(report.counts.unseen_runs == 0);
  std::uint64_t most = 0;
  for (const WatchTask& task : report.tasks) {
    CHECK(task.pid == task.tgid);
    CHECK(task.ended);
    most = std::max(most, task.counts.voluntary);
  }
  std::printf("%llu voluntary switches of the thread, and its last; %llu of both tasks\n",
              static_cast<unsigned long long>(voluntary), static_cast<unsigned long long>(report.counts.voluntary));
  // It was read before the end of the program, which may wait for something.
  CHECK(voluntary >= 2 * kRounds);
  CHECK(most > voluntary);
  CHECK(most <= voluntary + 5);
  CHECK(report.counts.voluntary < 2 * most);
}

TEST_CASE("watch yield: what a task gives away by sched_yield is told apart, and stolen by nobody") {
  if (is_emulated()) SKIP("emulated: it is preempted beside its call as often as in it");
  const unsigned cpu = probed_cpu();
  const WatchingDaemon daemon(std::to_string(cpu));
  const Watched watched = watch_command(daemon, {kSwarm, "yield", std::to_string(cpu), "1500"});
  for (const std::string& line : watched.report.unsupported) {
    if (line.starts_with("sched_yield")) SKIP(line);
  }
  std::istringstream told(watched.out);
  std::uint64_t yields = 0;
  std::uint64_t away_ns = 0;
  std::uint64_t involuntary = 0;
  std::uint64_t waited_ns = 0;
  REQUIRE(told >> yields >> away_ns >> involuntary >> waited_ns);
  const auto found = std::ranges::find(watched.report.tasks, "yielder", &WatchTask::name);
  REQUIRE(found != watched.report.tasks.end());
  const WatchCounts& counts = found->counts;
  std::printf("yields: %llu of %llu, %.3f of %.3f ms; preempted %.3f ms, queued %.3f ms, of %.3f ms by the kernel\n",
              static_cast<unsigned long long>(counts.yields), static_cast<unsigned long long>(yields),
              static_cast<double>(counts.yielded_ns) / 1e6, static_cast<double>(away_ns) / 1e6,
              static_cast<double>(counts.preempted_ns) / 1e6, static_cast<double>(counts.queued_ns) / 1e6,
              static_cast<double>(waited_ns) / 1e6);
  REQUIRE(yields > 20);
  REQUIRE(involuntary > yields + 5);  // it was preempted too
  // Preempted within the call, or between it and the look at the count, it cannot tell the one from the other.
  CHECK(counts.yields <= yields);
  CHECK(counts.yields + 3 >= yields);
  CHECK(counts.yielded_ns <= away_ns);
  CHECK(counts.yielded_ns + away_ns / 50 + 3 * 8'000'000 >= away_ns);
  CHECK(counts.preempted_ns > 0);
  const auto sum_ns =
      static_cast<double>(counts.preempted_ns + counts.queued_ns + counts.yielded_ns + counts.unseen_wait_ns);
  CHECK(std::abs(sum_ns - static_cast<double>(waited_ns)) <= 0.01 * static_cast<double>(waited_ns));
  CHECK(found->stolen_ns < counts.preempted_ns + counts.queued_ns + counts.run_ns / 4);
}
