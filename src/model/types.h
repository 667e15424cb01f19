// SPDX-License-Identifier: Apache-2.0
// The types that flow down the pipeline. All times are CLOCK_MONOTONIC in nanoseconds unless a name says ticks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace noised {

/// What a source is (design.md, "The contract"). The first thirteen are those of abi.h, in its order.
enum class Kind : std::uint8_t {
  none,
  nmi,
  irq,
  vector,
  softirq,
  tasklet,
  timer,
  hrtimer,
  irq_work,
  csd,
  task,
  work,
  page_fault,
  hypervisor,
  hardware,
  overhead,
  unexplained,
};
inline constexpr std::size_t kKindCount = static_cast<std::size_t>(Kind::unexplained) + 1;

/// What a source belongs to (design.md, "Words").
enum class Category : std::uint8_t {
  periodic,
  page_fault,
  scheduling,
  preemption,
  io,
  ipi,
  nmi,
  hypervisor,
  hardware,
  overhead,
  unexplained,
};
inline constexpr std::size_t kCategoryCount = static_cast<std::size_t>(Category::unexplained) + 1;

/// The name of a kind as in the contract ("vector").
std::string_view to_string(Kind kind);
/// The name of a category as in the contract ("page_fault").
std::string_view to_string(Category category);

/// The kind, or category, with this name; nothing if there is none.
std::optional<Kind> kind_named(std::string_view name);
std::optional<Category> category_named(std::string_view name);

/// A source of a SourceTable (sources.h); equal ids mean equal kind and name.
using SourceId = std::uint32_t;

/// One stretch of kernel activity, or of another task, on a CPU.
struct Interval {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;  ///< equal to start_ns for an instant (page faults)
  SourceId source = 0;
  Kind kind = Kind::none;
  std::uint8_t flags = 0;   ///< noised_flags of abi.h
  std::uint64_t id = 0;     ///< pid, or address, as in noised_kind of abi.h
  std::uint32_t cause = 0;  ///< CauseId (account/causes.h) of what another CPU did to bring it about; 0: not known
  std::uint16_t call = 0;   ///< of a function that another CPU had queued: which of its calls
};

/// One gap that the loop saw, on the clock of the intervals.
struct Detour {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  bool in_doubt = false;  ///< events were lost, or the clock stepped, while it lasted
};

}  // namespace noised
