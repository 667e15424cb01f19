// SPDX-License-Identifier: Apache-2.0
// noisectl ftq: the work of each quantum of time, or what that says against the ledger.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "analysis/fixed_work/quanta.h"
#include "model/json_parts.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/series.h"
#include "views/lost.h"
#include "views/views.h"

namespace noised::client {
namespace {

struct FtqOptions : SeriesOptions {
  bool compare = false;  ///< with the ledger, in place of the series
};

Status need_quanta(const recording::Description& description) {
  if (description.quantum_ns != 0) return success();
  return failure("the loop's work was not counted in quanta of time",
                 "start noised with --quantum 1ms, or set quantum in [probe] of its configuration");
}

std::string agreement_line(const char* what, const analysis::Agreement& agreement) {
  const auto correlation = agreement.correlation();
  return fmt::format("{:<26}  {:>11}  {:>15.0f}  {:>11.0f}  {:>17.0f}\n", what,
                     correlation ? fmt::format("{:.4f}", *correlation) : "-", agreement.mean_reference(),
                     agreement.bias(), agreement.bias_deviation());
}

std::string agreement_text(const analysis::FtqAgreement& ftq, std::uint64_t quantum_ns, const ReportLost& lost) {
  const analysis::Agreement& detours = ftq.with_detours();
  return fmt::format(
             "{} quanta of {}; an iteration takes {:.3f} ns in the fastest 1% of them; by the work that is missing, "
             "{:.0f} ns of a "
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

Json agreement_json(const analysis::Agreement& agreement) {
  const auto correlation = agreement.correlation();
  return {{"correlation", correlation ? Json(*correlation) : Json(nullptr)},
          {"mean_ns", agreement.mean_reference()},
          {"bias_ns", agreement.bias()},
          {"bias_deviation_ns", agreement.bias_deviation()}};
}

std::string agreement_json(const analysis::FtqAgreement& ftq, std::uint64_t quantum_ns, const ReportLost& lost) {
  return dump({{"schema", "noised.ftq/1"},
               {"quantum_ns", quantum_ns},
               {"quanta", ftq.with_detours().count()},
               {"lost", lost_json(lost)},
               {"iteration_ns", ftq.iteration_ns()},
               {"missing_work_mean_ns", ftq.with_detours().mean_value()},
               {"detours", agreement_json(ftq.with_detours())},
               {"intervals", agreement_json(ftq.with_intervals())},
               {"quiet", {{"quanta", ftq.in_quiet().count()}, {"bias_ns", ftq.in_quiet().mean_value()}}}}) +
         "\n";
}

// FTQ's own file: comments, and "START COUNT" a line for each quantum that passed, START in ns since the first. What it
// sums up at the head, of all its samples in memory, is at the end here.
class FtqFile {
 public:
  explicit FtqFile(std::uint64_t quantum_ns) : rows_(quantum_ns) {}

  std::string lines(const analysis::Quantum& quantum) {
    text_.clear();
    rows_.add(quantum, [this](const analysis::FtqRow& row) { write(row); });
    return text_;
  }
  std::string tail() {
    text_.clear();
    rows_.finish([this](const analysis::FtqRow& row) { write(row); });
    if (count_ == 0) return text_;
    const std::uint64_t possible = most_ * count_;
    return text_ + fmt::format("# Total count is {}\n# Max possible work is {}\n# Fraction is {:g}\n", total_, possible,
                               possible == 0 ? 0 : static_cast<double>(total_) / static_cast<double>(possible));
  }

 private:
  void write(const analysis::FtqRow& row) {
    if (!first_ns_) first_ns_ = row.start_ns;
    if (row.unobserved != 0) text_ += fmt::format("# {} quanta were not observed here\n", row.unobserved);
    text_ += fmt::format("{} {}\n", row.start_ns - std::min(row.start_ns, *first_ns_), row.iterations);
    ++count_;
    total_ += row.iterations;
    most_ = std::max(most_, row.iterations);
  }

  analysis::FtqRows rows_;
  std::optional<std::uint64_t> first_ns_;
  std::string text_;
  std::uint64_t count_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t most_ = 0;
};

// An error where the loop took no samples.
Status print_ftq(const FtqOptions& options, recording::Player& player, std::size_t place) {
  const recording::Description& description = player.playback().description();
  if (Status sampled = need_quanta(description); !sampled) return sampled;
  FtqFile file(description.quantum_ns);
  SeriesText text;
  text.head = fmt::format("# Frequency {:f}\n# core {}\n", 1e9 / static_cast<double>(description.quantum_ns),
                          description.base.cpus.at(place).cpu);
  text.lines = [&](const analysis::Quantum& quantum) { return file.lines(quantum); };
  text.tail = [&] { return file.tail(); };
  return print_quanta(player, place, true, options.json, text);
}

// What FTQ's missing work says against detours and intervals: correlation and bias (Morari 2011, figure 1).
Status compare_ftq(const FtqOptions& options, const Measured& measured, std::size_t place) {
  auto first = measured.play();
  if (!first) return first.error();
  const recording::Description description = first.value().playback().description();
  if (Status sampled = need_quanta(description); !sampled) return sampled;
  analysis::FtqAgreement ftq;
  Quanta calibration(place, true, [&](const analysis::Quantum& quantum) {
    ftq.calibrate(quantum);
    return true;
  });
  calibration.play(first.value());
  if (!calibration.any()) return whole_series(first.value(), false);
  auto second = measured.play();
  if (!second) return second.error();
  Quanta(place, true, [&](const analysis::Quantum& quantum) {
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

class FtqCommand final : public SeriesCommand<FtqOptions> {
 public:
  FtqCommand() : SeriesCommand("ftq", "work done in each quantum of time, as FTQ prints it") {}

  void describe(CLI::App& sub) override {
    SeriesCommand::describe(sub);
    sub.add_flag("--compare", options.compare, "what it says against the ledger, instead");
  }
  Status run() override {
    return run_series(options, [this](const Measured& measured, recording::Player& player, std::size_t place) {
      return options.compare ? compare_ftq(options, measured, place) : print_ftq(options, player, place);
    });
  }
};

}  // namespace

std::unique_ptr<Command> ftq_command() { return std::make_unique<FtqCommand>(); }

}  // namespace noised::client
