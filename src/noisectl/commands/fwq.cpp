// SPDX-License-Identifier: Apache-2.0
// noisectl fwq: the time of each portion of work in ns, one a line, as in FWQ's fwq_times.dat.
#include <memory>

#include <fmt/format.h>

#include "noisectl/commands/series.h"

namespace noised::client {
namespace {

// An error where the loop took no samples.
Status print_fwq(const SeriesOptions& options, recording::Player& player, std::size_t place) {
  if (player.playback().description().work == 0) {
    return failure("the time of portions of the loop's work was not taken",
                   "start noised with --work 100000, or set work in [probe] of its configuration");
  }
  SeriesText text;
  text.lines = [](const analysis::Quantum& quantum) { return fmt::format("{}\n", quantum.length_ns()); };
  return print_quanta(player, place, false, options.json, text);
}

class FwqCommand final : public SeriesCommand<SeriesOptions> {
 public:
  FwqCommand() : SeriesCommand("fwq", "time taken by each portion of work, as FWQ prints it") {}

  Status run() override {
    return run_series(options, [this](const Measured&, recording::Player& player, std::size_t place) {
      return print_fwq(options, player, place);
    });
  }
};

}  // namespace

std::unique_ptr<Command> fwq_command() { return std::make_unique<FwqCommand>(); }

}  // namespace noised::client
