// SPDX-License-Identifier: Apache-2.0
// One CPU's series out of what was measured: each form in a file of its own (series_*.cpp).
#include "noisectl/series_command.h"

#include <fmt/format.h>

#include "noisectl/measured.h"
#include "noisectl/series.h"

namespace noised::client {
namespace {

// The place of the CPU that was asked for; of the only one if none was.
Result<std::size_t> place_of_cpu(const Options& options, const Playback& playback) {
  const std::vector<CpuCounts>& cpus = playback.description().base.cpus;
  if (!options.cpu && cpus.size() == 1) return std::size_t{0};
  for (std::size_t place = 0; options.cpu && place < cpus.size(); ++place) {
    if (cpus[place].cpu == *options.cpu) return place;
  }
  return usage_error(options.cpu ? fmt::format("--cpu {}: this CPU was not measured", *options.cpu)
                                 : fmt::format("{} CPUs were measured, a series is of one", cpus.size()),
                     "choose one with --cpu, such as --cpu " + (cpus.empty() ? "1" : std::to_string(cpus[0].cpu)));
}

}  // namespace

Status run_series(const Options& options) {
  auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto player = measured.value().play();
  if (!player) return player.error();
  const auto place = place_of_cpu(options, player.value().playback());
  if (!place) return place.error();
  switch (options.command) {
    case Command::ftq:
      return options.compare ? compare_ftq(options, measured.value(), place.value())
                             : print_ftq(player.value(), place.value());
    case Command::fwq:
      return print_fwq(player.value(), place.value());
    case Command::selfish:
      return print_selfish(measured.value(), place.value());
    default:
      return print_latencytest(measured.value(), place.value());
  }
}

}  // namespace noised::client
