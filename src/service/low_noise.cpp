// SPDX-License-Identifier: Apache-2.0
// malloc, mlock and affinity.
#include "service/low_noise.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/parse.h"

namespace noised {

void keep_heap() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

void trim_heap() { malloc_trim(0); }

Status lock_memory() {
  // On fault, not at once: locking the unused part of every stack and library would take 20 MiB.
  if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0) return success();
  return failure(fmt::format("mlockall: {}", std::strerror(errno)),
                 "grant CAP_IPC_LOCK or raise RLIMIT_MEMLOCK, or page faults of the loop's own may show up as noise");
}

Status confine_to(const std::vector<unsigned>& cpus) {
  const unsigned highest = *std::max_element(cpus.begin(), cpus.end());
  cpu_set_t* set = CPU_ALLOC(highest + 1);
  const std::size_t bytes = CPU_ALLOC_SIZE(highest + 1);
  CPU_ZERO_S(bytes, set);
  for (const unsigned cpu : cpus) CPU_SET_S(cpu, bytes, set);
  const int code = sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
  if (code == 0) return success();
  return failure(fmt::format("sched_setaffinity to CPUs {}: {}", format_cpu_list(cpus), std::strerror(errno)),
                 "check this process's cpuset");
}

}  // namespace noised
