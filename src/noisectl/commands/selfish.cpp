// SPDX-License-Identifier: Apache-2.0
// noisectl selfish: each detour with its time since the first, as selfish (netgauge) writes it, in ns.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "model/json_parts.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/series.h"
#include "views/lost.h"

namespace noised::client {
namespace {

struct Totals {
  std::uint64_t observed_ns = 0;
  std::uint64_t iterations = 0;
  std::uint64_t detour_ns = 0;
  std::uint64_t threshold_ns = 0;

  /// What an iteration takes where nothing interrupts it, in ns, in the mean.
  [[nodiscard]] double cycle_ns() const {
    const std::uint64_t running_ns = observed_ns - std::min(observed_ns, detour_ns);
    return iterations == 0 ? 0 : static_cast<double>(running_ns) / static_cast<double>(iterations);
  }
};

Totals totals_of(const recording::Player& player, std::size_t place) {
  const Report report = player.report();
  const ReportCpu& cpu = report.cpus.at(place);
  return {cpu.observed_ns, cpu.iterations, cpu.detour_ns, cpu.threshold_ns};
}

// The form of netgauge's file, and one line more: its cycle is the shortest, ours the mean of the undisturbed.
std::string selfish_head(const Totals& totals) {
  return fmt::format(
      "# Selfish Benchmark\n# Minimal cycle length [ns]: {:.6f} \n# That is the mean of what is below the threshold\n"
      "# Number of iterations (recorded+unrecorded): {} \n"
      "# Threshold: [% minimal cycle length]: {:.0f} \n# Time [ns]\tselfish duration [ns]\n",
      totals.cycle_ns(), totals.iterations,
      totals.cycle_ns() > 0 ? 100 * static_cast<double>(totals.threshold_ns) / totals.cycle_ns() : 0.0);
}

Json head_json(const recording::Player& player, std::size_t place, const Totals& totals) {
  return {{"schema", "noised.selfish/1"},        {"cpu", player.playback().description().base.cpus.at(place).cpu},
          {"observed_ns", totals.observed_ns},   {"iterations", totals.iterations},
          {"threshold_ns", totals.threshold_ns}, {"cycle_ns", totals.cycle_ns()}};
}

Status print_selfish(const SeriesOptions& options, const Measured& measured, std::size_t place) {
  // What is at its head is known at the end only: a first pass for that, a second for the lines.
  auto first = measured.play();
  if (!first) return first.error();
  play_detours(first.value(), place, [](const account::DetourLedger&) {});
  const Totals totals = totals_of(first.value(), place);
  auto second = measured.play();
  if (!second) return second.error();
  Output output(stdout);
  output.write(options.json ? open_array(head_json(first.value(), place, totals), "detours") : selfish_head(totals));
  std::optional<std::uint64_t> first_ns;
  bool first_item = true;
  double noise_ns = 0;
  play_detours(second.value(), place, [&](const account::DetourLedger& ledger) {
    const Detour& detour = ledger.detour;
    if (!first_ns) first_ns = detour.start_ns;
    const double taken_ns = static_cast<double>(detour.end_ns - detour.start_ns) - totals.cycle_ns();
    noise_ns += taken_ns;
    // Signed: where the clock was mapped anew, a detour may seem to come before the first.
    const auto at_ns = static_cast<std::int64_t>(detour.start_ns - *first_ns);
    output.write(options.json ? next_item({{"at_ns", at_ns}, {"taken_ns", taken_ns}}, first_item)
                              : fmt::format("{:.2f}\t{:.2f}\n", static_cast<double>(at_ns), taken_ns));
  });
  // netgauge ends with a detour, ours when its time is over: the period is all that was observed.
  const auto period_ns = static_cast<double>(totals.observed_ns);
  const ReportLost lost = second.value().report().lost;
  output.write(options.json
                   ? close_array("lost", lost_json(lost))
                   : fmt::format("# CPU overhead due to noise: {:.2f}%\n# Measurement period: {:.2f} s\n# lost: {}\n",
                                 period_ns > 0 ? 100 * noise_ns / period_ns : 0.0, period_ns / 1e9,
                                 views::lost_text(lost)));
  if (Status written = output.finish(); !written) return written;
  return Measured::whole(second.value());
}

class SelfishCommand final : public SeriesCommand<SeriesOptions> {
 public:
  SelfishCommand() : SeriesCommand("selfish", "each detour, as selfish (netgauge) prints it") {}

  Status run() override {
    return run_series(options, [this](const Measured& measured, recording::Player&, std::size_t place) {
      return print_selfish(options, measured, place);
    });
  }
};

}  // namespace

std::unique_ptr<Command> selfish_command() { return std::make_unique<SelfishCommand>(); }

}  // namespace noised::client
