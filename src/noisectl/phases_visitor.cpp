// SPDX-License-Identifier: Apache-2.0
#include "noisectl/phases_visitor.h"

#include <algorithm>

namespace noised::client {

views::PhaseSetting phase_setting(const Description& description) {
  if (description.grain_ns == 0) return {};
  return {description.grain_ns, description.footprint_bytes, description.policy};
}

void FirstPhases::sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) {
  if (enough()) return;
  Cpu& of = cpus_[cpu];
  if (iterations != 0 && of.last_ns && end_ns > *of.last_ns) {
    const std::uint64_t length_ns = end_ns - *of.last_ns;
    of.shortest_ns = of.phases == 0 ? length_ns : std::min(of.shortest_ns, length_ns);
    of.iterations = iterations;
    if (++of.phases == kEnough) --too_few_;
  }
  of.last_ns = end_ns;
}

bool FirstPhases::any() const {
  return std::any_of(cpus_.begin(), cpus_.end(), [](const Cpu& cpu) { return cpu.phases != 0; });
}

FixedPhases::FixedPhases(const Playback& playback, const FirstPhases& first) : playback_(playback) {
  const std::uint64_t footprint_bytes = phase_setting(playback.description()).footprint_bytes.value_or(0);
  for (const FirstPhases::Cpu& cpu : first.cpus()) {
    const std::size_t reach = phases_paying(cpu.shortest_ns, cpu.iterations, footprint_bytes);
    cpus_.push_back(std::make_unique<PhaseAnalysis>(playback.sources(), reach));
    iterations_.push_back(cpu.iterations);
  }
}

std::vector<views::CpuPhases> FixedPhases::finish(const Report& report) {
  std::vector<views::CpuPhases> cpus;
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    cpus_[i]->finish();
    cpus.push_back(views::phases_of(playback_.cpu_number(i), *cpus_[i], playback_.sources(), report));
    cpus.back().iterations = iterations_[i];
  }
  return cpus;
}

}  // namespace noised::client
