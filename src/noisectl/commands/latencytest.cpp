// SPDX-License-Identifier: Apache-2.0
// noisectl latencytest: number, mean and histogram of interruptions over 1 us, with what the scheduler did (Lameter
// 2009, 5.2).
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "model/json_parts.h"
#include "model/moments.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/series.h"
#include "views/lost.h"
#include "views/views.h"

namespace noised::client {
namespace {

// Lameter's threshold.
constexpr std::uint64_t kLatencyNs = 1'000;

/// Interruptions over 1 us: how many are how long, in whole microseconds up to the next power of two.
class LatencyHistogram {
 public:
  void add(const account::DetourLedger& ledger) {
    const std::uint64_t duration_ns = ledger.detour.end_ns - ledger.detour.start_ns;
    if (duration_ns <= kLatencyNs) return;
    moments_.add(duration_ns);
    ++octaves_[static_cast<std::size_t>(std::bit_width(duration_ns / 1'000))];
    const bool switched = std::any_of(ledger.entries.begin(), ledger.entries.end(),
                                      [](const account::LedgerEntry& entry) { return entry.kind == Kind::task; });
    if (switched) ++with_task_;
  }
  [[nodiscard]] const Moments& moments() const { return moments_; }
  [[nodiscard]] std::uint64_t with_task() const { return with_task_; }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t k = 1; k < octaves_.size(); ++k) {
      if (octaves_[k] == 0) continue;
      text += fmt::format("{:>12}  {:>12}  {:>10}\n", from_us(k), to_us(k), octaves_[k]);
    }
    return text;
  }
  [[nodiscard]] Json json() const {
    Json rows = Json::array();
    for (std::size_t k = 1; k < octaves_.size(); ++k) {
      if (octaves_[k] != 0) rows.push_back({{"from_us", from_us(k)}, {"to_us", to_us(k)}, {"events", octaves_[k]}});
    }
    return rows;
  }

 private:
  [[nodiscard]] static std::uint64_t from_us(std::size_t octave) { return std::uint64_t{1} << (octave - 1); }
  [[nodiscard]] static std::uint64_t to_us(std::size_t octave) { return (std::uint64_t{1} << octave) - 1; }

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

std::string latency_text(const recording::Player& player, std::size_t place, const LatencyHistogram& histogram) {
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

std::string latency_json(const recording::Player& player, std::size_t place, const LatencyHistogram& histogram) {
  const Report report = player.report();
  const ReportCpu& cpu = report.cpus.at(place);
  const Moments& events = histogram.moments();
  const auto& switches = player.playback().counts().cpus.at(place).switches;
  return dump({{"schema", "noised.latencytest/1"},
               {"cpu", cpu.cpu},
               {"policy", player.playback().counts().status.policy},
               {"observed_ns", cpu.observed_ns},
               {"threshold_ns", cpu.threshold_ns},
               {"events", events.count()},
               {"mean_ns", events.mean_ns()},
               {"max_ns", events.max_ns()},
               {"switches", switches ? Json(*switches) : Json(nullptr)},
               {"with_task", histogram.with_task()},
               {"migrations", migrations(report, cpu.cpu)},
               {"histogram", histogram.json()},
               {"lost", lost_json(report.lost)}}) +
         "\n";
}

Status print_latencytest(const SeriesOptions& options, const Measured& measured, std::size_t place) {
  auto player = measured.play();
  if (!player) return player.error();
  LatencyHistogram histogram;
  play_detours(player.value(), place, [&](const account::DetourLedger& ledger) { histogram.add(ledger); });
  Output output(stdout);
  output.write(options.json ? latency_json(player.value(), place, histogram)
                            : latency_text(player.value(), place, histogram));
  if (Status written = output.finish(); !written) return written;
  return Measured::whole(player.value());
}

class LatencytestCommand final : public SeriesCommand<SeriesOptions> {
 public:
  LatencytestCommand() : SeriesCommand("latencytest", "interruptions over 1us, and what the scheduler did") {}

  Status run() override {
    return run_series(options, [this](const Measured& measured, recording::Player&, std::size_t place) {
      return print_latencytest(options, measured, place);
    });
  }
};

}  // namespace

std::unique_ptr<Command> latencytest_command() { return std::make_unique<LatencytestCommand>(); }

}  // namespace noised::client
