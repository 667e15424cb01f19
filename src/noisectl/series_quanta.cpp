// SPDX-License-Identifier: Apache-2.0
// FTQ and FWQ: the loop's own samples, and what they say against the ledger.
#include <fmt/format.h>

#include <functional>
#include <utility>

#include "analysis/agreement.h"
#include "analysis/quanta.h"
#include "noisectl/output.h"
#include "noisectl/series.h"
#include "views/json_parts.h"
#include "views/views.h"

namespace noised::client {
namespace {

/// Gives every quantum of a CPU, in order; false ends it.
class Quanta : public PlayerVisitor {
 public:
  /// `whole`: quanta of time, without those that a series began in.
  Quanta(std::size_t place, bool whole, std::function<bool(const Quantum&)> use)
      : place_(place), leave_fragments_(whole), use_(std::move(use)) {}

  void interval(std::size_t cpu, const Interval& interval) override {
    if (cpu == place_) series_.add(interval);
  }
  void detour(std::size_t cpu, const Ledger& ledger, std::string_view /*details*/) override {
    if (cpu == place_) series_.add(ledger.detour);
  }
  void begins(std::size_t cpu, std::uint64_t /*first_ns*/) override {
    if (cpu == place_) series_.interrupt();
  }
  void gap(std::size_t cpu, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override {
    if (cpu == place_) series_.interrupt();
  }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    if (cpu != place_) return;
    const auto quantum = series_.sample(end_ns, iterations);
    if (!quantum || !more_) return;
    if (leave_fragments_ && quantum->fragment) return;
    any_ = true;
    more_ = use_(*quantum);
  }

  /// There was a quantum.
  [[nodiscard]] bool any() const { return any_; }
  /// Plays until the end, or until nobody wants more.
  void play(Player& player) {
    while (more_ && player.step(this)) {
    }
  }

 private:
  std::size_t place_;
  bool leave_fragments_;
  bool any_ = false;
  std::function<bool(const Quantum&)> use_;
  QuantumSeries series_;
  bool more_ = true;
};

Status need_quanta(const Description& description) {
  if (description.quantum_ns != 0) return success();
  return failure("the loop's work was not counted in quanta of time",
                 "start noised with --quantum 1ms, or set quantum in [probe] of its configuration");
}

Status whole_series(const Player& player, bool any) {
  if (Status whole = Measured::whole(player); !whole) return whole;
  if (any) return success();
  return failure("not one whole quantum was recorded of this CPU", "record for longer, or choose shorter ones");
}

/// Prints a line for each quantum, then says what is damaged, and what was lost where its lines cannot.
template <typename Line>
Status print_lines(Player& player, std::size_t place, bool whole, const Line& line) {
  Output output(stdout);
  Quanta quanta(place, whole, [&](const Quantum& quantum) { return output.write(line(quantum)); });
  quanta.play(player);
  if (Status written = output.finish(); !written) return written;
  const ReportLost lost = player.report().lost;
  if (views::anything_lost(lost)) fmt::print(stderr, "noisectl: lost: {}\n", views::lost_text(lost));
  return whole_series(player, quanta.any());
}

std::string agreement_line(const char* what, const Agreement& agreement) {
  const auto correlation = agreement.correlation();
  return fmt::format("{:<26}  {:>11}  {:>15.0f}  {:>11.0f}  {:>17.0f}\n", what,
                     correlation ? fmt::format("{:.4f}", *correlation) : "-", agreement.mean_reference(),
                     agreement.bias(), agreement.bias_deviation());
}

std::string agreement_text(const FtqAgreement& ftq, std::uint64_t quantum_ns, const ReportLost& lost) {
  const Agreement& detours = ftq.with_detours();
  return fmt::format(
             "{} quanta of {}; an iteration takes {:.3f} ns at best; by the work that is missing, {:.0f} ns of a "
             "quantum are noise, in the mean\n\n{:<26}  {:>11}  {:>15}  {:>11}  {:>17}\n",
             detours.count(), views::format_duration(quantum_ns), ftq.iteration_ns(), detours.mean_value(),
             "FTQ against", "correlation", "mean of it (ns)", "bias (ns)", "its deviation (ns)") +
         agreement_line("detours", detours) + agreement_line("kernel's intervals alone", ftq.with_intervals()) +
         (ftq.in_quiet().count() == 0
              ? std::string("\nno quantum was without a detour\n")
              : fmt::format("\n{} quanta had no detour: FTQ takes {:.0f} ns of each of them for noise\n",
                            ftq.in_quiet().count(), ftq.in_quiet().mean_value())) +
         fmt::format("lost: {}\n", views::lost_text(lost));
}

views::Json agreement_json(const Agreement& agreement) {
  const auto correlation = agreement.correlation();
  return {{"correlation", correlation ? views::Json(*correlation) : views::Json(nullptr)},
          {"mean_ns", agreement.mean_reference()},
          {"bias_ns", agreement.bias()},
          {"bias_deviation_ns", agreement.bias_deviation()}};
}

std::string agreement_json(const FtqAgreement& ftq, std::uint64_t quantum_ns, const ReportLost& lost) {
  return views::dump({{"schema", "noised.ftq/1"},
                      {"quantum_ns", quantum_ns},
                      {"quanta", ftq.with_detours().count()},
                      {"lost", views::lost_json(lost)},
                      {"iteration_ns", ftq.iteration_ns()},
                      {"missing_work_mean_ns", ftq.with_detours().mean_value()},
                      {"detours", agreement_json(ftq.with_detours())},
                      {"intervals", agreement_json(ftq.with_intervals())},
                      {"quiet", {{"quanta", ftq.in_quiet().count()}, {"bias_ns", ftq.in_quiet().mean_value()}}}}) +
         "\n";
}

}  // namespace

Status print_ftq(Player& player, std::size_t place) {
  if (Status sampled = need_quanta(player.playback().description()); !sampled) return sampled;
  std::optional<std::uint64_t> first_ns;
  return print_lines(player, place, true, [&](const Quantum& quantum) {
    if (!first_ns) first_ns = quantum.start_ns;
    return fmt::format("{} {}\n", quantum.start_ns - *first_ns, quantum.iterations);
  });
}

Status print_fwq(Player& player, std::size_t place) {
  if (player.playback().description().work == 0) {
    return failure("the time of portions of the loop's work was not taken",
                   "start noised with --work 100000, or set work in [probe] of its configuration");
  }
  return print_lines(player, place, false,
                     [](const Quantum& quantum) { return fmt::format("{}\n", quantum.length_ns()); });
}

Status compare_ftq(const Options& options, const Measured& measured, std::size_t place) {
  auto first = measured.play();
  if (!first) return first.error();
  const Description description = first.value().playback().description();
  if (Status sampled = need_quanta(description); !sampled) return sampled;
  FtqAgreement ftq;
  Quanta calibration(place, true, [&](const Quantum& quantum) {
    ftq.calibrate(quantum);
    return true;
  });
  calibration.play(first.value());
  if (!calibration.any()) return whole_series(first.value(), false);
  auto second = measured.play();
  if (!second) return second.error();
  Quanta(place, true, [&](const Quantum& quantum) {
    ftq.compare(quantum);
    return true;
  }).play(second.value());
  Output output(stdout);
  const ReportLost lost = second.value().report().lost;
  output.write(options.json ? agreement_json(ftq, description.quantum_ns, lost)
                            : agreement_text(ftq, description.quantum_ns, lost));
  if (Status written = output.finish(); !written) return written;
  return Measured::whole(second.value());
}

}  // namespace noised::client
