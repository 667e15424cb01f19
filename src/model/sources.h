// SPDX-License-Identifier: Apache-2.0
// The table of sources: small numbers for (kind, name) pairs, so that the pipeline compares no strings.
#pragma once

#include "model/types.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace noised {

struct Source {
  Kind kind = Kind::none;
  Category category = Category::unexplained;
  std::string name;
};

/// A CPU's way out of its idle state, for a task that was woken there: the name of this source, which is the idle
/// task's. It is longer than any task's own name can be.
inline constexpr std::string_view kLeavingIdle = "leaving idle state";

/// True for the task of noised's own threads, which are called noised or noised/..., and of noisectl. Their names are
/// all that is known of them, and anybody may choose these.
bool is_own(Kind kind, std::string_view name);

/// The category of a source, by kind and, for vectors, softirqs and leaving idle, by name (design.md, "Words").
Category category_of(Kind kind, std::string_view name);

/// Categories that the configuration chooses, by "kind:name".
using CategoryChoices = std::map<std::string, Category, std::less<>>;

/// Append-only: an entry never moves or changes, so another thread may read every id that it was handed under a lock.
class SourceTable {
 public:
  static constexpr std::size_t kCapacity = 4096;
  /// Names of tasks: anybody may make as many as he likes. The rest is for the kernel's functions and interrupts.
  static constexpr std::size_t kTasks = 3072;

  /// `chosen`: categories by "kind:name" that differ from category_of().
  explicit SourceTable(CategoryChoices chosen = {});

  /// The id of (kind, name), new or known; once the table is full, or a task's share of it, the id of (kind, "other").
  SourceId intern(Kind kind, std::string_view name);
  /// The same for a source of a recording, in the category that it had there.
  SourceId restore(Kind kind, std::string_view name, Category category);
  /// The id of time outside every interval: kinds hypervisor, hardware, overhead, unexplained, named like their kind.
  [[nodiscard]] SourceId gap(Kind kind) const;
  /// The id of (kind, "other").
  [[nodiscard]] SourceId other(Kind kind) const;
  [[nodiscard]] const Source& at(SourceId id) const;
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_acquire); }
  /// How many intern() calls were answered "other" because there was no room.
  [[nodiscard]] std::uint64_t overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  /// How many names of tasks there are.
  [[nodiscard]] std::size_t tasks() const { return tasks_; }

 private:
  SourceId append(Kind kind, std::string_view name);

  CategoryChoices chosen_;
  std::unique_ptr<Source[]> sources_;
  std::atomic<std::size_t> size_{0};
  std::atomic<std::uint64_t> overflowed_{0};
  std::size_t tasks_ = 0;
  std::unordered_map<std::string, SourceId> ids_;  // key: kind byte + name
};

}  // namespace noised
