// SPDX-License-Identifier: Apache-2.0
// noisectl phases: how long a phase of fixed work takes, and what each source costs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/fixed_work/phase_analysis.h"
#include "base/result.h"
#include "noisectl/client/options.h"
#include "recording/player.h"
#include "views/phases.h"

namespace noised::client {

// Twice through a recording for its phases of fixed work: how many phases after an activation pay for it depends on how
// long one is.

/// Whether the samples of a recording are of phases of fixed work, if it has any.
inline bool of_fixed_work(const recording::Description& description) { return description.quantum_ns == 0; }

/// What is stated of the phases of a recording.
views::PhaseSetting phase_setting(const recording::Description& description);

/// The first time: how long and how much work a phase is: of the first ones until each CPU had a hundred, the shortest,
/// as what is longer was disturbed.
class FirstPhases : public recording::PlayerVisitor {
 public:
  struct Cpu {
    std::optional<std::uint64_t> last_ns;
    std::uint64_t phases = 0;
    std::uint64_t iterations = 0;
    std::uint64_t shortest_ns = 0;
  };

  explicit FirstPhases(std::size_t cpus) : cpus_(cpus), too_few_(cpus) {}

  void gap(std::size_t cpu, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override {
    cpus_[cpu].last_ns.reset();
  }
  void begins(std::size_t cpu, std::uint64_t /*first_ns*/) override { cpus_[cpu].last_ns.reset(); }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override;

  [[nodiscard]] const std::vector<Cpu>& cpus() const { return cpus_; }
  /// What follows changes nothing any more.
  [[nodiscard]] bool enough() const { return too_few_ == 0; }
  [[nodiscard]] bool any() const;

 private:
  static constexpr std::uint64_t kEnough = 100;

  std::vector<Cpu> cpus_;
  std::size_t too_few_;  // CPUs with less than enough
};

/// The second time: what phases tell of each CPU.
class FixedPhases : public recording::PlayerVisitor {
 public:
  /// `playback` must outlive this until finish().
  FixedPhases(const recording::Playback& playback, const FirstPhases& first);

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    cpus_[cpu]->add(ledger);
  }
  void gap(std::size_t cpu, std::uint64_t /*start_ns*/, std::uint64_t /*end_ns*/) override { cpus_[cpu]->interrupt(); }
  void begins(std::size_t cpu, std::uint64_t /*first_ns*/) override { cpus_[cpu]->interrupt(); }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    cpus_[cpu]->sample(end_ns, iterations);
  }

  /// With the ledger of `report`, which is of the same recording; to be called once, when all was played. What it gives
  /// points into this.
  std::vector<views::CpuPhases> finish(const Report& report);

 private:
  const recording::Playback& playback_;
  std::vector<std::uint64_t> iterations_;  // of a phase, by CPU
  std::vector<std::unique_ptr<analysis::PhaseAnalysis>> cpus_;
};

}  // namespace noised::client
