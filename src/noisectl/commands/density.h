// SPDX-License-Identifier: Apache-2.0
// The distributions of every CPU, out of a recording.
#pragma once

#include <memory>
#include <vector>

#include "analysis/distributions.h"
#include "noisectl/measured.h"
#include "recording/player.h"

namespace noised::client {

/// The first time through the recording: what pause on each CPU divides a stretch.
class PauseVisitor : public PlayerVisitor {
 public:
  /// `playback` must outlive this.
  explicit PauseVisitor(const Playback& playback)
      : playback_(playback), cpus_(playback.description().base.cpus.size()) {}

  void detour(std::size_t cpu, const Ledger& ledger, std::string_view /*details*/) override { cpus_[cpu].add(ledger); }

  /// In ns, by CPU.
  [[nodiscard]] std::vector<std::uint64_t> bounds() const;

 private:
  const Playback& playback_;
  std::vector<LeastOverhead> cpus_;
};

/// The second time.
class DensityVisitor : public PlayerVisitor {
 public:
  /// `playback` must outlive this; `bounds` are those of a PauseVisitor.
  DensityVisitor(const Playback& playback, const std::vector<std::uint64_t>& bounds);

  void begins(std::size_t cpu, std::uint64_t first_ns) override { cpus_[cpu]->begin(first_ns); }
  void interval(std::size_t cpu, const Interval& interval) override { cpus_[cpu]->add(interval); }
  void detour(std::size_t cpu, const Ledger& ledger, std::string_view /*details*/) override { cpus_[cpu]->add(ledger); }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    cpus_[cpu]->skip(start_ns, end_ns);
  }

  /// One for each CPU; to be called once, when all was played.
  std::vector<DensityComparison> finish();
  /// The densities of all CPUs together, after finish().
  [[nodiscard]] DensityCurves all() const;

 private:
  const Playback& playback_;
  std::vector<std::unique_ptr<Distributions>> cpus_;
};

/// Plays what was measured twice and compares; `player` is the second one, played to its end.
struct Densities {
  Player player;
  std::vector<DensityComparison> cpus;
  DensityCurves all;  ///< of all CPUs together
};
Result<Densities> densities_of(const Measured& measured);

}  // namespace noised::client
