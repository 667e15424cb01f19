// SPDX-License-Identifier: Apache-2.0
// munmap: memory unmapped while another thread of the process runs on the CPU, whose TLB must forget it.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "selftest/generator.h"
#include "selftest/victim.h"

namespace noised::selftest {
namespace {

constexpr std::size_t kUnmappedPages = 64;
constexpr int kProtection = PROT_READ | PROT_WRITE;
constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;

}  // namespace

// A hole in the middle of a mapping: its page tables stay, so there is one flush only, and filling it again needs none.
Result<Truth> generate_munmap(const GeneratorOptions& options) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = kUnmappedPages * page;
  void* const mapped = mmap(nullptr, bytes, kProtection, kFlags, -1, 0);
  if (mapped == MAP_FAILED) return refused("mmap", errno);
  void* const middle = static_cast<char*>(mapped) + bytes / 4;
  const std::size_t half = bytes / 2;
  const auto fill = [=] { (void)mmap(middle, half, kProtection, kFlags | MAP_FIXED, -1, 0); };
  const auto unmap = [=] { munmap(middle, half); };
  unmap();
  Result<Truth> truth = attack(options, {"noised-munmap", fill, unmap, "TLB"});
  munmap(mapped, bytes);
  if (!truth || !truth.value().unsupported.empty()) return truth;
  truth.value().how = "munmap, while a thread of the process spins on the CPU";
  truth.value().sources = {{"csd", "flush_tlb_func"}};
  truth.value().fallback = {{"vector", "call_function_single"}, {"vector", "call_function"}};
  return truth;
}

}  // namespace noised::selftest
