// SPDX-License-Identifier: Apache-2.0
// Phases of fixed work: how long they are, and what each source costs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/fixed_work/indirect_cost.h"
#include "analysis/fixed_work/phase_analysis.h"
#include "analysis/projection/after_costs.h"
#include "base/result.h"
#include "model/report.h"
#include "model/sources.h"

namespace noised::views {

/// What a phase was to be; what is not stated was not recorded.
struct PhaseSetting {
  std::optional<std::uint64_t> grain_ns;
  std::optional<std::uint64_t> footprint_bytes;  ///< 0: none
  std::string policy;                            ///< "other" or "fifo"
  /// Shares of the grain that p is told for, rising.
  std::vector<double> delays = {analysis::kUsualDelays.begin(), analysis::kUsualDelays.end()};
};

/// A source's own time in phases beside the ledger of the same run.
struct PhaseDirect {
  std::string category;
  std::string kind;
  std::string name;
  analysis::DirectCost cost;
  std::uint64_t ledger_count = 0;
  std::uint64_t ledger_ns = 0;
  bool timed = true;  ///< false: only counted
};

/// Costs of an activation, of one source or of several ("kind:name") that hardly ever came one without the other.
struct PhaseIndirect {
  std::vector<std::string> sources;
  analysis::IndirectCost cost;
  std::optional<double> direct_ns;  ///< self time of all of them; nothing if it was only counted
};

struct CpuPhases {
  unsigned cpu = 0;
  std::uint64_t iterations = 0;  ///< of the loop in a phase
  const analysis::PhaseAnalysis* analysis = nullptr;
  std::vector<PhaseDirect> direct;      ///< by time, falling
  std::vector<PhaseIndirect> indirect;  ///< by episodes, falling
  std::optional<double> base_ns;
  std::optional<double> length_bias_ns;
};

/// What was analysed, with names and the ledger of the same recording; `analysis` and `sources` must outlive it.
CpuPhases phases_of(unsigned cpu, const analysis::PhaseAnalysis& analysis, const SourceTable& sources,
                    const Report& report);

/// Statistics, survival, p; direct cost beside the ledger; indirect cost with 95% intervals.
std::string to_text(const std::vector<CpuPhases>& cpus, const PhaseSetting& setting, const Report& report);
/// The same as one JSON object, schema "noised.phases/1".
std::string to_json(const std::vector<CpuPhases>& cpus, const PhaseSetting& setting, const Report& report);

/// What a file of noised.phases/1 says of the work behind activations.
struct PhaseAfterCosts {
  std::vector<analysis::AfterCost> costs;  ///< means of all CPUs, by activations
  std::vector<std::string> unknown;        ///< sources without a cost, "kind:name"
};
Result<PhaseAfterCosts> parse_after_costs(std::string_view json);

/// One of two recordings.
struct ComparedPhases {
  std::string title;
  const std::vector<CpuPhases>& cpus;
  const PhaseSetting& setting;
  const Report& report;
};
/// Two recordings, of two policies, footprints or kernels, beside each other: for people. CPUs by their place.
std::string compared_text(const ComparedPhases& one, const ComparedPhases& two);

/// ", calibrated to 100 us, footprint 48 KiB, policy fifo": what is stated, in part or not at all.
std::string setting_text(const PhaseSetting& setting);
/// "kind:name + kind:name", fit for a terminal.
std::string names_text(const PhaseIndirect& cost);
/// "1.23 us (1.10 us to 1.36 us)"; "-" if there is none.
std::string estimate_text(const std::optional<analysis::CostEstimate>& estimate);
/// Why a source has no cost; empty if it has.
std::string no_cost_text(analysis::NoCost why);

}  // namespace noised::views
