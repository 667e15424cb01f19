// SPDX-License-Identifier: Apache-2.0
// membarrier: memory barriers on all CPUs that run this process.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "selftest/generator.h"
#include "selftest/victim.h"

namespace noised::selftest {

Result<Truth> generate_membarrier(const GeneratorOptions& options) {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
    return refused("membarrier", errno);
  const auto barrier = [] { syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); };
  Result<Truth> truth = attack(options, {"noised-barrier", [] {}, barrier, "CAL"});
  if (!truth || !truth.value().unsupported.empty()) return truth;
  truth.value().how = "membarrier, while a thread of the process spins on the CPU";
  truth.value().sources = {{"csd", "ipi_mb"}};
  truth.value().fallback = {{"vector", "call_function_single"}, {"vector", "call_function"}};
  return truth;
}

}  // namespace noised::selftest
