// SPDX-License-Identifier: Apache-2.0
// selfish and latencytest: single gaps, as their authors print them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "noisectl/output.h"
#include "noisectl/series.h"
#include "statistics/moments.h"
#include "views/json_parts.h"
#include "views/views.h"

namespace noised::client {
namespace {

// Lameter's threshold.
constexpr std::uint64_t kLatencyNs = 1'000;

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

Totals totals_of(const Player& player, std::size_t place) {
  const Report report = player.report();
  const ReportCpu& cpu = report.cpus.at(place);
  return {cpu.observed_ns, cpu.iterations, cpu.detour_ns, cpu.threshold_ns};
}

/// The detours of one CPU.
template <typename Use>
class Detours : public PlayerVisitor {
 public:
  Detours(std::size_t place, const Use& use) : place_(place), use_(use) {}
  void detour(std::size_t cpu, const Ledger& ledger, std::string_view /*details*/) override {
    if (cpu == place_) use_(ledger);
  }

 private:
  std::size_t place_;
  const Use& use_;
};

template <typename Use>
void play_detours(Player& player, std::size_t place, const Use& use) {
  Detours<Use> detours(place, use);
  play_all(player, &detours);
}

/// Interruptions over 1 us: how many are how long, in whole microseconds up to the next power of two.
class LatencyHistogram {
 public:
  void add(const Ledger& ledger) {
    const std::uint64_t duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
    if (duration_ns <= kLatencyNs) return;
    moments_.add(duration_ns);
    ++octaves_[static_cast<std::size_t>(std::bit_width(duration_ns / 1'000))];
    const bool switched = std::any_of(ledger.entries.begin(), ledger.entries.end(),
                                      [](const LedgerEntry& entry) { return entry.kind == Kind::task; });
    if (switched) ++with_task_;
  }
  [[nodiscard]] const Moments& moments() const { return moments_; }
  [[nodiscard]] std::uint64_t with_task() const { return with_task_; }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t k = 1; k < octaves_.size(); ++k) {
      if (octaves_[k] == 0) continue;
      text += fmt::format("{:>12}  {:>12}  {:>10}\n", std::uint64_t{1} << (k - 1), (std::uint64_t{1} << k) - 1,
                          octaves_[k]);
    }
    return text;
  }

 private:
  Moments moments_;
  std::uint64_t with_task_ = 0;
  std::array<std::uint64_t, 65> octaves_{};
};

std::uint64_t migrations(const Report& report, unsigned cpu) {
  std::uint64_t count = 0;
  for (const ReportLoss& loss : report.lost.by) {
    if (loss.cpu == cpu && loss.reason == "loop_moved") count += loss.count;
  }
  return count;
}

std::string latency_text(const Player& player, std::size_t place, const LatencyHistogram& histogram) {
  const Report report = player.report();
  const ReportCpu& cpu = report.cpus.at(place);
  const Moments& events = histogram.moments();
  const auto& switches = player.playback().counts().cpus.at(place).switches;
  return fmt::format(
             "CPU {}, policy {}, {} observed\n{} events over 1 us, {} in the mean, {} at most\n"
             "involuntary context switches: {} by the scheduler's count; in {} events another task ran\n"
             "migrations: {}\n{}lost: {}\n\n{:>12}  {:>12}  {:>10}\n",
             cpu.cpu, player.playback().counts().status.policy, views::format_duration(cpu.observed_ns), events.count(),
             views::format_duration(events.mean_ns()), views::format_duration(events.max_ns()),
             switches ? std::to_string(*switches) : "not known", histogram.with_task(), migrations(report, cpu.cpu),
             cpu.threshold_ns <= kLatencyNs ? std::string()
                                            : fmt::format("the threshold was {}: shorter events are not seen\n",
                                                          views::format_duration(cpu.threshold_ns)),
             views::lost_text(report.lost), "from (us)", "to (us)", "events") +
         histogram.text();
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

}  // namespace

Status print_selfish(const Measured& measured, std::size_t place) {
  // What is at its head is known at the end only: a first pass for that, a second for the lines.
  auto first = measured.play();
  if (!first) return first.error();
  play_detours(first.value(), place, [](const Ledger&) {});
  const Totals totals = totals_of(first.value(), place);
  auto second = measured.play();
  if (!second) return second.error();
  Output output(stdout);
  output.write(selfish_head(totals));
  std::optional<std::uint64_t> first_ns;
  double noise_ns = 0;
  play_detours(second.value(), place, [&](const Ledger& ledger) {
    const Detour& detour = ledger.detour;
    if (!first_ns) first_ns = detour.start_ns;
    const double taken_ns = static_cast<double>(detour.end_ns - detour.start_ns) - totals.cycle_ns();
    noise_ns += taken_ns;
    // Signed: where the clock was mapped anew, a detour may seem to come before the first.
    const auto at_ns = static_cast<double>(static_cast<std::int64_t>(detour.start_ns - *first_ns));
    output.write(fmt::format("{:.2f}\t{:.2f}\n", at_ns, taken_ns));
  });
  // netgauge ends with a detour, ours when its time is over: the period is all that was observed.
  const auto period_ns = static_cast<double>(totals.observed_ns);
  output.write(fmt::format("# CPU overhead due to noise: {:.2f}%\n# Measurement period: {:.2f} s\n# lost: {}\n",
                           period_ns > 0 ? 100 * noise_ns / period_ns : 0.0, period_ns / 1e9,
                           views::lost_text(second.value().report().lost)));
  if (Status written = output.finish(); !written) return written;
  return Measured::whole(second.value());
}

Status print_latencytest(const Measured& measured, std::size_t place) {
  auto player = measured.play();
  if (!player) return player.error();
  LatencyHistogram histogram;
  play_detours(player.value(), place, [&](const Ledger& ledger) { histogram.add(ledger); });
  Output output(stdout);
  output.write(latency_text(player.value(), place, histogram));
  if (Status written = output.finish(); !written) return written;
  return Measured::whole(player.value());
}

}  // namespace noised::client
