// SPDX-License-Identifier: Apache-2.0
// A machine with several NUMA nodes: tasks on CPUs of each are watched together.
#include <sched.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "measurement.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

std::vector<unsigned> cpus_of_node(unsigned node) {
  const auto list = read_file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  return list ? parse_cpu_file(list.value()).value() : std::vector<unsigned>();
}

// The last measured CPU of each node that has one.
std::vector<unsigned> one_of_each_node() {
  const std::vector<unsigned> measured = measured_cpus();
  std::vector<unsigned> chosen;
  for (unsigned node = 0;; ++node) {
    std::vector<unsigned> cpus = cpus_of_node(node);
    if (cpus.empty()) return chosen;
    std::erase_if(cpus, [&](unsigned cpu) { return std::ranges::find(measured, cpu) == measured.end(); });
    if (!cpus.empty()) chosen.push_back(cpus.back());
  }
}

}  // namespace

TEST_CASE(
    "nodes: tasks under load on CPUs of each node, and one that changes its node, are told as the kernel counts") {
  const std::vector<unsigned> cpus = one_of_each_node();
  if (cpus.size() < 2) SKIP("this machine has one node with CPUs that are measured");
  const WatchingDaemon daemon;
  std::deque<WatchedTask> tasks;
  std::deque<WatchedTask> rivals;
  for (const unsigned cpu : cpus) {
    tasks.emplace_back(cpu);
    rivals.emplace_back(cpu);
  }
  // A task never comes to an idle CPU: what it waits until that is awake, noised tells and the kernel does not count.
  // Of four emulated CPUs on two real ones, it can be 3 ms.
  const auto work_on_all = [&] {
    std::vector<std::jthread> working;
    for (std::size_t place = 0; place < cpus.size(); ++place)
      working.emplace_back([&, place] { rivals[place].work({.busy_ns = 600'000'000}); });
    for (const WatchedTask& rival : rivals) rival.wait_until_it_runs();
    for (std::size_t place = 0; place < cpus.size(); ++place) {
      working.emplace_back([&, place] { tasks[place].work({.busy_ns = 200'000'000, .naps = 20, .pages = 100}); });
    }
  };
  // Whichever is asked for, all of them work.
  for (std::size_t place = 0; place < cpus.size(); ++place) {
    INFO("the task of CPU " << cpus[place]);
    const KernelCounts before = counts_of(tasks[place].pid());
    const WatchReport report = watched_while(daemon, tasks[place].pid(), work_on_all);
    check_as_the_kernel(report, tasks[place].pid(), before, counts_of(tasks[place].pid()));
    CHECK(report.counts.migrations == 0);
    CHECK(report.counts.involuntary > 0);
  }
  const KernelCounts before = counts_of(tasks[0].pid());
  const WatchReport report = watched_while(daemon, tasks[0].pid(), [&] {
    work_on_all();
    const CpuSet there({cpus[1]});
    REQUIRE(sched_setaffinity(tasks[0].pid(), there.bytes(), there.get()) == 0);
    work_on_all();
  });
  check_as_the_kernel(report, tasks[0].pid(), before, counts_of(tasks[0].pid()));
  CHECK(report.counts.migrations == 1);
}
