// SPDX-License-Identifier: Apache-2.0
// Names under which anybody may read what tasks took. What a user calls his tasks is his, and what they are started
// with may stand there; which service took the time is what an alert needs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "account/attributor.h"
#include "account/causes.h"
#include "account/ledger_counter.h"
#include "model/sources.h"
#include "pipeline/chains.h"
#include "system/services.h"

namespace noised::pipeline {

/// A kernel thread of the root cgroup has its own name, and so has what the configuration gives a category; noised's
/// own are noised and noisectl; any other task has the name of its service.
class PublicNames {
 public:
  /// Of a task in the root cgroup, and of one that had ended, or is hidden from noised, before it was looked at.
  static constexpr std::string_view kNoService = "no known service";

  /// All of it outlives this.
  PublicNames(const SourceTable& sources, Chains& chains, system::Services& services);

  /// Counts the tasks of a ledger by these names, as of `now_ns`.
  void count(const account::DetourLedger& ledger, const account::CauseMatcher& causes, std::uint64_t now_ns,
             account::LedgerCounter& counter);
  /// What the ids that were counted stand for. None ever leaves.
  [[nodiscard]] const SourceTable& table() const { return names_; }

 private:
  SourceId of(const account::LedgerEntry& entry, const account::CauseMatcher& causes, std::uint64_t now_ns);
  SourceId service(std::string_view path);

  const SourceTable& sources_;
  Chains& chains_;
  system::Services& services_;
  SourceTable names_;
  SourceId no_service_;
  SourceId noised_;
  SourceId noisectl_;
  std::map<std::string, SourceId, std::less<>> by_path_;
  // By pid and source, of those that have their own name. Who has the pid later has that name from its source, too.
  std::unordered_map<std::uint64_t, SourceId> by_own_name_;
};

}  // namespace noised::pipeline
