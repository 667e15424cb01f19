// SPDX-License-Identifier: Apache-2.0
#include "noisectl/peak_command.h"

#include <algorithm>
#include <cstdio>

#include "noisectl/histogram_cpu.h"
#include "noisectl/measured.h"
#include "noisectl/output.h"
#include "views/peak.h"

namespace noised::client {
namespace {

class PeakVisitor : public PlayerVisitor {
 public:
  PeakVisitor(const Options& options, const Playback& playback)
      : cpu_(options.cpu),
        playback_(playback),
        counter_(playback.sources(), options.range->low_ns, options.range->high_ns) {}

  void detour(std::size_t cpu, const Ledger& ledger, std::string_view /*details*/) override {
    if (!cpu_ || playback_.cpu_number(cpu) == *cpu_) counter_.add(ledger);
  }
  void loss(std::size_t cpu, const Loss& /*loss*/, const Ledger& ledger, std::string_view details) override {
    detour(cpu, ledger, details);
  }
  [[nodiscard]] const PeakCounter& counter() const { return counter_; }

 private:
  std::optional<unsigned> cpu_;
  const Playback& playback_;
  PeakCounter counter_;
};

Status print(const Options& options, const views::PeakView& peak) {
  Output output(stdout);
  output.write(options.json ? views::to_json(peak) + "\n" : views::to_text(peak));
  return output.finish();
}

}  // namespace

Status print_peak(const Options& options, Player& player) {
  PeakVisitor visitor(options, player.playback());
  play_all(player, &visitor);
  if (options.cpu) {
    HistogramView histograms = player.histograms();
    if (Status kept = keep_cpu(*options.cpu, histograms); !kept) return kept;
  }
  return print(options, views::peak_of(visitor.counter(), player.playback().sources(), options.range->low_ns,
                                       options.range->high_ns, player.report()));
}

Status print_peak(const Options& options, const HistogramView& histograms) {
  return print(options, views::peak_of(histograms, options.range->low_ns, options.range->high_ns));
}

}  // namespace noised::client
