// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/histogram.h"

#include <memory>
#include <string>

#include "base/units.h"
#include "noisectl/client/answer.h"
#include "noisectl/client/measured.h"
#include "noisectl/commands/options.h"
#include "noisectl/replay/replay.h"
#include "views/peak.h"
#include "views/views.h"

namespace noised::client {
namespace {

class PeakVisitor : public recording::PlayerVisitor {
 public:
  PeakVisitor(const HistogramOptions& options, const recording::Playback& playback)
      : cpu_(options.cpu),
        playback_(playback),
        counter_(playback.sources(), options.range->low_ns, options.range->high_ns) {}

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    if (!cpu_ || playback_.cpu_number(cpu) == *cpu_) counter_.add(ledger);
  }
  void loss(std::size_t cpu, const account::Loss& /*loss*/, const account::DetourLedger& ledger,
            std::string_view details) override {
    detour(cpu, ledger, details);
  }
  [[nodiscard]] const analysis::PeakCounter& counter() const { return counter_; }

 private:
  std::optional<unsigned> cpu_;
  const recording::Playback& playback_;
  analysis::PeakCounter counter_;
};

Status print_durations(const HistogramOptions& options, const views::PeakView& view) {
  return print_text(options.json ? views::to_json(view) : views::to_text(view));
}

Status print_durations(const HistogramOptions& options, const HistogramView& view) {
  return print_text(options.json ? views::to_json(view) : views::to_text(view, options.all));
}

Status keep_chosen_cpu(const HistogramOptions& options, HistogramView& view) {
  return options.cpu ? keep_cpu(*options.cpu, view) : success();
}

Status show_replayed(const HistogramOptions& options, recording::Player& player) {
  std::optional<PeakVisitor> peak;
  if (options.range) peak.emplace(options, player.playback());
  play_all(player, peak ? &*peak : nullptr);
  HistogramView histograms = player.histograms();
  if (Status kept = keep_chosen_cpu(options, histograms); !kept) return kept;
  if (!peak) return print_durations(options, histograms);
  return print_durations(options, views::peak_of(peak->counter(), player.playback().sources(), options.range->low_ns,
                                                 options.range->high_ns, player.report()));
}

Status run_histogram(const HistogramOptions& options) {
  if (!options.replay.empty())
    return run_replay(options.replay, [&options](recording::Player& player) { return show_replayed(options, player); });
  if (!options.cpu && !options.range) {
    return show_answer(
        options.socket, "/v1/histogram", options.json, views::parse_histogram,
        [&options](const HistogramView& view) { return print_durations(options, view); },
        [](const HistogramView&) { return success(); });
  }
  Result<HttpClient> client = HttpClient::create(options.socket);
  if (!client) return client.error();
  const Result<std::string> body = client.value().get("/v1/histogram", kAnswerTime);
  if (!body) return body.error();
  Result<HistogramView> view = views::parse_histogram(body.value());
  if (!view) return view.error();
  if (Status kept = keep_chosen_cpu(options, view.value()); !kept) return kept;
  if (!options.range) return print_durations(options, view.value());
  return print_durations(options, views::peak_of(view.value(), options.range->low_ns, options.range->high_ns));
}

Status read_range(const std::string& text, std::optional<DurationRange>& range) {
  if (text.empty()) return success();
  const std::size_t dash = text.find('-');
  const auto low = parse_time(text.substr(0, dash));
  const auto high = parse_time(dash == std::string::npos ? "" : text.substr(dash + 1));
  if (!low || !high || low.value() > high.value())
    return usage_error("--range " + text + " is no range of durations", "give such as 100us-110us");
  range = DurationRange{low.value(), high.value()};
  return success();
}

class HistogramCommand final : public CommandOf<HistogramOptions> {
 public:
  HistogramCommand() : CommandOf("histogram", "how long detours and their sources last") {}

  void describe(CLI::App& sub) override {
    sub.add_option("--range", range_, "who makes up this range, such as 100us-110us")
        ->check(not_empty())
        ->type_name("TIME-TIME");
    add_cpu(sub, options.cpu, "only this CPU");
    add_json(sub, options.json);
    sub.add_flag("--all", options.all, "every source, not only the five that took most time")
        ->excludes("--range")
        ->excludes("--json");
  }
  Status read() override { return read_range(range_, options.range); }
  Status run() override { return run_histogram(options); }

 private:
  std::string range_;
};

}  // namespace

std::unique_ptr<Command> histogram_command() { return std::make_unique<HistogramCommand>(); }

}  // namespace noised::client
