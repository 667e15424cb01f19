// SPDX-License-Identifier: Apache-2.0
// cache: other CPUs write to much memory. It may slow this CPU down, but nothing happens on it.
#include <vector>

#include "base/clocks.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"

namespace noised::selftest {
namespace {

constexpr const char* kCacheName = "noised-cache";
constexpr std::size_t kBytes = std::size_t{16} << 20U;  // more than a CPU's share of any cache
constexpr std::size_t kLine = 64;
// Half of the time: the daemon, too, runs on these CPUs.
constexpr std::uint64_t kCachePeriod = 4'000'000;

void thrash(std::vector<unsigned char>& memory, const Window& window) {
  std::size_t at = 0;
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += kCachePeriod) {
    sleep_until(next);
    while (monotonic_ns() < next + kCachePeriod / 2) {
      for (std::size_t i = 0; i < 256; ++i, at = (at + kLine) % kBytes)
        static_cast<volatile unsigned char&>(memory[at]) = 1;
    }
  }
}

}  // namespace

Result<Truth> generate_cache(const GeneratorOptions& options) {
  Truth truth;
  truth.shape = Shape::absence;
  truth.how = "memory written on other CPUs: nothing may show on this one";
  truth.sources = {{"task", kCacheName}};
  std::vector<std::vector<unsigned char>> memory;
  memory.reserve(options.others.size());  // the threads refer to its elements
  GeneratorThreads threads;
  for (const unsigned other : options.others) {
    std::vector<unsigned char>& thrashed = memory.emplace_back(kBytes);
    threads.add({kCacheName, other, false, 0}, [&thrashed](const Window& window) { thrash(thrashed, window); });
  }
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  if (!window) return window.error();
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
