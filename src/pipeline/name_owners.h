// SPDX-License-Identifier: Apache-2.0
// Whose tasks have which names: a name is told only to those who have it themselves, and may say what a job is.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "account/attributor.h"
#include "model/sources.h"
#include "system/proc_tasks.h"

namespace noised::pipeline {

/// Names as they are shown, with the users who had a task of that name while noised ran. Names of the kernel's threads,
/// of the idle task and of noised's own are everybody's, and so are names that the configuration gives a category.
class NameOwners {
 public:
  /// Tasks that are looked up in a drain, at most, each by opening two files of /proc: where more are born, some names
  /// stay without an owner.
  static constexpr unsigned kLooksPerDrain = 16;

  /// `chosen` outlives this; /proc is the host's but in tests.
  explicit NameOwners(const CategoryChoices& chosen, std::string proc = "/proc");

  /// Pipeline: a drain begins.
  void begin_drain() { looks_ = 0; }
  /// Pipeline: the task has the name of this source. It is looked up once, and believed only if /proc says that it is
  /// called so. Waits for nobody: where another thread holds the names, it is looked up the next time. One hash lookup
  /// if it is known.
  void note(SourceId source, std::string_view name, std::uint32_t pid);
  /// Pipeline: the same of all tasks in a ledger.
  void note(const account::DetourLedger& ledger, const SourceTable& sources);
  /// Pipeline: the same of a name that is no source's, as the kernel has it.
  void note(std::string_view comm, std::uint32_t pid);
  /// Other threads: this user has a task of that name.
  void add(std::string_view name, uid_t user);
  /// Other threads: true if this user, who is not root, may be told the name. Never of one that nobody was seen to
  /// have.
  [[nodiscard]] bool may_know(std::string_view name, uid_t user) const;
  /// Pipeline: the same, but false where another thread holds the names.
  [[nodiscard]] bool may_know_now(std::string_view name, uid_t user) const;

 private:
  struct Owners {
    bool everybody = false;
    std::vector<uid_t> users;
  };
  void note(std::uint64_t key, std::string_view name, std::uint32_t pid);
  [[nodiscard]] bool is_everybodys(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name, uid_t user) const;
  void add_held(std::string_view name, std::optional<uid_t> user);

  const CategoryChoices& chosen_;
  system::ProcTasks proc_;
  unsigned looks_ = 0;
  std::unordered_set<std::uint64_t> noted_;  // the pipeline's: pid and source, or pid and a hash of the name
  mutable std::mutex held_;
  std::map<std::string, Owners, std::less<>> names_;
  std::atomic<bool> forget_{false};  // names_ was full: what was noted is to be noted again
};

}  // namespace noised::pipeline
