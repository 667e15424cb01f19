// SPDX-License-Identifier: Apache-2.0
// The chain behind an entry of a ledger, in words: who woke, moved or sent, on whose behalf, for which function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "attribution/causes.h"
#include "attribution/ledger.h"
#include "pipeline/detour_feed.h"
#include "trace/names.h"
#include "trace/services.h"

namespace noised {

/// Puts names to numbers; about 300 ns for an entry that has a chain, in the daemon. Names of functions are remembered.
class Chains {
 public:
  Chains(Names& names, const SourceTable& sources, Services& services)
      : names_(names), sources_(sources), services_(services) {}

  /// Adds the details of ledger.entries[index] to the newest entry of `detour`, as of `now_ns`.
  void describe(const Ledger& ledger, std::size_t index, const CauseMatcher& causes, std::uint64_t now_ns,
                FeedDetour& detour);

 private:
  struct Keys {
    DetailKey name;
    DetailKey pid;
    DetailKey cpu;
    DetailKey context;
  };
  void describe_task(const Ledger& ledger, std::size_t index, const Cause* cause, std::uint64_t now_ns,
                     FeedDetour& detour);
  void describe_interrupt(const Cause& cause, FeedDetour& detour);
  void describe_fault(const LedgerEntry& entry, FeedDetour& detour);
  void add_actor(const noised_origin& origin, const Keys& keys, FeedDetour& detour);
  std::string_view function(std::uint64_t address);

  Names& names_;
  const SourceTable& sources_;
  Services& services_;
  std::unordered_map<std::uint64_t, std::string> functions_;
  std::string scratch_;
};

}  // namespace noised
