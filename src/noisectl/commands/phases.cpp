// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/phases.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "noisectl/client/measured.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "noisectl/commands/project.h"

namespace noised::client {

views::PhaseSetting phase_setting(const recording::Description& description) {
  views::PhaseSetting setting;
  if (description.grain_ns == 0) return setting;
  setting.grain_ns = description.grain_ns;
  setting.footprint_bytes = description.footprint_bytes;
  setting.policy = description.policy;
  return setting;
}

void FirstPhases::sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) {
  if (enough()) return;
  Cpu& of = cpus_[cpu];
  if (iterations != 0 && of.last_ns && end_ns > *of.last_ns) {
    const std::uint64_t length_ns = end_ns - *of.last_ns;
    of.shortest_ns = of.phases == 0 ? length_ns : std::min(of.shortest_ns, length_ns);
    of.iterations = iterations;
    if (++of.phases == kEnough) --too_few_;
  }
  of.last_ns = end_ns;
}

bool FirstPhases::any() const {
  return std::any_of(cpus_.begin(), cpus_.end(), [](const Cpu& cpu) { return cpu.phases != 0; });
}

FixedPhases::FixedPhases(const recording::Playback& playback, const FirstPhases& first) : playback_(playback) {
  const std::uint64_t footprint_bytes = phase_setting(playback.description()).footprint_bytes.value_or(0);
  for (const FirstPhases::Cpu& cpu : first.cpus()) {
    const std::size_t reach = analysis::phases_paying(cpu.shortest_ns, cpu.iterations, footprint_bytes);
    cpus_.push_back(std::make_unique<analysis::PhaseAnalysis>(playback.sources(), reach));
    iterations_.push_back(cpu.iterations);
  }
}

std::vector<views::CpuPhases> FixedPhases::finish(const Report& report) {
  std::vector<views::CpuPhases> cpus;
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    cpus_[i]->finish();
    cpus.push_back(views::phases_of(playback_.cpu_number(i), *cpus_[i], playback_.sources(), report));
    cpus.back().iterations = iterations_[i];
  }
  return cpus;
}

namespace {

Error no_phases() {
  return failure("nothing was measured in phases of fixed work",
                 "record with --grain 1ms, or start noised with --work 100000");
}

/// A recording that was played to its end.
struct Analysed {
  recording::Player player;
  std::unique_ptr<FixedPhases> visitor;
  views::PhaseSetting setting;
  Report report;
  std::vector<views::CpuPhases> cpus;
};

Result<std::unique_ptr<Analysed>> analyse(const Measured& measured, const std::vector<double>& delays) {
  auto first = measured.play();
  if (!first) return first.error();
  const recording::Description description = first.value().playback().description();
  if (!of_fixed_work(description)) return no_phases();
  FirstPhases lengths(description.base.cpus.size());
  while (!lengths.enough() && first.value().step(&lengths)) {
  }
  if (!lengths.any()) {
    const Status whole = Measured::whole(first.value());
    return whole ? no_phases() : whole.error();
  }
  auto second = measured.play();
  if (!second) return second.error();
  auto visitor = std::make_unique<FixedPhases>(second.value().playback(), lengths);
  auto result =
      std::make_unique<Analysed>(Analysed{std::move(second).value(), std::move(visitor), phase_setting(description),
                                          Report(), std::vector<views::CpuPhases>()});
  result->setting.delays = delays;
  play_all(result->player, result->visitor.get());
  result->report = result->player.report();
  result->cpus = result->visitor->finish(result->report);
  return result;
}

struct PhasesOptions : MeasureOptions {
  bool json = false;
  std::string compare_with;    ///< another recording, shown beside it; empty: none
  std::vector<double> delays;  ///< shares of the grain that p is told for, rising
};

// Prints the distribution of phases, and direct and indirect cost by source.
Status run_phases(const PhasesOptions& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  const auto analysed = analyse(measured.value(), options.delays);
  if (!analysed) return analysed.error();
  const Analysed& one = *analysed.value();
  Output output(stdout);
  if (options.compare_with.empty()) {
    output.write(options.json ? views::to_json(one.cpus, one.setting, one.report) + "\n"
                              : views::to_text(one.cpus, one.setting, one.report));
    if (Status done = output.finish(); !done) return done;
    return Measured::whole(one.player);
  }
  MeasureOptions second = options;
  second.replay = options.compare_with;
  const auto other = Measured::get(second);
  if (!other) return other.error();
  const auto compared = analyse(other.value(), options.delays);
  if (!compared) return compared.error();
  const Analysed& two = *compared.value();
  output.write(views::compared_text({"this", one.cpus, one.setting, one.report},
                                    {"compared", two.cpus, two.setting, two.report}));
  if (Status done = output.finish(); !done) return done;
  if (Status whole = Measured::whole(one.player); !whole) return whole;
  return Measured::whole(two.player);
}

class PhasesCommand final : public MeasuredCommand<PhasesOptions> {
 public:
  PhasesCommand() : MeasuredCommand("phases", "how long phases of fixed work take, and what each source costs them") {}

  void describe(CLI::App& sub) override {
    MeasuredCommand::describe(sub);
    add_json(sub, options.json);
    phases_.describe(sub, options.phases);
    add_delays(sub, delays_);
    sub.add_option("--compare", options.compare_with, "another recording, of another policy, say: shown beside it")
        ->check(not_empty())
        ->excludes("--json")
        ->type_name("FILE");
  }
  Status read() override {
    if (Status read = phases_.read(options.phases); !read) return read;
    auto delays = parse_delays(delays_);
    if (!delays) return delays.error();
    options.delays = std::move(delays).value();
    return MeasuredCommand::read();
  }
  [[nodiscard]] Status check_replay() const override {
    if (options.phases.grain_ns != 0)
      return usage_error("--grain: the phases of a recording are as they were", "leave it out");
    return MeasuredCommand::check_replay();
  }
  Status run() override { return run_phases(options); }

 private:
  PhaseFlags phases_;
  std::string delays_ = kUsualDelayText;
};

}  // namespace

std::unique_ptr<Command> phases_command() { return std::make_unique<PhasesCommand>(); }

}  // namespace noised::client
