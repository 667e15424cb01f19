// SPDX-License-Identifier: Apache-2.0
// malloc, mlock and affinity.
#include "noised/low_noise.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/cpus.h"

namespace noised::daemon {
namespace {

// Once locked, the main thread's stack may not grow past RLIMIT_MEMLOCK: the process would die. So it has grown before;
// what it needs is a few KiB.
[[gnu::noinline]] void grow_stack() {
  constexpr std::size_t kBytes = std::size_t{256} * 1024;
  constexpr std::size_t kPage = 4096;
  std::array<volatile char, kBytes> space;
  for (std::size_t at = 0; at < kBytes; at += kPage) space[at] = 0;
}

}  // namespace

void keep_heap() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  // It fails on no kernel that has huge pages.
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

void trim_heap() { malloc_trim(0); }

Status lock_memory(bool future) {
  grow_stack();
  // On fault, not at once: locking the unused part of every stack and library would take 20 MiB.
  if (mlockall(MCL_CURRENT | (future ? MCL_FUTURE : 0) | MCL_ONFAULT) == 0) return success();
  return failure(fmt::format("mlockall: {}", std::strerror(errno)),
                 "grant CAP_IPC_LOCK or raise RLIMIT_MEMLOCK, or page faults of the loop's own may show up as noise");
}

Status confine_to(const std::vector<unsigned>& cpus) {
  const CpuSet set(cpus);
  const int code = sched_setaffinity(0, set.bytes(), set.get());
  if (code == 0) return success();
  return failure(fmt::format("sched_setaffinity to CPUs {}: {}", format_cpu_list(cpus), std::strerror(errno)),
                 "check this process's cpuset");
}

}  // namespace noised::daemon
