// SPDX-License-Identifier: Apache-2.0
// noisectl advise: what to set, and what it would give.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analysis/advice/collector.h"
#include "analysis/advice/machine.h"
#include "base/result.h"
#include "recording/player.h"

namespace noised::client {

// Twice through a recording for advice: which tasks to look at, then what each remedy would give.

/// The first time through: the pids of tasks, some of which the machine may still have.
class TaskVisitor : public recording::PlayerVisitor {
 public:
  /// `sources` must outlive this.
  explicit TaskVisitor(const SourceTable& sources) : sources_(sources) {}

  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override;

  /// The last of each name.
  [[nodiscard]] const std::map<std::string, unsigned>& pids() const { return pids_; }

 private:
  std::map<std::string, unsigned> pids_;
  const SourceTable& sources_;
};

/// The second time.
class AdviceVisitor : public recording::PlayerVisitor {
 public:
  /// Both must outlive this.
  AdviceVisitor(const recording::Playback& playback, const analysis::Machine& machine)
      : playback_(playback), collector_(playback.sources(), machine) {}

  void begins(std::size_t cpu, std::uint64_t first_ns) override {
    collector_.begins(cpu, playback_.recorded_from(cpu, first_ns));
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    collector_.gap(cpu, start_ns, end_ns);
  }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override {
    collector_.detour(cpu, ledger, details);
  }

  [[nodiscard]] analysis::AdviceCollector& collector() { return collector_; }

 private:
  const recording::Playback& playback_;
  analysis::AdviceCollector collector_;
};

}  // namespace noised::client
