// SPDX-License-Identifier: Apache-2.0
#include "noisectl/density_visitor.h"

#include <utility>

namespace noised::client {

std::vector<std::uint64_t> PauseVisitor::bounds() const {
  std::vector<std::uint64_t> bounds;
  bounds.reserve(cpus_.size());
  for (std::size_t i = 0; i < cpus_.size(); ++i)
    bounds.push_back(cpus_[i].bound_ns(playback_.description().base.cpus[i].threshold_ns));
  return bounds;
}

DensityVisitor::DensityVisitor(const Playback& playback, const std::vector<std::uint64_t>& bounds)
    : playback_(playback) {
  cpus_.reserve(bounds.size());
  for (const std::uint64_t bound_ns : bounds) cpus_.push_back(std::make_unique<Distributions>(bound_ns));
}

std::vector<DensityComparison> DensityVisitor::finish() {
  std::vector<DensityComparison> comparisons;
  comparisons.reserve(cpus_.size());
  for (std::size_t i = 0; i < cpus_.size(); ++i) comparisons.push_back(cpus_[i]->finish(playback_.cpu_number(i)));
  return comparisons;
}

DensityCurves DensityVisitor::all() const {
  Histogram user;
  Histogram rebuilt;
  for (const auto& cpu : cpus_) {
    user.merge(cpu->user());
    rebuilt.merge(cpu->rebuilt());
  }
  return estimate_densities(user, rebuilt);
}

Result<Densities> densities_of(const Measured& measured) {
  auto first = measured.play();
  if (!first) return first.error();
  PauseVisitor pauses(first.value().playback());
  play_all(first.value(), &pauses);
  auto second = measured.play();
  if (!second) return second.error();
  DensityVisitor visitor(second.value().playback(), pauses.bounds());
  play_all(second.value(), &visitor);
  std::vector<DensityComparison> cpus = visitor.finish();
  DensityCurves all = visitor.all();
  return Densities{std::move(second).value(), std::move(cpus), std::move(all)};
}

}  // namespace noised::client
