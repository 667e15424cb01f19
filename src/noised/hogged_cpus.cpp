// SPDX-License-Identifier: Apache-2.0
// A thread for each CPU; who does not come back is fetched.
#include "noised/hogged_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "base/cpus.h"

namespace noised::daemon {
namespace {

// Where the kernel leaves a twentieth of each second to ordinary threads (sched_rt_runtime_us), they get it by then.
constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kLook{1};

struct Visit {
  std::atomic<pid_t> visitor{0};
  std::atomic<bool> over{false};
  bool was_there = true;
};

void visit(unsigned cpu, Visit& visit) {
  visit.visitor = gettid();
  const CpuSet there({cpu});
  // What refuses this CPU will say so where it is needed.
  if (sched_setaffinity(0, there.bytes(), there.get()) == 0) visit.was_there = sched_getcpu() == static_cast<int>(cpu);
  visit.over = true;
}

}  // namespace

std::vector<unsigned> hogged_cpus(const std::vector<unsigned>& cpus) {
  const auto here = allowed_cpus();
  if (!here || here.value().affinity.empty()) return {};
  const CpuSet home(here.value().affinity);
  std::deque<Visit> visits(cpus.size());
  {
    std::vector<std::jthread> visitors;
    visitors.reserve(cpus.size());
    for (std::size_t at = 0; at < cpus.size(); ++at)
      visitors.emplace_back([cpu = cpus[at], &of = visits[at]] { visit(cpu, of); });
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!std::ranges::all_of(visits, [](const Visit& each) { return each.over.load(); })) {
      std::this_thread::sleep_for(kLook);
      if (std::chrono::steady_clock::now() < end) continue;
      // From there the kernel's own thread brings it, which no priority holds up.
      for (const Visit& late : visits)
        if (!late.over && late.visitor != 0) (void)sched_setaffinity(late.visitor, home.bytes(), home.get());
    }
  }
  std::vector<unsigned> hogged;
  for (std::size_t at = 0; at < cpus.size(); ++at)
    if (!visits[at].was_there) hogged.push_back(cpus[at]);
  return hogged;
}

}  // namespace noised::daemon
