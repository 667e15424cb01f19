// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/baseline.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "analysis/baseline/baseline.h"
#include "base/files.h"
#include "export/new_file.h"
#include "model/json_parts.h"
#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "recording/block.h"
#include "views/baseline.h"
#include "views/baseline_file.h"
#include "views/views.h"

namespace noised::client {
namespace {

// A daemon that wakes up once a second occurs in most blocks of it (baseline_diff.h).
constexpr std::uint64_t kBaselineDurationNs = 30'000'000'000;
constexpr std::size_t kLargestFile = std::size_t{16} << 20U;  // 4096 sources in every block are 11 MB

class BlockVisitor : public recording::PlayerVisitor {
 public:
  explicit BlockVisitor(const recording::Playback& playback)
      : base_(playback.description().base),
        collector_(playback.sources(), base_.cpus.size(), base_.clock.monotonic_ns) {}

  // Of recordings from before they had a clock, nobody knows when they began if the loop was running before.
  void begins(std::size_t cpu, std::uint64_t first_ns) override {
    if (base_.clock.monotonic_ns != 0 || base_.cpus[cpu].observed_ns == 0) collector_.begin(cpu, first_ns);
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    collector_.skip(cpu, start_ns, end_ns);
  }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    collector_.add(cpu, ledger);
  }
  analysis::BaselineCollector& collector() { return collector_; }

 private:
  const recording::Counts& base_;
  analysis::BaselineCollector collector_;
};

std::string start_of(const recording::Description& description) {
  const std::uint64_t since_1970 = description.base.clock.realtime_ns / 1'000'000'000;
  if (since_1970 == 0) return {};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(since_1970)));
}

std::vector<std::string> seen_kinds(const StatusView& status) {
  std::vector<std::string> kinds;
  for (const ProgramView& program : status.programs)
    if (!program.attached.empty()) kinds.push_back(program.kind);
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

Result<analysis::Baseline> baseline_of(const Measured& measured) {
  auto player = measured.play();
  if (!player) return player.error();
  BlockVisitor visitor(player.value().playback());
  play_all(player.value(), &visitor);
  if (Status whole = Measured::whole(player.value()); !whole)
    return failure(whole.error().what, "a baseline needs a whole recording");
  const recording::Description& description = player.value().playback().description();
  const StatusView status = player.value().status();
  const Report report = player.value().report();
  analysis::Baseline run;
  run.host = status.host;
  run.kernel = status.kernel;
  run.boot_parameters = description.boot_parameters;
  run.processor = description.processor;
  run.start = start_of(description);
  run.policy = status.policy;
  run.duty_percent = status.duty_percent;
  run.kinds = seen_kinds(status);
  run.unsupported = status.unsupported;
  run.lost = report.lost;
  for (const ReportCpu& cpu : report.cpus) run.cpus.push_back({cpu.cpu, cpu.threshold_ns, cpu.observed_ns});
  visitor.collector().finish(run);
  return run;
}

Result<analysis::Baseline> measure(const BaselineOptions& options, std::uint64_t usual_duration_ns) {
  MeasureOptions with_duration = options;
  if (!with_duration.duration_ns) with_duration.duration_ns = usual_duration_ns;
  const auto measured = Measured::get(with_duration);
  if (!measured) return measured.error();
  return baseline_of(measured.value());
}

bool is_recording(const std::string& path) {
  std::string head(recording::kRecordingMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == recording::kRecordingMagic;
}

Result<analysis::Baseline> read_baseline(const std::string& path) {
  if (is_recording(path))
    return usage_error(path + " is a recording, and no baseline",
                       "make one of it: noisectl --replay " + path + " baseline save FILE");
  const auto text = read_file(path, kLargestFile);
  if (!text) return failure(text.error().what, "make it with 'noisectl baseline save'");
  auto baseline = views::parse_baseline(text.value());
  if (!baseline) return failure(path + ": " + baseline.error().what, "make it with 'noisectl baseline save'");
  return baseline;
}

std::uint64_t longest_observed_ns(const analysis::Baseline& run) {
  std::uint64_t longest_ns = 0;
  for (const analysis::BaselineCpu& cpu : run.cpus) longest_ns = std::max(longest_ns, cpu.observed_ns);
  return longest_ns;
}

// Creates options.file from what is measured, or from a recording.
Status save_baseline(const BaselineOptions& options) {
  if (Status can = exports::NewFile::can_create(options.file); !can) return can;
  const auto run = measure(options, kBaselineDurationNs);
  if (!run) return run.error();
  // It would be of no use, which is better known now than when the machine has changed.
  if (const auto itself = analysis::compare(run.value(), run.value()); !itself) return itself.error();
  auto file = exports::NewFile::create(options.file);
  if (!file) return file.error();
  file.value().write(views::to_json(run.value()) + "\n");
  if (Status written = file.value().finish(); !written) return written;
  file.value().keep();
  const std::uint64_t observed_ns = longest_observed_ns(run.value());
  const std::size_t sources = run.value().sources.size();
  Output output(options.json ? stdout : stderr);
  output.write(options.json ? dump({{"schema", "noised.saved/1"},
                                    {"file", options.file},
                                    {"observed_ns", observed_ns},
                                    {"sources", sources},
                                    {"lost", lost_json(run.value().lost)}}) +
                                  "\n"
                            : fmt::format("noisectl: saved {} of time, {} sources\n",
                                          views::format_duration(observed_ns), sources));
  return output.finish();
}

// Prints what is different from options.file; where something is, that is the error, with exit code 3.
Status diff_baseline(const BaselineOptions& options) {
  const auto before = read_baseline(options.file);
  if (!before) return before.error();
  const auto after = measure(options, longest_observed_ns(before.value()));
  if (!after) return after.error();
  const auto diff = analysis::compare(before.value(), after.value());
  if (!diff) return Error{options.file + ": " + diff.error().what, diff.error().remedy, diff.error().code};
  Output output(stdout);
  output.write(options.json ? views::to_json(diff.value(), before.value(), after.value()) + "\n"
                            : views::to_text(diff.value(), before.value(), after.value()));
  if (Status done = output.finish(); !done) return done;
  if (!diff.value().different()) return success();
  return Error{"not as in " + options.file, views::differences_text(diff.value()), ExitCode::noisy};
}

class BaselineCommand final : public CommandOf<BaselineOptions> {
 public:
  BaselineCommand() : CommandOf("baseline", "what has changed on this machine") {}

  void describe(CLI::App& sub) override {
    sub.require_subcommand(1);
    CLI::App* save = sub.add_subcommand("save", "keep what the machine is like in a file");
    save->callback([this] { options.save = true; });
    save->add_option("FILE", options.file, "the file to create")->required()->check(not_empty());
    add_duration(*save, duration_, "of a daemon: measure so long (30s)");
    add_json(*save, options.json);
    CLI::App* diff = sub.add_subcommand("diff", "what is not as it was, and ends with 3 if anything is");
    diff->add_option("FILE", options.file, "what was saved")->required()->check(not_empty());
    add_duration(*diff, duration_, "of a daemon: measure so long (as long as what was saved)");
    add_json(*diff, options.json);
  }
  Status read() override { return read_duration(duration_, options.duration_ns); }
  [[nodiscard]] Status check_replay() const override { return check_no_duration(options.duration_ns); }
  Status run() override { return options.save ? save_baseline(options) : diff_baseline(options); }

 private:
  std::string duration_;
};

}  // namespace

std::unique_ptr<Command> baseline_command() { return std::make_unique<BaselineCommand>(); }

}  // namespace noised::client
