// SPDX-License-Identifier: Apache-2.0
// The projection to many nodes, and the list of what to do first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fixed_work/indirect_cost.h"
#include "analysis/projection/estimate.h"
#include "analysis/projection/projection.h"
#include "model/report.h"

namespace noised::views {

// Estimates as people read them: their interval, or what they need.

/// format_duration() stays with minutes up to a thousand of them, and with hours for ever: this goes on with days.
std::string long_time_text(std::uint64_t ns);
/// What an estimate needs, where it has no value.
std::string needs_text(const analysis::Estimate& estimate);
/// The interval of a share that has one.
std::string share_range(const analysis::Estimate& estimate);
/// "at all", or "by more than 1% of the grain".
std::string delay_name(double of_grain);
/// How likely a phase of a node is delayed by more than a share of the grain.
std::string delayed_text(const analysis::DelayedShare& delayed);
/// What of the node's CPUs and of nodes is taken as independent.
std::string assumed_text(const analysis::Projection& projection);
/// How long moods of the noise, quiet times and busy ones, may last that the intervals know of.
std::string mood_text(const analysis::Projection& projection);
/// Whether noise comes to the CPUs of a node together, with the figure that says so.
std::string together_text(const analysis::Estimate& together);
/// 1 + excess, with as many decimals as `least`, its lower end, has before its second digit: "1.32", "1.000012".
std::string slowdown_text(double excess, double least);
/// The interval of an excess that has one, as slowdowns.
std::string slowdown_range(const analysis::Estimate& excess);
/// The same of a job, or that it is at least what it is on fewer nodes; empty if nothing is known.
std::string slowdown_limits(const analysis::JobSize& size);

/// What was added to the detours: costs of the work behind them, which phases of fixed work have shown.
struct AddedIndirect {
  std::string file;                  ///< they are from
  analysis::CostEstimate added;      ///< to all detours; the ends of the costs' intervals
  std::vector<std::string> unknown;  ///< sources of that file without a cost
};

struct ProjectionView {
  analysis::Projection projection;
  std::optional<AddedIndirect> indirect;               ///< nothing: detours are as they were recorded
  std::vector<analysis::RemovableSource> all_sources;  ///< with a time; those that were not projected among them
  std::vector<analysis::RemovableSource> untimed;      ///< that were only counted
  std::uint64_t longest_stretch_ns = 0;                ///< of time that was observed, on any CPU
  Report report;                                       ///< of the same recording: what was lost and unsupported
};

/// The sources of `all_sources` that no gain is of.
std::vector<analysis::RemovableSource> not_projected(const ProjectionView& view);

/// For each size of the job how likely a delay is, and the slowdown or what it needs; then what to remove first.
std::string to_text(const ProjectionView& view);
/// The same as one JSON object, schema "noised.projection/1"; what is not known is null, with what it needs.
std::string to_json(const ProjectionView& view);

}  // namespace noised::views
