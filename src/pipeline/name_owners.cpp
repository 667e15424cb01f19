// SPDX-License-Identifier: Apache-2.0
// Names by user.
#include "pipeline/name_owners.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "system/names.h"

namespace noised::pipeline {
namespace {

// What is forgotten is looked up again, and hidden until then.
constexpr std::size_t kNames = 8192;
constexpr std::size_t kNoted = 65536;
// Of more users than that, the last ones are told no name that all of them have.
constexpr std::size_t kUsers = 16;
constexpr std::string_view kOther = "other";
constexpr std::string_view kIdle = "swapper/";

// A source's name may stand for many: without their numbers.
bool is_called(const system::TaskStat& task, std::string_view name) {
  const std::string comm = system::comm_of(task);
  return comm == name || system::task_name(comm, false) == name || system::task_name(comm, true) == name;
}

}  // namespace

NameOwners::NameOwners(const CategoryChoices& chosen, std::string proc) : chosen_(chosen), proc_(std::move(proc)) {}

void NameOwners::note(SourceId source, std::string_view name, std::uint32_t pid) {
  note(std::uint64_t{pid} << 32U | source, name, pid);
}

void NameOwners::note(const account::DetourLedger& ledger, const SourceTable& sources) {
  for (const account::LedgerEntry& entry : ledger.entries) {
    if (entry.kind == Kind::task)
      note(entry.source, sources.at(entry.source).name, static_cast<std::uint32_t>(entry.id));
  }
}

// Ids of sources are far below: a round of 4,096 for each time that a name left a slot.
void NameOwners::note(std::string_view comm, std::uint32_t pid) {
  const std::uint64_t hash = std::hash<std::string_view>{}(comm) | 0x80000000U;
  note(std::uint64_t{pid} << 32U | (hash & 0xffffffffU), comm, pid);
}

void NameOwners::note(std::uint64_t key, std::string_view name, std::uint32_t pid) {
  if (forget_.load(std::memory_order_relaxed) && forget_.exchange(false)) noted_.clear();
  if (noted_.contains(key) || pid == 0) return;
  if (looks_ == kLooksPerDrain) return;
  const std::unique_lock lock(held_, std::try_to_lock);
  if (!lock) return;
  ++looks_;
  if (noted_.size() >= kNoted) noted_.clear();
  noted_.insert(key);
  const auto task = proc_.owned(pid);
  if (!task || !is_called(task->stat, name)) return;  // it has ended: no user is known
  add_held(name, task->stat.is_kernel_thread() ? std::nullopt : std::optional(task->user));
}

void NameOwners::add(std::string_view name, uid_t user) {
  const std::lock_guard lock(held_);
  add_held(name, user);
}

void NameOwners::add_held(std::string_view name, std::optional<uid_t> user) {
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (names_.size() >= kNames) {
      names_.clear();
      forget_.store(true);
    }
    found = names_.emplace(name, Owners{}).first;
  }
  Owners& owners = found->second;
  owners.everybody |= !user;
  if (!user || owners.users.size() == kUsers || std::ranges::find(owners.users, *user) != owners.users.end()) return;
  owners.users.push_back(*user);
}

bool NameOwners::is_everybodys(std::string_view name) const {
  if (name == kOther || name == kLeavingIdle || name.starts_with(kIdle) || is_own(Kind::task, name)) return true;
  return !chosen_.empty() && chosen_.contains(fmt::format("task:{}", name));
}

bool NameOwners::has(std::string_view name, uid_t user) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return false;
  return found->second.everybody || std::ranges::find(found->second.users, user) != found->second.users.end();
}

bool NameOwners::may_know(std::string_view name, uid_t user) const {
  if (is_everybodys(name)) return true;
  const std::lock_guard lock(held_);
  return has(name, user);
}

bool NameOwners::may_know_now(std::string_view name, uid_t user) const {
  if (is_everybodys(name)) return true;
  const std::unique_lock lock(held_, std::try_to_lock);
  return lock && has(name, user);
}

}  // namespace noised::pipeline
