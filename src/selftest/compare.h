// SPDX-License-Identifier: Apache-2.0
// The comparison of what was done with what noised showed. Pure: truth and detours in, one row out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/views.h"

#include "selftest/truth.h"

namespace noised::selftest {

enum class Verdict { pass, fail, unsupported };

/// One mode compared.
struct Row {
  std::string mode;
  unsigned cpu = 0;
  std::string how;
  std::uint64_t injected = 0;       ///< found + missed + in_doubt
  std::uint64_t found = 0;          ///< shown, at the right time, under the right name, in a complete detour
  std::uint64_t missed = 0;         ///< not shown, with nothing that excuses it
  std::uint64_t misattributed = 0;  ///< shown under this name when nothing of the kind was done
  bool shared = false;         ///< others make this source too: what was not done cannot be told, and is not counted
  std::uint64_t in_doubt = 0;  ///< where noised itself says that it lost something, or the host took the CPU
  std::uint64_t shown = 0;     ///< intervals, or detours with the task, that noised showed under the name
  std::map<std::string, std::uint64_t> blamed;  ///< what noised showed where something was missed, and how often
  std::uint64_t timed = 0;                      ///< activations whose time was compared
  std::optional<double> time_error;  ///< their total by noised over the kernel's account (its middle), less 1
  double time_uncertainty = 0;       ///< of that: the kernel's account may begin before the task has the CPU
  Verdict verdict = Verdict::fail;
  bool undecided = false;  ///< it failed only because too few could be judged or timed: another try may tell
  std::string reason;      ///< why it did not pass
  unsigned attempts = 1;   ///< the last of so many: the others were undecided

  /// The least that the share of found among those judged can be, and of what was done among those shown, with 95%
  /// certainty (Wilson's bound): found 100 of 100, it is 97.4%. 0 where there is none.
  [[nodiscard]] double least_recall() const;
  [[nodiscard]] double least_precision() const;
};

struct Span {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

/// What was lost while the noise was made.
struct Losses {
  std::uint64_t counted = 0;  ///< events, detours, unpaired frames and missed runs, by the daemon's counters
  std::vector<Span> unshown;  ///< where detours are missing in the stream, in order
};

// What a row needs to pass.
inline constexpr double kLeastRecall = 0.999;      ///< found of found + missed
inline constexpr double kLeastPrecision = 0.99;    ///< of all that noised showed under the name
inline constexpr double kLargestTimeError = 0.02;  ///< and of its uncertainty
/// Of fewer than 2,703 not even all found prove kLeastRecall: then at least this much must be certain, as it is with 11
/// found of 11.
inline constexpr double kLeastCertain = 0.8;
/// Where an activation does not show and a loss might excuse it, others may have had at most this share of its CPU
/// time, beside what else is in the detour: more was told of them than was theirs.
inline constexpr double kMostBlamed = 0.1;
/// Where more than a tenth is in doubt, the rest proves too little.
inline constexpr double kLeastJudged = 0.9;
/// Of the activations, those that the host left alone: each is timed within kStretch, so a quarter tell what all would.
inline constexpr double kLeastTimed = 0.25;
/// An activation is compared by time when the wall clock ran at most this much further than the CPU clock of its
/// thread: a share of its CPU time, and what reading the two clocks costs.
inline constexpr double kStretch = 0.01;
inline constexpr std::uint64_t kStretchFloor = 5'000;

/// Compares one truth with all detours that were shown from before its first to after its last instant.
Row compare(const Truth& truth, std::span<const DetourView> detours, const Losses& losses);

/// Rows as one JSON object, schema "noised.selftest/1", and as a table.
std::string rows_to_json(const std::vector<Row>& rows);
std::string rows_to_text(const std::vector<Row>& rows);

/// True if at least one row passed and none failed.
bool all_pass(const std::vector<Row>& rows);

}  // namespace noised::selftest
