// SPDX-License-Identifier: Apache-2.0
// noisectl project: what this noise costs a job on many nodes, and what to do about it first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/projection/node_phases.h"
#include "analysis/projection/projection.h"
#include "analysis/projection/removal.h"
#include "base/result.h"
#include "noisectl/client/options.h"
#include "recording/player.h"
#include "views/projection.h"

namespace noised::client {

struct ProjectOptions : MeasureOptions {
  bool json = false;
  std::uint64_t projected_grain_ns = 0;  ///< work of a phase of the job
  std::vector<std::uint64_t> nodes;      ///< its sizes, rising
  std::vector<double> delays;            ///< shares of the grain, rising
  std::string indirect;                  ///< what 'noisectl phases --json' printed; empty: nothing is added
};

// Sizes of a job, as users write them.

inline constexpr const char* kUsualNodes = "1,10,...,1000000";

/// A list such as "1,10,100" or "1,10,...,1000000" (what is left out has the ratio of the two before it), rising and
/// unique; a usage error otherwise, for a size that is not from 1 to 10^9, and for more than 64 of them.
Result<std::vector<std::uint64_t>> parse_nodes(std::string_view text);

inline constexpr const char* kUsualDelayText = "1%,10%,50%";

/// A list such as "1%,10%,50%" of shares of the grain, rising and unique; a usage error otherwise, for a share above
/// 100000%, and for more than 16 of them.
Result<std::vector<double>> parse_delays(std::string_view text);

// A recording as stretches of time that were observed, and the phases that slide over them.

/// Tells where observation of a CPU begins and ends. A recording of a daemon that ran before says when that began, and
/// says it again after a time that had no room in it: only what is known to be observed counts.
class ObservedVisitor : public recording::PlayerVisitor {
 public:
  /// `playback` must outlive this.
  explicit ObservedVisitor(const recording::Playback& playback)
      : playback_(playback), cpus_(playback.description().base.cpus.size()) {}

  void begins(std::size_t cpu, std::uint64_t first_ns) override;
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view details) override;
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override;
  void sample(std::size_t cpu, std::uint64_t end_ns, std::uint64_t iterations) override;
  /// When all was played: what was observed after a CPU's last event, too.
  void finish();

 protected:
  [[nodiscard]] const recording::Playback& playback() const { return playback_; }
  [[nodiscard]] std::size_t cpus() const { return cpus_.size(); }

  virtual void begin_stretch(std::size_t cpu, std::uint64_t first_ns) = 0;
  virtual void add(std::size_t cpu, const account::DetourLedger& ledger) = 0;
  virtual void end_stretch(std::size_t cpu, std::uint64_t last_ns) = 0;

 private:
  struct Seen {
    bool begun = false;
    bool open = false;   // in a stretch
    bool parts = false;  // something between is missing, of unknown length
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    std::uint64_t observed_ns = 0;  // in stretches before
  };
  void open(std::size_t cpu, std::uint64_t first_ns);
  void close(std::size_t cpu, std::uint64_t last_ns);
  [[nodiscard]] std::uint64_t end_of(std::size_t cpu) const;

  const recording::Playback& playback_;
  std::vector<Seen> cpus_;
};

/// The first time through: how much was observed, and whose noise it is.
class ObservedTotals : public ObservedVisitor {
 public:
  explicit ObservedTotals(const recording::Playback& playback) : ObservedVisitor(playback), cpus_(cpus()) {}

  /// Of a CPU in ns, as the next.
  [[nodiscard]] std::uint64_t observed_ns(std::size_t cpu) const { return cpus_[cpu].observed_ns; }
  [[nodiscard]] std::uint64_t longest_ns(std::size_t cpu) const { return cpus_[cpu].longest_ns; }
  [[nodiscard]] const analysis::SourceTotals& sources() const { return sources_; }

 protected:
  void begin_stretch(std::size_t cpu, std::uint64_t first_ns) override { cpus_[cpu].first_ns = first_ns; }
  void add(std::size_t /*cpu*/, const account::DetourLedger& ledger) override {
    sources_.add(ledger, playback().sources());
  }
  void end_stretch(std::size_t cpu, std::uint64_t last_ns) override;

 private:
  struct Total {
    std::uint64_t first_ns = 0;  // of the stretch now
    std::uint64_t observed_ns = 0;
    std::uint64_t longest_ns = 0;  // stretch
  };
  std::vector<Total> cpus_;
  analysis::SourceTotals sources_;
};

/// The second time: the phases of the CPUs that were observed for as long as one.
class PhasesVisitor : public ObservedVisitor {
 public:
  /// `totals` is of the same recording.
  PhasesVisitor(const recording::Playback& playback, const ObservedTotals& totals, std::uint64_t grain_ns,
                std::span<const analysis::RemovableSource> sources, std::span<const analysis::AfterCost> after = {});

  [[nodiscard]] const analysis::NodePhases& phases() const { return *phases_; }
  /// What was added to detours for the work behind them.
  [[nodiscard]] const analysis::CostEstimate& after() const { return after_.taken(); }
  /// Whether it is one of them. They have the order of the recording.
  [[nodiscard]] bool has(std::size_t cpu) const { return places_[cpu] != kNone; }

 protected:
  void begin_stretch(std::size_t cpu, std::uint64_t first_ns) override;
  void add(std::size_t cpu, const account::DetourLedger& ledger) override;
  void end_stretch(std::size_t cpu, std::uint64_t last_ns) override;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  std::vector<std::size_t> places_;  // by CPU: among those of phases_
  analysis::AfterCosts after_;
  std::optional<analysis::NodePhases> phases_;
};

/// The projection out of both times, to the job of `input`, in which CPUs are filled in. `playback` is the one of the
/// second time; the view's report is not set.
views::ProjectionView projection_of(analysis::ProjectionInput input, const ObservedTotals& totals,
                                    const PhasesVisitor& phases, const recording::Playback& playback);

}  // namespace noised::client
