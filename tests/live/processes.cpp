// SPDX-License-Identifier: Apache-2.0
// sched_setaffinity(2) and /proc/PID/smaps_rollup.
#include "processes.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"

namespace noised::live {

bool may_run_on(pid_t task, unsigned cpu) {
  cpu_set_t set;
  return sched_getaffinity(task, sizeof(set), &set) == 0 && CPU_ISSET(cpu, &set) != 0;
}

void move_to(pid_t task, unsigned cpu) {
  const CpuSet there({cpu});
  REQUIRE(sched_setaffinity(task, there.bytes(), there.get()) == 0);
}

std::uint64_t resident_kib(pid_t pid) {
  for (const std::string& line : lines_of(read_file("/proc/" + std::to_string(pid) + "/smaps_rollup").value())) {
    if (line.starts_with("Rss:")) return std::strtoull(line.c_str() + 4, nullptr, 10);
  }
  FAIL("smaps_rollup has no Rss");
  return 0;
}

Elsewhere::Elsewhere(unsigned cpu) {
  REQUIRE(sched_getaffinity(0, sizeof(before_), &before_) == 0);
  cpu_set_t others = before_;
  CPU_CLR(cpu, &others);
  REQUIRE(sched_setaffinity(0, sizeof(others), &others) == 0);
}

Elsewhere::~Elsewhere() { sched_setaffinity(0, sizeof(before_), &before_); }

}  // namespace noised::live
