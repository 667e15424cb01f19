// SPDX-License-Identifier: Apache-2.0
// Several visitors of one playback: what takes minutes to play is played once for all of them.
#pragma once

#include <utility>
#include <vector>

#include "recording/player.h"

namespace noised::client {

/// Tells each of them everything, in their order. They must outlive it.
class Visitors : public recording::PlayerVisitor {
 public:
  explicit Visitors(std::vector<recording::PlayerVisitor*> visitors) : visitors_(std::move(visitors)) {}

  void interval(std::size_t cpu, const Interval& interval) override {
    for (recording::PlayerVisitor* const each : visitors_) each->interval(cpu, interval);
  }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override {
    for (recording::PlayerVisitor* const each : visitors_) each->detour(cpu, ledger, details);
  }
  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view details) override {
    for (recording::PlayerVisitor* const each : visitors_) each->loss(cpu, loss, ledger, details);
  }
  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override {
    for (recording::PlayerVisitor* const each : visitors_) each->ran(cpu, run, facts);
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    for (recording::PlayerVisitor* const each : visitors_) each->gap(cpu, start_ns, end_ns);
  }
  void begins(std::size_t cpu, std::uint64_t first_ns) override {
    for (recording::PlayerVisitor* const each : visitors_) each->begins(cpu, first_ns);
  }
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override {
    for (recording::PlayerVisitor* const each : visitors_) each->sample(cpu, end_ns, iterations);
  }

 private:
  std::vector<recording::PlayerVisitor*> visitors_;
};

}  // namespace noised::client
