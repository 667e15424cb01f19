// SPDX-License-Identifier: Apache-2.0
// noisectl density: what the loop saw beside what the kernel told.
#pragma once

#include <memory>
#include <vector>

#include "analysis/density/distributions.h"
#include "base/result.h"
#include "noisectl/client/measured.h"
#include "recording/player.h"

namespace noised::client {

// The distributions of every CPU, out of a recording.

/// The first time through the recording: what pause on each CPU divides a stretch, and what an entry into the kernel
/// costs there.
class PauseVisitor : public recording::PlayerVisitor {
 public:
  /// `playback` must outlive this.
  explicit PauseVisitor(const recording::Playback& playback)
      : playback_(playback), cpus_(playback.description().base.cpus.size()), overheads_(cpus_.size()) {}

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    cpus_[cpu].add(ledger);
    overheads_[cpu].add(ledger);
  }

  /// In ns, by CPU.
  [[nodiscard]] std::vector<std::uint64_t> bounds() const;
  /// By CPU.
  [[nodiscard]] const std::vector<analysis::FixedOverheads>& overheads() const { return overheads_; }

 private:
  const recording::Playback& playback_;
  std::vector<analysis::LeastOverhead> cpus_;
  std::vector<analysis::FixedOverheads> overheads_;
};

/// The second time.
class DensityVisitor : public recording::PlayerVisitor {
 public:
  /// `playback` must outlive this; the others are those of a PauseVisitor.
  DensityVisitor(const recording::Playback& playback, const std::vector<std::uint64_t>& bounds,
                 const std::vector<analysis::FixedOverheads>& overheads);

  void begins(std::size_t cpu, std::uint64_t first_ns) override { cpus_[cpu]->begin(first_ns); }
  void interval(std::size_t cpu, const Interval& interval) override { cpus_[cpu]->add(interval); }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    cpus_[cpu]->add(ledger);
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    cpus_[cpu]->skip(start_ns, end_ns);
  }

  /// One for each CPU; to be called once, when all was played.
  std::vector<analysis::DensityComparison> finish();
  /// The densities of all CPUs together, after finish().
  [[nodiscard]] analysis::DensityCurves all() const;

 private:
  const recording::Playback& playback_;
  std::vector<std::unique_ptr<analysis::Distributions>> cpus_;
};

/// Plays what was measured twice and compares; `player` is the second one, played to its end.
struct Densities {
  recording::Player player;
  std::vector<analysis::DensityComparison> cpus;
  analysis::DensityCurves all;  ///< of all CPUs together
};
Result<Densities> densities_of(const Measured& measured);

}  // namespace noised::client
