// SPDX-License-Identifier: Apache-2.0
// The chain behind an entry of a ledger, in words: who woke, moved or sent, on whose behalf, for which function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "account/attributor.h"
#include "account/causes.h"
#include "account/detour_feed.h"
#include "pipeline/name_owners.h"
#include "system/names.h"
#include "system/services.h"

namespace noised::pipeline {

/// Puts names to numbers; about 300 ns for an entry that has a chain, in the daemon.
class Chains {
 public:
  /// `owners`: where given, it is told whose the names of wakers and senders are.
  Chains(system::Names& names, const SourceTable& sources, system::Services& services, NameOwners* owners = nullptr)
      : names_(names), sources_(sources), services_(services), owners_(owners) {}

  /// Adds the details of ledger.entries[index] to the newest entry of `detour`, as of `now_ns`.
  void describe(const account::DetourLedger& ledger, std::size_t index, const account::CauseMatcher& causes,
                std::uint64_t now_ns, account::FeedDetour& detour);
  /// The path of the cgroup of a task of a ledger, as Services tells it.
  std::string_view service_of(const account::LedgerEntry& entry, const account::CauseMatcher& causes,
                              std::uint64_t now_ns);

 private:
  struct Keys {
    account::DetailKey name;
    account::DetailKey pid;
    account::DetailKey cpu;
    account::DetailKey context;
  };
  std::string_view service_of(std::uint32_t pid, const account::Cause* cause, std::uint64_t now_ns);
  void describe_task(const account::DetourLedger& ledger, std::size_t index, const account::Cause* cause,
                     std::uint64_t now_ns, account::FeedDetour& detour);
  void describe_interrupt(const account::Cause& cause, account::FeedDetour& detour);
  void describe_fault(const account::LedgerEntry& entry, account::FeedDetour& detour);
  void add_actor(const noised_origin& origin, const Keys& keys, account::FeedDetour& detour);

  system::Names& names_;
  const SourceTable& sources_;
  system::Services& services_;
  NameOwners* owners_;
  std::string scratch_;
};

}  // namespace noised::pipeline
