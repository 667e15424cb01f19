// SPDX-License-Identifier: Apache-2.0
// Two clocks of one thing: each is followed by what it moved on.
#include "pipeline/steal_counts.h"

#include <algorithm>

#include <noised/abi.h>

namespace noised::pipeline {
namespace {

constexpr std::uint64_t kIntervalNs = 1'000'000'000;
constexpr const char* kTicks = "ticks";  // a source, as system::StealClock::kSource

}  // namespace

StealCounts::StealCounts(system::KernelEvents& kernel, system::StealClock* clock, std::span<const unsigned> cpus,
                         std::uint64_t now_ns)
    : kernel_(kernel), clock_(clock), looked_ns_(now_ns) {
  if (clock_ == nullptr) return;
  const std::vector<std::uint64_t>& stat_ns = clock_->read();
  for (const unsigned cpu : cpus) {
    read(cpus_.emplace_back(Cpu{.cpu = cpu}), stat_ns);
    cpus_.back().stolen_ns = 0;
  }
}

// What ticks counted before the first of them was seen here, they did since the look before.
void StealCounts::read(Cpu& cpu, const std::vector<std::uint64_t>& stat_ns) {
  const volatile noised_cpu& state = kernel_.state(cpu.cpu);
  cpu.by_tick = state.steal_known != 0;
  const std::uint64_t listed_ns = cpu.cpu < stat_ns.size() ? stat_ns[cpu.cpu] : system::kNeverListed;
  const std::uint64_t now_ns = cpu.by_tick ? state.steal_ns : listed_ns;
  std::uint64_t& then_ns = cpu.by_tick ? cpu.tick_ns : cpu.stat_ns;
  if (now_ns == system::kNeverListed) return;
  cpu.stolen_ns += now_ns - std::min(then_ns, now_ns);
  then_ns = now_ns;
}

void StealCounts::look(std::uint64_t now_ns, const OnStolen& on_stolen) {
  if (clock_ == nullptr || (!wanted_ && now_ns - looked_ns_ < kIntervalNs)) return;
  wanted_ = false;
  looked_ns_ = now_ns;
  const bool all_by_tick = std::ranges::all_of(cpus_, &Cpu::by_tick);
  const std::vector<std::uint64_t>& stat_ns = all_by_tick ? clock_->last() : clock_->read();
  for (std::size_t place = 0; place < cpus_.size(); ++place) {
    const std::uint64_t before_ns = cpus_[place].stolen_ns;
    read(cpus_[place], stat_ns);
    if (on_stolen) on_stolen(place, cpus_[place].stolen_ns - before_ns, step_ns(cpus_[place]));
  }
}

void StealCounts::fill(account::Snapshot& snapshot) const {
  for (std::size_t place = 0; place < cpus_.size(); ++place) {
    account::CpuSnapshot& cpu = snapshot.cpus[place];
    cpu.steal_ns = cpus_[place].stolen_ns;
    cpu.steal_step_ns = step_ns(cpus_[place]);
    cpu.steal_source = cpus_[place].by_tick ? kTicks : system::StealClock::kSource;
  }
}

}  // namespace noised::pipeline
