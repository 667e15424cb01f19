// SPDX-License-Identifier: Apache-2.0
// Which rank of a parallel job a process is, by what its launcher put into its environment. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <noised/watch.h>

namespace noised::client {

/// What an environment says.
struct RankClaim {
  std::uint32_t rank = 0;
  std::string job;         ///< PMIx's name of it, or Slurm's job and step; empty: not told
  std::string allocation;  ///< Slurm's job, in which several launchers may run; empty: not told
  unsigned variable = 0;   ///< that told the rank: the place among those known, the most to be believed first
};

/// The rank in a text such as /proc/PID/environ; nothing if a process of that environment is none.
std::optional<RankClaim> parse_rank(std::string_view environment);

/// What is known of processes, by their numbers; nothing: the process is no rank.
using RankClaims = std::map<std::uint32_t, std::optional<RankClaim>>;

/// Tells each task of the report its rank, and sums the ranks up. Processes without a claim, not even none, are counted
/// as unknown.
void add_ranks(const RankClaims& claims, WatchReport& report);

}  // namespace noised::client
