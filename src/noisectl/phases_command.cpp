// SPDX-License-Identifier: Apache-2.0
// Played twice: how many phases after an activation pay for it depends on how long one is.
#include "noisectl/phases_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "noisectl/measured.h"
#include "noisectl/output.h"
#include "views/phases.h"

namespace noised::client {
namespace {

views::PhaseSetting setting_of(const Description& description) {
  views::PhaseSetting setting;
  setting.iterations = description.work;
  return setting;
}

/// The shortest of the first phases of any CPU: what is longer was disturbed.
class ShortPhase : public PlayerVisitor {
 public:
  explicit ShortPhase(std::size_t cpus) : last_ns_(cpus) {}

  void gap(std::size_t cpu, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override { last_ns_[cpu] = 0; }
  void begins(std::size_t cpu, std::uint64_t /*first_ns*/) override { last_ns_[cpu] = 0; }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    if (iterations != 0 && last_ns_[cpu] != 0 && end_ns > last_ns_[cpu]) {
      ++phases_;
      shortest_ns_ = std::min(shortest_ns_, end_ns - last_ns_[cpu]);
    }
    last_ns_[cpu] = end_ns;
  }

  /// 0 if there was none.
  [[nodiscard]] std::uint64_t shortest_ns() const { return phases_ == 0 ? 0 : shortest_ns_; }
  [[nodiscard]] bool enough() const { return phases_ >= 100; }

 private:
  std::vector<std::uint64_t> last_ns_;  // by CPU; 0: not known
  std::uint64_t phases_ = 0;
  std::uint64_t shortest_ns_ = UINT64_MAX;
};

class PhasesVisitor : public PlayerVisitor {
 public:
  /// `playback` must outlive this.
  PhasesVisitor(const Playback& playback, std::size_t reach) {
    for (std::size_t i = 0; i < playback.description().base.cpus.size(); ++i)
      cpus_.push_back(std::make_unique<PhaseAnalysis>(playback.sources(), reach));
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

Result<views::PhaseSetting> read_setting(const Player& player) {
  const Description& description = player.playback().description();
  if (description.work == 0) {
    return failure("nothing was measured in phases of fixed work",
                   "record with --grain 1ms, or start noised with --work 100000");
  }
  return setting_of(description);
}

}  // namespace

Status run_phases(const Options& options) {
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto first = measured.value().play();
  if (!first) return first.error();
  const auto setting = read_setting(first.value());
  if (!setting) return setting.error();
  ShortPhase length(first.value().playback().description().base.cpus.size());
  while (!length.enough() && first.value().step(&length)) {
  }
  auto second = measured.value().play();
  if (!second) return second.error();
  Player& player = second.value();
  PhasesVisitor visitor(player.playback(), phases_paying(length.shortest_ns(), setting.value().iterations,
                                                         setting.value().footprint_bytes.value_or(0)));
  play_all(player, &visitor);
  const Report report = player.report();
  std::vector<views::CpuPhases> cpus;
  for (std::size_t i = 0; i < visitor.cpus().size(); ++i) {
    visitor.cpus()[i]->finish();
    cpus.push_back(
        views::phases_of(player.playback().cpu_number(i), *visitor.cpus()[i], player.playback().sources(), report));
  }
  Output output(stdout);
  output.write(options.json ? views::to_json(cpus, setting.value(), report) + "\n"
                            : views::to_text(cpus, setting.value(), report));
  if (Status done = output.finish(); !done) return done;
  return Measured::whole(player);
}

}  // namespace noised::client
