// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/density.h"

#include <cstdio>
#include <utility>

#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "views/density.h"

namespace noised::client {

std::vector<std::uint64_t> PauseVisitor::bounds() const {
  std::vector<std::uint64_t> bounds;
  bounds.reserve(cpus_.size());
  for (std::size_t i = 0; i < cpus_.size(); ++i)
    bounds.push_back(cpus_[i].bound_ns(playback_.description().base.cpus[i].threshold_ns));
  return bounds;
}

DensityVisitor::DensityVisitor(const recording::Playback& playback, const std::vector<std::uint64_t>& bounds,
                               const std::vector<analysis::FixedOverheads>& overheads)
    : playback_(playback) {
  cpus_.reserve(bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i)
    cpus_.push_back(std::make_unique<analysis::Distributions>(bounds[i], overheads[i]));
}

std::vector<analysis::DensityComparison> DensityVisitor::finish() {
  std::vector<analysis::DensityComparison> comparisons;
  comparisons.reserve(cpus_.size());
  for (std::size_t i = 0; i < cpus_.size(); ++i) comparisons.push_back(cpus_[i]->finish(playback_.cpu_number(i)));
  return comparisons;
}

analysis::DensityCurves DensityVisitor::all() const {
  Histogram user;
  Histogram rebuilt;
  for (const auto& cpu : cpus_) {
    user.merge(cpu->user());
    rebuilt.merge(cpu->rebuilt());
  }
  return analysis::estimate_densities(user, rebuilt);
}

Result<Densities> densities_of(const Measured& measured) {
  auto first = measured.play();
  if (!first) return first.error();
  PauseVisitor pauses(first.value().playback());
  play_all(first.value(), &pauses);
  auto second = measured.play();
  if (!second) return second.error();
  DensityVisitor visitor(second.value().playback(), pauses.bounds(), pauses.overheads());
  play_all(second.value(), &visitor);
  std::vector<analysis::DensityComparison> cpus = visitor.finish();
  analysis::DensityCurves all = visitor.all();
  return Densities{std::move(second).value(), std::move(cpus), std::move(all)};
}

namespace {

struct DensityOptions : MeasureOptions {
  bool json = false;
};

Status run_density(const DensityOptions& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  const auto densities = densities_of(measured.value());
  if (!densities) return densities.error();
  const recording::Player& player = densities.value().player;
  const std::vector<analysis::DensityComparison>& cpus = densities.value().cpus;
  const Report report = player.report();
  Output output(stdout);
  output.write(options.json ? views::to_json(cpus, report) + "\n" : views::to_text(cpus, report));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

class DensityCommand final : public MeasuredCommand<DensityOptions> {
 public:
  DensityCommand()
      : MeasuredCommand("density", "how long detours are, as the loop saw them and as the kernel's events say") {}

  void describe(CLI::App& sub) override {
    MeasuredCommand::describe(sub);
    add_json(sub, options.json);
  }
  Status run() override { return run_density(options); }
};

}  // namespace

std::unique_ptr<Command> density_command() { return std::make_unique<DensityCommand>(); }

}  // namespace noised::client
