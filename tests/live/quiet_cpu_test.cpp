// SPDX-License-Identifier: Apache-2.0
// A test leaves the machine as it was, however it ends.
#include "quiet_cpu.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "base/cpus.h"
#include "command.h"
#include "measurement.h"
#include "processes.h"

using namespace noised::live;

namespace {}  // namespace

TEST_CASE("quiet CPU: other tasks have it back in the end, also if the test is killed") {
  const unsigned cpu = probed_cpu();
  const Background task({"taskset", "-c", noised::format_cpu_list(noised::online_cpus().value()), "sleep", "60"});
  REQUIRE(eventually([&] { return may_run_on(task.pid(), cpu); }));  // not so by itself where the CPU is isolated
  {
    const QuietCpu quiet(cpu);
    CHECK_FALSE(may_run_on(task.pid(), cpu));
  }
  CHECK(may_run_on(task.pid(), cpu));
  const pid_t killed = fork();
  REQUIRE(killed >= 0);
  if (killed == 0) {
    const QuietCpu quiet(cpu);
    if (!may_run_on(task.pid(), cpu)) kill(getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(killed, &status, 0) == killed);
  CHECK(WIFSIGNALED(status));
  CHECK(eventually([&] { return may_run_on(task.pid(), cpu); }));
}
