// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/page_maker.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "noisectl/commands/advise.h"
#include "noisectl/commands/density.h"
#include "noisectl/commands/project.h"
#include "noisectl/commands/visitors.h"
#include "page/charts.h"

namespace noised::client {
namespace {

// Each source of each CPU takes up to some 350 KB, and of all together by age up to some 4 MB: four CPUs, 60 MB at
// most.
constexpr std::size_t kMostPageSources = 20;
constexpr std::size_t kLeastPageSources = 4;
constexpr std::size_t kMostPageSourcesOfAllCpus = 40;
constexpr std::size_t kMostCpusWithSources = 256;  // with more of them, it is not told whose the delays are

std::size_t most_page_sources(std::size_t cpus) {
  if (cpus > kMostCpusWithSources) return 0;
  return std::clamp(kMostPageSourcesOfAllCpus / std::max<std::size_t>(cpus, 1), kLeastPageSources, kMostPageSources);
}

Error changed_meanwhile() { return failure("the recording changed while it was read", "wait until it is finished"); }

/// What the second time needs of the first.
struct FirstTime {
  explicit FirstTime(const recording::Playback& playback)
      : totals(playback),
        pauses(playback),
        tasks(playback.sources()),
        lengths(playback.description().base.cpus.size()) {}

  ObservedTotals totals;
  PauseVisitor pauses;
  TaskVisitor tasks;
  FirstPhases lengths;
  std::vector<std::uint64_t> bounds;  // that divide stretches, by CPU
  std::vector<analysis::RemovableSource> projected;
};

/// Its player is gone afterwards: a quarter of a megabyte for each CPU, which the next one needs too.
Result<std::unique_ptr<FirstTime>> play_first(const Measured& measured, PageParts& parts) {
  auto opened = measured.play();
  if (!opened) return opened.error();
  recording::Player& player = opened.value();
  const recording::Playback& playback = player.playback();
  auto first = std::make_unique<FirstTime>(playback);
  parts.collector = std::make_unique<page::Collector>(playback);
  Visitors visitors({parts.collector.get(), &first->totals, &first->pauses, &first->tasks, &first->lengths});
  play_all(player, &visitors);
  first->totals.finish();
  first->bounds = first->pauses.bounds();
  first->projected = first->totals.sources().choose(most_page_sources(first->bounds.size()), playback.sources());
  parts.report = player.report();
  parts.collector->finish(parts.report);
  parts.status = player.status();
  parts.description = playback.description();
  parts.whole = Measured::whole(player);
  parts.merged = page::merge(parts.report, player.histograms());
  return first;
}

Status set_density(DensityVisitor& visitor, PageParts& parts) {
  std::vector<analysis::DensityComparison> cpus = visitor.finish();
  std::uint64_t detours = 0;
  for (const analysis::DensityComparison& cpu : cpus) detours += cpu.detours;
  if (detours != parts.merged.all.detours.count()) return changed_meanwhile();
  parts.density = page::density_chart(visitor.all(), std::move(cpus));
  return success();
}

Status play_second(const Measured& measured, const FirstTime& first, const PageOptions& options, PageParts& parts) {
  auto opened = measured.play();
  if (!opened) return opened.error();
  recording::Player& player = opened.value();
  const recording::Playback& playback = player.playback();
  const analysis::Machine machine = analysis::read_machine(parts.description, options.here, first.tasks.pids());
  page::Tails tails(parts.merged.sources, playback);
  DensityVisitor densities(playback, first.bounds, first.pauses.overheads());
  PhasesVisitor sliding(playback, first.totals, options.grain_ns, first.projected);
  AdviceVisitor advice(playback, machine);
  std::vector<recording::PlayerVisitor*> visitors{&tails, &densities, &sliding, &advice};
  if (of_fixed_work(parts.description) && first.lengths.any()) {
    parts.fixed = std::make_unique<FixedPhases>(playback, first.lengths);
    visitors.push_back(parts.fixed.get());
  }
  Visitors all(std::move(visitors));
  play_all(player, &all);
  if (!tails.set(parts.merged.sources)) return changed_meanwhile();
  if (Status set = set_density(densities, parts); !set) return set;
  sliding.finish();
  const auto delays = parse_delays(kUsualDelayText);
  assert(delays);
  parts.projection = projection_of({options.grain_ns, options.nodes, {}, first.projected, nullptr, delays.value()},
                                   first.totals, sliding, playback);
  advice.collector().finish();
  parts.advice = analysis::advise(advice.collector(), playback.sources(), machine, parts.report);
  if (parts.fixed != nullptr) parts.phases = {parts.fixed->finish(parts.report), phase_setting(parts.description)};
  return success();
}

}  // namespace

page::PageInput PageParts::input() const {
  return {report, status, description, *collector, merged, density, projection, advice, phases};
}

Result<std::unique_ptr<PageParts>> collect_page(const Measured& measured, const PageOptions& options) {
  auto parts = std::make_unique<PageParts>();
  const auto first = play_first(measured, *parts);
  if (!first) return first.error();
  if (Status played = play_second(measured, *first.value(), options, *parts); !played) return played.error();
  return parts;
}

}  // namespace noised::client
