// SPDX-License-Identifier: Apache-2.0
// What the noise of some CPUs costs a job on many nodes like theirs, and whose it is (Tsafrir et al. 2005, section 2).
// Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/projection/estimate.h"
#include "analysis/projection/node_phases.h"
#include "analysis/projection/removal.h"

namespace noised::analysis {

/// One watched CPU. Of all of them together a node is made, each busy with a process of the job.
struct ProjectedCpu {
  unsigned cpu = 0;
  std::uint64_t observed_ns = 0;
};

struct ProjectionInput {
  std::uint64_t grain_ns = 0;
  std::vector<std::uint64_t> nodes;      ///< sizes of the job, rising
  std::vector<ProjectedCpu> cpus;        ///< those of phases, in their order
  std::vector<RemovableSource> sources;  ///< likewise
  const NodePhases* phases = nullptr;    ///< null only where there are no CPUs
  std::vector<double> delays = {0};      ///< shares of the grain that p is told for, rising; 0: any delay
};

/// How likely a phase of one node by itself is to be delayed by more than a share of the grain, where each begins when
/// that before it has ended: the p of the noise law (section 2.1), which holds for whatever is called a delay.
struct DelayedShare {
  double of_grain = 0;
  Estimate p;
  std::optional<double> at_most;  ///< where none was: p is below that (95%)
};

/// One phase of the same in so many is delayed by more than this.
struct ExceededDelay {
  double probability = 0;  ///< 10^-k
  Estimate delay_ns;
};

struct JobSize {
  std::uint64_t nodes = 0;
  Estimate delayed;                    ///< d_p(n), the probability that a phase of the job is delayed, of the first p
  std::optional<double> linear;        ///< p * n; nothing where p is not known, as the next
  std::optional<double> linear_error;  ///< by how much that is too large, as a share of it
  Estimate excess;                     ///< E(max of n) / G - 1, of phases that begin as their barriers let them
  std::optional<double> at_least;      ///< where excess is not known: the low end of that of fewer nodes, as it rises
};

struct SourceGain {
  RemovableSource source;
  std::vector<Estimate> excess;  ///< by size of the job: by how much E(max of n) / G would be smaller
};

struct Projection {
  std::uint64_t grain_ns = 0;
  std::vector<unsigned> cpus;      ///< that make a node
  std::vector<unsigned> left_out;  ///< CPUs of which no stretch as long as a phase was observed
  /// CPUs are taken as they came together; else as independent, since they were not observed at the same times, or
  /// since one was known of for so much less than the others that these had no room to wait (`waited`).
  bool joint = true;
  bool waited = false;
  std::uint64_t observed_ns = 0;      ///< of all CPUs at once; else of the one that was observed least
  std::uint64_t starts_ns = 0;        ///< of the same: for so long, phases began and were observed to their end
  std::uint64_t unseen_ns = 0;        ///< noise that comes to a CPU less often than once in this may be unseen (95%)
  std::vector<DelayedShare> delayed;  ///< for each of the delays
  /// Of several CPUs: the mean delay of a node's phases as they came, by what it would be if noise came to each CPU by
  /// itself. Below 1 it comes to several at once; above 1 they take turns. Phases that begin anywhere; nothing unless
  /// `joint`.
  std::optional<Estimate> together;
  std::vector<ExceededDelay> exceeded;  ///< by falling probability; the last one without a value
  std::vector<JobSize> sizes;
  std::optional<std::size_t> ranked_by;  ///< the place in sizes by which gains are sorted: the largest that is known
  std::vector<SourceGain> gains;         ///< falling; those not known there come last
};

/// Everything that noisectl project shows, with 95% confidence intervals.
Projection project(const ProjectionInput& input);

}  // namespace noised::analysis
