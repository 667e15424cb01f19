// SPDX-License-Identifier: Apache-2.0
#include "noisectl/replay_command.h"

#include <cstdio>
#include <optional>

#include "noisectl/histogram_cpu.h"
#include "noisectl/measured.h"
#include "noisectl/output.h"
#include "noisectl/peak_command.h"
#include "noisectl/report_command.h"
#include "recording/player.h"
#include "views/views.h"

namespace noised::client {
namespace {

/// Prints the detours of a recording that were asked for.
class DetourLines : public PlayerVisitor {
 public:
  DetourLines(const Options& options, const Playback& playback)
      : options_(options), playback_(playback), left_(options.count) {}

  void detour(std::size_t cpu, const Ledger& ledger, std::string_view details) override {
    if (is_wanted(ledger)) print(to_view(playback_, cpu, ledger, details));
  }
  void loss(std::size_t cpu, const Loss& loss, const Ledger& ledger, std::string_view details) override {
    if (is_wanted(ledger)) print(to_view(playback_, cpu, loss, ledger, details));
  }
  [[nodiscard]] bool done() const { return done_; }
  Status finish() { return output_.finish(); }

 private:
  [[nodiscard]] bool is_wanted(const Ledger& ledger) const {
    return !done_ && ledger.detour.end_ns - ledger.detour.start_ns >= options_.min_ns;
  }
  void print(const DetourView& view) {
    done_ = !output_.write((options_.json ? views::to_json(view) : views::to_text(view)) + "\n") ||
            (left_ && --*left_ == 0);
  }

  const Options& options_;
  const Playback& playback_;
  std::optional<std::uint64_t> left_;
  Output output_{stdout};
  bool done_ = false;
};

Status print_detours(const Options& options, Player& player) {
  DetourLines lines(options, player.playback());
  while (!lines.done() && player.step(&lines)) {
  }
  return lines.finish();
}

template <typename View>
Status print_view(const Options& options, const View& view) {
  Output output(stdout);
  std::string text = options.json ? views::to_json(view) : views::to_text(view);
  if (text.empty() || text.back() != '\n') text += '\n';
  output.write(text);
  return output.finish();
}

Status show(const Options& options, Player& player) {
  if (options.command == Command::detours) return print_detours(options, player);
  if (options.command == Command::histogram && options.range) return print_peak(options, player);
  play_all(player);
  if (options.command == Command::report) return print_report(options, player.report());
  if (options.command == Command::status) return print_view(options, player.status());
  HistogramView histograms = player.histograms();
  if (options.cpu) {
    if (Status kept = keep_cpu(*options.cpu, histograms); !kept) return kept;
  }
  return print_view(options, histograms);
}

}  // namespace

Status run_replay(const Options& options) {
  auto player = Player::open(options.replay);
  if (!player) return player.error();
  if (Status shown = show(options, player.value()); !shown) return shown;
  if (player.value().damage().empty()) return success();
  return failure(player.value().damage(), "everything before that was shown");
}

}  // namespace noised::client
