// SPDX-License-Identifier: Apache-2.0
// Many tasks at once, and tasks that hardly live.
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "processes.h"
#include "unit/base/temporary_directory.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

void check_watch_ledger(const WatchReport& report) {
  CHECK(report.explained_ns + report.overhead_ns + report.hypervisor_ns + report.hardware_ns + report.unexplained_ns ==
        report.stolen_ns);
  for (const WatchTask& task : report.tasks) {
    std::uint64_t sum = 0;
    for (const auto& [category, ns] : task.categories) sum += ns;
    CHECK(sum == task.stolen_ns);
  }
}

// Where the kernel limits how many processes there are below a directory; version 1, as version 2 shares its mount.
class ProcessLimit {
 public:
  explicit ProcessLimit(unsigned limit) {
    if (::mount("none", mount_.path("").c_str(), "cgroup", 0, "pids") != 0) SKIP("no pids controller of version 1");
    cgroup_ = mount_.path("noised-test");
    std::error_code error;
    std::filesystem::create_directory(cgroup_, error);
    std::ofstream(cgroup_ + "/pids.max") << limit << std::flush;
  }
  ~ProcessLimit() {
    eventually([&] { return rmdir(cgroup_.c_str()) == 0; });
    ::umount2(mount_.path("").c_str(), MNT_DETACH);
  }
  ProcessLimit(const ProcessLimit&) = delete;
  ProcessLimit& operator=(const ProcessLimit&) = delete;

  [[nodiscard]] std::string file() const { return cgroup_ + "/cgroup.procs"; }

 private:
  test::TemporaryDirectory mount_;
  std::string cgroup_;
};

}  // namespace

TEST_CASE("watch scale: 10,000 tasks of 100 us are all counted, by their names") {
  constexpr unsigned kTasks = 10'000;
  const WatchingDaemon daemon;
  const Watched watched = watch_command(daemon, {kSwarm, "short", std::to_string(kTasks)});
  const WatchReport& report = watched.report;
  std::map<std::uint32_t, std::string> names;
  std::istringstream lines(watched.out);
  std::uint32_t pid = 0;
  for (std::string name; lines >> pid >> name;) names[pid] = name;
  REQUIRE(names.size() > kTasks / 2);  // a pid may come again
  std::printf("%llu tasks seen, %llu runs; %llu events lost, %llu runs unseen\n",
              static_cast<unsigned long long>(report.tasks_seen), static_cast<unsigned long long>(report.counts.runs),
              static_cast<unsigned long long>(report.lost.events),
              static_cast<unsigned long long>(report.counts.unseen_runs));
  CHECK(report.lost.events == 0);
  CHECK(report.tasks_seen == kTasks + 1);
  REQUIRE(report.tasks.size() > 1);
  std::size_t named = 0;
  for (const WatchTask& task : report.tasks) {
    const auto found = names.find(task.pid);
    if (found == names.end()) continue;
    ++named;
    INFO(task.pid);
    CHECK(task.name == found->second);
    CHECK(task.ended);
  }
  CHECK(named + 1 >= report.tasks.size());
  check_watch_ledger(report);
}

TEST_CASE("watch scale: 64 ranks on the CPUs there are wait for each other, and for a CPU") {
  const WatchingDaemon daemon;
  const Watched watched = watch_command(daemon, {kSwarm, "ranks", "64", "200"});
  const WatchReport& report = watched.report;
  CHECK(report.lost.events == 0);
  CHECK(report.tasks_seen == 65);
  CHECK(report.tasks.size() == 65);
  CHECK(report.counts.unseen_runs == 0);
  // More ranks than CPUs: they wait for each other's CPU.
  CHECK(report.counts.queued_ns + report.counts.preempted_ns > report.counts.run_ns);
  check_watch_ledger(report);
}

TEST_CASE("watch scale: a fork bomb in a cgroup that limits it is counted, and takes little memory here") {
  const WatchingDaemon daemon;
  const ProcessLimit limit(500);
  const std::uint64_t before_kib = resident_kib(daemon.pid());
  const Watched watched =
      watch_command(daemon, {"sh", "-c", "echo $$ >" + limit.file() + " && exec " + kSwarm + " bomb 2000"});
  const WatchReport& report = watched.report;
  const std::uint64_t made = std::stoull(watched.out);
  const std::uint64_t after_kib = resident_kib(daemon.pid());
  std::printf("%llu forks; %llu tasks seen, %llu events lost; resident %llu KiB, %llu before\n",
              static_cast<unsigned long long>(made), static_cast<unsigned long long>(report.tasks_seen),
              static_cast<unsigned long long>(report.lost.events), static_cast<unsigned long long>(after_kib),
              static_cast<unsigned long long>(before_kib));
  CHECK(made > 400);
  // Every task is seen, or what hid it was counted.
  CHECK(report.tasks_seen <= made + 1);
  CHECK((report.tasks_seen == made + 1 || report.lost.events > 0));
  CHECK(after_kib < before_kib + 64 * 1024);
  check_watch_ledger(report);
}
