// SPDX-License-Identifier: Apache-2.0
// A byte, to and fro.
#include "switch_cost.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "base/cpus.h"
#include "base/files.h"

namespace noised::live {

std::uint64_t switch_cost_ns() {
  constexpr int kRounds = 100;
  std::array<int, 2> there{-1, -1};
  std::array<int, 2> back{-1, -1};
  if (pipe(there.data()) != 0) return 0;
  const std::array<Descriptor, 2> to{Descriptor(there[0]), Descriptor(there[1])};
  if (pipe(back.data()) != 0) return 0;
  const std::array<Descriptor, 2> fro{Descriptor(back[0]), Descriptor(back[1])};
  const CpuSet here({static_cast<unsigned>(sched_getcpu())});
  std::vector<std::uint64_t> rounds;
  const std::jthread echo([&] {
    sched_setaffinity(0, here.bytes(), here.get());
    char byte = 0;
    for (int round = 0; round < kRounds && read(there[0], &byte, 1) == 1; ++round) {
      if (write(back[1], &byte, 1) != 1) return;
    }
  });
  std::jthread([&] {
    sched_setaffinity(0, here.bytes(), here.get());
    char byte = 0;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t start_ns = monotonic_ns();
      if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return;
      rounds.push_back(monotonic_ns() - start_ns);
    }
  }).join();
  std::ranges::sort(rounds);
  return rounds.empty() ? 0 : rounds[rounds.size() / 2] / 2;
}

}  // namespace noised::live
