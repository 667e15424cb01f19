// SPDX-License-Identifier: Apache-2.0
#include "page/density_chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace noised::page {
namespace {

constexpr std::size_t kMostCpus = 8;

std::string number(const std::optional<double>& distance) {
  return distance ? fmt::format("{:.4f}", *distance) : "not defined";
}

std::string cpu_note(const DensityComparison& cpu) {
  return fmt::format(
      " CPU {}: {} as seen; {} without the {} detours that have no kernel activity and the {} stretches in no detour; "
      "{} once overhead and time without a cause are taken out too.",
      cpu.cpu, number(cpu.as_seen), number(cpu.with_activity), cpu.detours - cpu.detours_with_activity,
      cpu.stretches - cpu.stretches_in_detours, number(cpu.explained));
}

std::string note(const DensityCurves& all, std::vector<DensityComparison>& cpus) {
  std::string text = fmt::format(
      "Parzen windows: Gaussian over the logarithm of the duration, {:.3f} decades wide. Distance of the two (of "
      "Kolmogorov and Smirnov; 0 is the same, 1 apart altogether)",
      all.bandwidth);
  std::stable_sort(cpus.begin(), cpus.end(), [](const DensityComparison& one, const DensityComparison& other) {
    return one.explained.value_or(0) > other.explained.value_or(0);
  });
  if (cpus.size() > kMostCpus) {
    text += fmt::format(", of the {} of {} CPUs where most of it stays unexplained", kMostCpus, cpus.size());
    cpus.resize(kMostCpus);
  }
  text += ":";
  for (const DensityComparison& cpu : cpus) text += cpu_note(cpu);
  return text;
}

}  // namespace

DensityChart density_chart(const DensityCurves& all, std::vector<DensityComparison> cpus) {
  DensityChart chart;
  chart.unit = "share per tenfold of the duration";
  chart.note = note(all, cpus);
  DensityCurve user{"seen by the loop", {}};
  DensityCurve rebuilt{"rebuilt from the kernel's events", {}};
  for (const DensityPoint& point : all.points) {
    user.points.emplace_back(point.duration_ns, point.user);
    rebuilt.points.emplace_back(point.duration_ns, point.rebuilt);
  }
  if (!all.points.empty()) chart.curves = {std::move(user), std::move(rebuilt)};
  return chart;
}

}  // namespace noised::page
