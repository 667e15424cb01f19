// SPDX-License-Identifier: Apache-2.0
// Played twice: how many phases after an activation pay for it depends on how long one is.
#include "noisectl/phases_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "noisectl/measured.h"
#include "noisectl/output.h"
#include "views/phases.h"

namespace noised::client {
namespace {

/// What is stated of the phases of a recording.
views::PhaseSetting setting_of(const Description& /*description*/) { return {}; }

/// How long and how much work a phase is: of each CPU's first ones the shortest, as what is longer was disturbed.
class FirstPhases : public PlayerVisitor {
 public:
  struct Cpu {
    std::optional<std::uint64_t> last_ns;
    std::uint64_t phases = 0;
    std::uint64_t iterations = 0;
    std::uint64_t shortest_ns = 0;
  };

  explicit FirstPhases(std::size_t cpus) : cpus_(cpus) {}

  void gap(std::size_t cpu, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override {
    cpus_[cpu].last_ns.reset();
  }
  void begins(std::size_t cpu, std::uint64_t /*first_ns*/) override { cpus_[cpu].last_ns.reset(); }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    Cpu& of = cpus_[cpu];
    if (iterations != 0 && of.last_ns && end_ns > *of.last_ns) {
      const std::uint64_t length_ns = end_ns - *of.last_ns;
      of.shortest_ns = of.phases == 0 ? length_ns : std::min(of.shortest_ns, length_ns);
      of.iterations = iterations;
      ++of.phases;
    }
    of.last_ns = end_ns;
  }

  [[nodiscard]] const std::vector<Cpu>& cpus() const { return cpus_; }
  [[nodiscard]] bool enough() const {
    return std::all_of(cpus_.begin(), cpus_.end(), [](const Cpu& cpu) { return cpu.phases >= 100; });
  }
  [[nodiscard]] bool any() const {
    return std::any_of(cpus_.begin(), cpus_.end(), [](const Cpu& cpu) { return cpu.phases != 0; });
  }

 private:
  std::vector<Cpu> cpus_;
};

class PhasesVisitor : public PlayerVisitor {
 public:
  /// `playback` must outlive this.
  PhasesVisitor(const Playback& playback, const FirstPhases& first, std::uint64_t footprint_bytes) {
    for (const FirstPhases::Cpu& cpu : first.cpus()) {
      const std::size_t reach = phases_paying(cpu.shortest_ns, cpu.iterations, footprint_bytes);
      cpus_.push_back(std::make_unique<PhaseAnalysis>(playback.sources(), reach));
    }
  }

  void detour(std::size_t cpu, const Ledger& ledger, std::string_view /*details*/) override { cpus_[cpu]->add(ledger); }
  void gap(std::size_t cpu, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override { cpus_[cpu]->interrupt(); }
  void begins(std::size_t cpu, std::uint64_t /*first_ns*/) override { cpus_[cpu]->interrupt(); }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    cpus_[cpu]->sample(end_ns, iterations);
  }

  [[nodiscard]] const std::vector<std::unique_ptr<PhaseAnalysis>>& cpus() const { return cpus_; }

 private:
  std::vector<std::unique_ptr<PhaseAnalysis>> cpus_;
};

Error no_phases() {
  return failure("nothing was measured in phases of fixed work",
                 "record with --grain 1ms, or start noised with --work 100000");
}

/// A recording that was played to its end.
struct Analysed {
  Player player;
  std::unique_ptr<PhasesVisitor> visitor;
  views::PhaseSetting setting;
  Report report;
  std::vector<views::CpuPhases> cpus;
};

Result<std::unique_ptr<Analysed>> analyse(const Measured& measured) {
  auto first = measured.play();
  if (!first) return first.error();
  const Description description = first.value().playback().description();
  if (description.quantum_ns != 0) return no_phases();
  FirstPhases lengths(description.base.cpus.size());
  while (!lengths.enough() && first.value().step(&lengths)) {
  }
  if (!lengths.any()) {
    const Status whole = Measured::whole(first.value());
    return whole ? no_phases() : whole.error();
  }
  auto second = measured.play();
  if (!second) return second.error();
  const views::PhaseSetting setting = setting_of(description);
  auto visitor =
      std::make_unique<PhasesVisitor>(second.value().playback(), lengths, setting.footprint_bytes.value_or(0));
  auto result = std::make_unique<Analysed>(
      Analysed{std::move(second).value(), std::move(visitor), setting, Report(), std::vector<views::CpuPhases>()});
  play_all(result->player, result->visitor.get());
  result->report = result->player.report();
  const Playback& playback = result->player.playback();
  for (std::size_t i = 0; i < result->visitor->cpus().size(); ++i) {
    PhaseAnalysis& cpu = *result->visitor->cpus()[i];
    cpu.finish();
    result->cpus.push_back(views::phases_of(playback.cpu_number(i), cpu, playback.sources(), result->report));
    result->cpus.back().iterations = lengths.cpus()[i].iterations;
  }
  return result;
}

}  // namespace

Status run_phases(const Options& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  const auto analysed = analyse(measured.value());
  if (!analysed) return analysed.error();
  const Analysed& one = *analysed.value();
  Output output(stdout);
  if (options.compare_with.empty()) {
    output.write(options.json ? views::to_json(one.cpus, one.setting, one.report) + "\n"
                              : views::to_text(one.cpus, one.setting, one.report));
    if (Status done = output.finish(); !done) return done;
    return Measured::whole(one.player);
  }
  Options second = options;
  second.replay = options.compare_with;
  const auto other = Measured::get(second);
  if (!other) return other.error();
  const auto compared = analyse(other.value());
  if (!compared) return compared.error();
  const Analysed& two = *compared.value();
  output.write(views::compared_text({"this", one.cpus, one.setting, one.report},
                                    {"compared", two.cpus, two.setting, two.report}));
  if (Status done = output.finish(); !done) return done;
  if (Status whole = Measured::whole(one.player); !whole) return whole;
  return Measured::whole(two.player);
}

}  // namespace noised::client
