// SPDX-License-Identifier: Apache-2.0
// Jobs, by their cgroups: of version 1, 2 and both, in trees as Slurm makes them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <string>

#include "command.h"
#include "measurement.h"
#include "test_cgroups.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

bool has_task(const WatchReport& report, const WatchedTask& task) {
  return std::ranges::any_of(report.tasks,
                             [&](const WatchTask& each) { return each.pid == static_cast<std::uint32_t>(task.pid()); });
}

// One task of the job is there before it is watched, another one comes later, and one is of no job.
void watch_job(TestCgroups& cgroups, const std::string& job) {
  const WatchingDaemon daemon;
  cgroups.make(job + "/step_batch/user/task_0");
  cgroups.make(job + "/step_0/user/task_0");
  WatchedTask first(probed_cpu());
  WatchedTask late(probed_cpu());
  WatchedTask stranger(probed_cpu());
  cgroups.join(job + "/step_batch/user/task_0", first.pid());
  Background session(daemon.command({"watch", "--cgroup", job, "--follow", "--json", "--duration", "60s"}));
  REQUIRE(eventually([&] { return !session.out().empty(); }));
  cgroups.join(job + "/step_0/user/task_0", late.pid());
  const auto report_so_far = [&] { return report_in(session.out().substr(0, session.out().rfind('\n'))); };
  REQUIRE(eventually([&] {
    for (WatchedTask* task : {&first, &late, &stranger}) task->work({.busy_ns = 1'000'000, .naps = 1});
    return has_task(report_so_far(), late);
  }));
  session.signal(SIGTERM);
  const WatchReport report = report_in(session.wait().out);
  CHECK(has_task(report, first));
  CHECK(has_task(report, late));
  CHECK_FALSE(has_task(report, stranger));
  CHECK(report.tasks_seen == 2);
}

}  // namespace

TEST_CASE("watch cgroup: version 1, a job of Slurm's") {
  TestCgroups cgroups(true, false);
  watch_job(cgroups, "/slurm/uid_1000/job_77");
}

TEST_CASE("watch cgroup: version 2, a job of Slurm's") {
  TestCgroups cgroups(false, true);
  watch_job(cgroups, "/system.slice/noised-test.scope/job_77");
}

TEST_CASE("watch cgroup: both versions, the job in each") {
  TestCgroups cgroups(true, true);
  watch_job(cgroups, "/slurm/uid_1000/job_77");
}
