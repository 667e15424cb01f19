// SPDX-License-Identifier: Apache-2.0
// The table of sources: small numbers for (kind, name) pairs, so that the pipeline compares no strings.
#pragma once

#include "model/types.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace noised {

struct Source {
  Kind kind = Kind::none;
  Category category = Category::unexplained;
  std::string name;
};

/// A CPU's way out of its idle state, for a task that was woken there: the name of this source, which is the idle
/// task's. It is longer than any task's own name can be.
inline constexpr std::string_view kLeavingIdle = "leaving idle state";

/// Where names of noised's own go when they leave.
inline constexpr std::string_view kOwnOther = "noised/other";

/// True for the task of noised's own threads, which are called noised or noised/..., and of noisectl. Their names are
/// all that is known of them, and anybody may choose these.
bool is_own(Kind kind, std::string_view name);

/// The category of a source, by kind and, for vectors, softirqs and leaving idle, by name (design.md, "Words").
Category category_of(Kind kind, std::string_view name);

/// Categories that the configuration chooses, by "kind:name".
using CategoryChoices = std::map<std::string, Category, std::less<>>;

/// A name that leaves the table, and the source of which it is a part from then on.
struct Departure {
  SourceId from = 0;
  SourceId into = 0;
};

/// Names that leave together.
class Departures {
 public:
  explicit Departures(std::vector<Departure> all);

  [[nodiscard]] std::span<const Departure> all() const { return all_; }
  /// Where this source goes if it is one of them; else it stays what it is.
  [[nodiscard]] SourceId now(SourceId id) const;

 private:
  std::vector<Departure> all_;
  std::vector<std::uint32_t> place_of_;  // by slot: in `all_`, from 1; 0: none of it leaves
};

/// One thread changes it. An id is a slot and how many names left that slot before: an id that is kept for too long is
/// `other`, never somebody else. Other threads read names of ids that they were handed under a lock, while they hold().
class SourceTable {
 public:
  static constexpr std::size_t kCapacity = 4096;  ///< slots
  /// Names of tasks: anybody may make as many as he likes. The rest is for the kernel's functions and interrupts.
  static constexpr std::size_t kTasks = 3072;

  /// Which slot an id has; below kCapacity.
  static constexpr std::size_t slot_of(SourceId id) { return id % kCapacity; }

  /// `chosen`: categories by "kind:name" that differ from category_of().
  explicit SourceTable(CategoryChoices chosen = {});
  [[nodiscard]] const CategoryChoices& chosen() const { return chosen_; }

  /// The id of (kind, name), new or known; once the table is full, or a task's share of it, the id of (kind, "other").
  SourceId intern(Kind kind, std::string_view name);
  /// The same for a source of a recording, in the category that it had there.
  SourceId restore(Kind kind, std::string_view name, Category category);
  /// The id of (kind, name), if there is one.
  [[nodiscard]] std::optional<SourceId> find(Kind kind, std::string_view name) const;
  /// The id of time outside every interval: kinds hypervisor, hardware, overhead, unexplained, named like their kind.
  [[nodiscard]] SourceId gap(Kind kind) const;
  /// The id of (kind, "other").
  [[nodiscard]] SourceId other(Kind kind) const;
  /// The source; of one that has left, other(Kind::task).
  [[nodiscard]] const Source& at(SourceId id) const;
  /// The id itself, or other(Kind::task) where that has left: for whoever counts by id.
  [[nodiscard]] SourceId live(SourceId id) const { return has(id) ? id : other(Kind::task); }
  /// How many slots were ever used; without departures, ids are the numbers below.
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_acquire); }
  /// How many intern() calls were answered "other" because there was no room.
  [[nodiscard]] std::uint64_t overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  /// How many names of tasks there are.
  [[nodiscard]] std::size_t tasks() const { return tasks_; }

  /// For other threads, from before they are handed ids until they have read the names: none leaves meanwhile.
  [[nodiscard]] std::unique_lock<std::mutex> hold() const { return std::unique_lock(held_); }
  /// For who changes it, before a departure; owns nothing while another thread holds.
  [[nodiscard]] std::unique_lock<std::mutex> try_hold() const { return std::unique_lock(held_, std::try_to_lock); }
  /// Where the time of a task goes when its name leaves: to other(Kind::task), or for noised's own to one of their
  /// own. Nothing if the name is to stay: it is no task's, is chosen, or its category is not that of the others.
  [[nodiscard]] std::optional<Departure> departure(SourceId id);
  /// These names leave, and their slots are free. For who owns try_hold(), after everything that is counted by id was
  /// told.
  void let_go(std::span<const Departure> departures);
  /// All sources of tasks that there are.
  [[nodiscard]] std::vector<SourceId> task_ids() const;
  /// How many names have left.
  [[nodiscard]] std::uint64_t departed() const { return departed_.load(std::memory_order_relaxed); }

 private:
  static constexpr SourceId kRounds = UINT32_MAX / kCapacity;  // so often a slot is used; it has no more ids then

  [[nodiscard]] bool has(SourceId id) const {
    return rounds_[slot_of(id)].load(std::memory_order_relaxed) == id / kCapacity;
  }
  [[nodiscard]] bool has_room() const { return !free_.empty() || size() < kCapacity; }
  SourceId append(Kind kind, std::string_view name);

  CategoryChoices chosen_;
  std::unique_ptr<Source[]> sources_;
  std::unique_ptr<std::atomic<SourceId>[]> rounds_;  // by slot: how many names have left it
  std::vector<std::size_t> free_;                    // slots that a name has left
  std::atomic<std::size_t> size_{0};
  std::atomic<std::uint64_t> overflowed_{0};
  std::atomic<std::uint64_t> departed_{0};
  std::size_t tasks_ = 0;
  std::unordered_map<std::string, SourceId> ids_;  // key: kind byte + name
  mutable std::mutex held_;
};

}  // namespace noised
