// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/series.h"

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "model/json_parts.h"
#include "noisectl/client/output.h"
#include "views/lost.h"

namespace noised::client {
namespace {

// The place of the CPU that was asked for; of the only one if none was.
Result<std::size_t> place_of_cpu(const SeriesOptions& options, const recording::Playback& playback) {
  const std::vector<recording::CpuCounts>& cpus = playback.description().base.cpus;
  if (!options.cpu && cpus.size() == 1) return std::size_t{0};
  for (std::size_t place = 0; options.cpu && place < cpus.size(); ++place) {
    if (cpus[place].cpu == *options.cpu) return place;
  }
  return usage_error(options.cpu ? fmt::format("--cpu {}: this CPU was not measured", *options.cpu)
                                 : fmt::format("{} CPUs were measured, a series is of one", cpus.size()),
                     "choose one with --cpu, such as --cpu " + (cpus.empty() ? "1" : std::to_string(cpus[0].cpu)));
}

/// The detours of one CPU.
class CpuDetours : public recording::PlayerVisitor {
 public:
  CpuDetours(std::size_t place, std::function<void(const account::DetourLedger&)> use)
      : place_(place), use_(std::move(use)) {}
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    if (cpu == place_) use_(ledger);
  }

 private:
  std::size_t place_;
  std::function<void(const account::DetourLedger&)> use_;
};

}  // namespace

Status run_series(const SeriesOptions& options,
                  const std::function<Status(const Measured&, recording::Player&, std::size_t place)>& print) {
  auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto player = measured.value().play();
  if (!player) return player.error();
  const auto place = place_of_cpu(options, player.value().playback());
  if (!place) return place.error();
  return print(measured.value(), player.value(), place.value());
}

void play_detours(recording::Player& player, std::size_t place, std::function<void(const account::DetourLedger&)> use) {
  CpuDetours detours(place, std::move(use));
  play_all(player, &detours);
}

Status whole_series(const recording::Player& player, bool any) {
  if (Status whole = Measured::whole(player); !whole) return whole;
  if (any) return success();
  return failure("not one whole quantum was recorded of this CPU", "record for longer, or choose shorter ones");
}

std::string open_array(const Json& head, const char* name) {
  std::string text = dump(head);
  text.pop_back();
  return text + fmt::format(",\"{}\":[", name);
}

std::string next_item(const Json& item, bool& first) { return (std::exchange(first, false) ? "" : ",") + dump(item); }

std::string close_array(const char* name, const Json& last) { return fmt::format("],\"{}\":{}}}\n", name, dump(last)); }

Status print_quanta(recording::Player& player, std::size_t place, bool whole, bool json, const SeriesText& text) {
  Output output(stdout);
  const recording::Description& description = player.playback().description();
  if (json)
    output.write(open_array({{"schema", "noised.samples/1"},
                             {"cpu", description.base.cpus.at(place).cpu},
                             {"quantum_ns", description.quantum_ns},
                             {"work", description.work}},
                            "samples"));
  if (!json) output.write(text.head);
  bool first = true;
  std::uint64_t first_ns = 0;
  Quanta quanta(place, whole, [&](const analysis::Quantum& quantum) {
    if (!json) return output.write(text.lines(quantum));
    if (first) first_ns = quantum.start_ns;
    return output.write(next_item({{"start_ns", quantum.start_ns - first_ns},
                                   {"length_ns", quantum.length_ns()},
                                   {"iterations", quantum.iterations}},
                                  first));
  });
  quanta.play(player);
  const ReportLost lost = player.report().lost;
  output.write(json ? close_array("lost", lost_json(lost)) : text.tail());
  if (Status written = output.finish(); !written) return written;
  if (!json && views::anything_lost(lost)) fmt::print(stderr, "noisectl: lost: {}\n", views::lost_text(lost));
  return whole_series(player, quanta.any());
}

}  // namespace noised::client
