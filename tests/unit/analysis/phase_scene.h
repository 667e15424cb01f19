// SPDX-License-Identifier: Apache-2.0
// A CPU that does phases of work, and sources whose every cost is known.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "account/attributor.h"
#include "analysis/fixed_work/phase_analysis.h"
#include "model/sources.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::analysis;

struct SimulatedSource {
  SourceId id = 0;
  double period_ns = 4e6;
  bool random = false;  ///< at random times, so often in the mean
  double direct_ns = 2'000;
  double inside_ns = 500;  ///< overhead
  double after_ns = 300;   ///< of work that is slower
  double spread = 0.3;     ///< of each of the three, as a share
  double refill_ns = 0;    ///< of work during which it is slower; 0: at once
  SourceId brings = 0;     ///< another source of the same detour: only if brings_share is not 0
  double brings_share = 0;
  double brings_direct_ns = 0;
  double brings_after_ns = 0;
};

struct SimulatedCpu {
  double work_ns = 100'000;
  double white_ns = 0;      ///< standard deviation of a phase's work
  double drift_ns = 0;      ///< the same of what changes slowly
  double drift_phases = 0;  ///< in so many phases
  std::uint64_t phases = 3'000;
  std::vector<SimulatedSource> sources;
};

/// Runs it into an analysis.
class PhaseScene {
 public:
  PhaseScene(const SimulatedCpu& cpu, std::uint64_t seed, PhaseAnalysis& to)
      : cpu_(cpu), random_(seed), to_(to), next_ns_(cpu.sources.size()) {
    for (std::size_t i = 0; i < next_ns_.size(); ++i) next_ns_[i] = now_ns_ + uniform() * cpu.sources[i].period_ns;
    to_.sample(at(now_ns_), 0);
  }

  void run() {
    for (std::uint64_t i = 0; i < cpu_.phases; ++i) {
      phase();
      to_.sample(at(now_ns_), 1'000);
    }
  }

 private:
  static std::uint64_t at(double ns) { return static_cast<std::uint64_t>(std::llround(ns)); }
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  double normal() { return normal_(random_); }
  double about(double ns, double spread) { return std::max(0.0, ns * (1 + spread * normal())); }

  // The work that is left goes on until a source comes, or until it is done.
  void phase() {
    if (cpu_.drift_phases > 0) {
      const double keep = std::exp(-1 / cpu_.drift_phases);
      drift_ = keep * drift_ + std::sqrt(1 - keep * keep) * normal();
    }
    double left_ns = std::max(0.2 * cpu_.work_ns, cpu_.work_ns + cpu_.white_ns * normal() + cpu_.drift_ns * drift_);
    while (true) {
      std::size_t first = 0;
      for (std::size_t i = 1; i < next_ns_.size(); ++i) {
        if (next_ns_[i] < next_ns_[first]) first = i;
      }
      const double slow = slow_work_ns_ > 0 ? 1 + slow_ : 1;
      const double piece_ns = slow_work_ns_ > 0 ? std::min(left_ns, slow_work_ns_) : left_ns;
      const bool hit = !next_ns_.empty() && next_ns_[first] < now_ns_ + piece_ns * slow;
      const double done_ns = hit ? std::max(0.0, next_ns_[first] - now_ns_) / slow : piece_ns;
      now_ns_ += done_ns * slow;
      left_ns -= done_ns;
      if (slow_work_ns_ > 0) slow_work_ns_ -= done_ns;
      if (hit) {
        detour(cpu_.sources[first]);
        next_ns_[first] += cpu_.sources[first].random ? -std::log(1 - uniform()) * cpu_.sources[first].period_ns
                                                      : cpu_.sources[first].period_ns;
      } else if (left_ns <= 0) {
        return;
      }
    }
  }

  void detour(const SimulatedSource& source) {
    const auto direct = at(about(source.direct_ns, source.spread));
    const auto inside = at(about(source.inside_ns, source.spread));
    double after_ns = about(source.after_ns, source.spread);
    DetourLedger ledger;
    ledger.entries.push_back({source.id, Kind::vector, 0, 0, 0, direct, 0, 0});
    ledger.explained_ns = direct;
    if (source.brings_share > 0 && uniform() < source.brings_share) {
      const auto brought = at(about(source.brings_direct_ns, source.spread));
      ledger.entries.push_back({source.brings, Kind::softirq, 0, 0, 0, brought, 0, 0});
      ledger.explained_ns += brought;
      after_ns += about(source.brings_after_ns, source.spread);
    }
    ledger.overhead_ns = inside;
    const std::uint64_t start_ns = at(std::floor(now_ns_));
    ledger.detour = {start_ns, start_ns + ledger.explained_ns + inside, false};
    to_.add(ledger);
    now_ns_ = static_cast<double>(ledger.detour.end_ns);
    if (source.refill_ns > 0) {
      const double owed_ns = std::max(0.0, slow_work_ns_) * slow_ + after_ns;
      slow_work_ns_ = source.refill_ns;
      slow_ = owed_ns / source.refill_ns;
    } else {
      now_ns_ += after_ns;
    }
  }

  const SimulatedCpu& cpu_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  PhaseAnalysis& to_;
  double now_ns_ = 1e9;
  std::vector<double> next_ns_;
  double drift_ = 0;
  double slow_ = 0;
  double slow_work_ns_ = 0;
};

}  // namespace noised::test
