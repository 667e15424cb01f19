// SPDX-License-Identifier: Apache-2.0
#include "noisectl/project_command.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "noisectl/measured.h"
#include "noisectl/output.h"
#include "noisectl/project_visitor.h"
#include "views/project.h"

namespace noised::client {
namespace {

// Each source costs 60 ns a detour and CPU, in 24 blocks of time some 10 KB each: 250 MB at most, and 7 s for five
// million detours.
constexpr std::size_t kMostSources = 20;
constexpr std::size_t kLeastSources = 4;
constexpr std::size_t kMostOfAllCpus = 1024;

std::size_t most_sources(std::size_t cpus) {
  return std::clamp(kMostOfAllCpus / std::max<std::size_t>(cpus, 1), kLeastSources, kMostSources);
}

}  // namespace

Status run_project(const Options& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto first = measured.value().play();
  if (!first) return first.error();
  const Playback& counted = first.value().playback();
  ObservedTotals totals(counted);
  play_all(first.value(), &totals);
  totals.finish();
  const std::size_t cpus = counted.description().base.cpus.size();

  ProjectionInput input{options.projected_grain_ns, options.nodes, {}, {}};
  input.sources = totals.sources().choose(most_sources(cpus), counted.sources());
  auto second = measured.value().play();
  if (!second) return second.error();
  Player& player = second.value();
  PhasesVisitor phases(player.playback(), totals, options.projected_grain_ns, input.sources);
  play_all(player, &phases);
  phases.finish();

  views::ProjectionView view = projection_of(std::move(input), totals, phases, player.playback());
  view.report = player.report();
  Output output(stdout);
  output.write(options.json ? views::to_json(view) + "\n" : views::to_text(view));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

}  // namespace noised::client
