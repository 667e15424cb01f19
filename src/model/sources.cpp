// SPDX-License-Identifier: Apache-2.0
// Names and categories of sources.
#include "model/sources.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include <fmt/format.h>

namespace noised {
namespace {

constexpr std::array<std::string_view, kKindCount> kKindNames = {
    "none", "nmi",  "irq",  "vector",     "softirq",    "tasklet",  "timer",    "hrtimer",     "irq_work",
    "csd",  "task", "work", "page_fault", "hypervisor", "hardware", "overhead", "unexplained",
};
constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "periodic", "page_fault", "scheduling", "preemption", "io",          "ipi",
    "nmi",      "hypervisor", "hardware",   "overhead",   "unexplained",
};

std::string key_of(Kind kind, std::string_view name) {
  std::string key(1, static_cast<char>(kind));
  key.append(name);
  return key;
}

Category category_of_vector(std::string_view name) {
  if (name == "local_timer") return Category::periodic;
  if (name == "reschedule") return Category::scheduling;
  if (name.starts_with("call_function") || name == "irq_work" || name == "x86_platform_ipi") return Category::ipi;
  return Category::io;  // thermal, threshold, error, spurious: the machine's own devices
}

Category category_of_softirq(std::string_view name) {
  if (name == "TIMER" || name == "HRTIMER") return Category::periodic;
  if (name == "SCHED" || name == "RCU") return Category::scheduling;
  return Category::io;  // NET_TX, NET_RX, BLOCK, IRQ_POLL, and HI and TASKLET, which drivers use
}

}  // namespace

std::string_view to_string(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
std::string_view to_string(Category category) { return kCategoryNames[static_cast<std::size_t>(category)]; }

std::optional<Kind> kind_named(std::string_view name) {
  const auto* const found = std::find(kKindNames.begin(), kKindNames.end(), name);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<Kind>(found - kKindNames.begin());
}

std::optional<Category> category_named(std::string_view name) {
  const auto* const found = std::find(kCategoryNames.begin(), kCategoryNames.end(), name);
  if (found == kCategoryNames.end()) return std::nullopt;
  return static_cast<Category>(found - kCategoryNames.begin());
}

bool is_own(Kind kind, std::string_view name) {
  return kind == Kind::task && (name == "noised" || name.starts_with("noised/") || name == "noisectl");
}

Category category_of(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::vector:
      return category_of_vector(name);
    case Kind::softirq:
      return category_of_softirq(name);
    case Kind::timer:
    case Kind::hrtimer:
      return Category::periodic;
    case Kind::irq:
    case Kind::tasklet:
      return Category::io;
    case Kind::irq_work:
    case Kind::csd:
      return Category::ipi;
    case Kind::task:
      return name == kLeavingIdle ? Category::scheduling : Category::preemption;
    case Kind::work:
      return Category::preemption;
    case Kind::nmi:
      return Category::nmi;
    case Kind::page_fault:
      return Category::page_fault;
    case Kind::hypervisor:
      return Category::hypervisor;
    case Kind::hardware:
      return Category::hardware;
    case Kind::overhead:
      return Category::overhead;
    case Kind::none:
    case Kind::unexplained:
      return Category::unexplained;
  }
  return Category::unexplained;
}

Departures::Departures(std::vector<Departure> all) : all_(std::move(all)), place_of_(SourceTable::kCapacity, 0) {
  for (std::size_t place = 0; place < all_.size(); ++place)
    place_of_[SourceTable::slot_of(all_[place].from)] = static_cast<std::uint32_t>(place + 1);
}

SourceId Departures::now(SourceId id) const {
  const std::uint32_t place = place_of_[SourceTable::slot_of(id)];
  return place != 0 && all_[place - 1].from == id ? all_[place - 1].into : id;
}

SourceTable::SourceTable(CategoryChoices chosen)
    : chosen_(std::move(chosen)),
      sources_(std::make_unique<Source[]>(kCapacity)),
      rounds_(std::make_unique<std::atomic<SourceId>[]>(kCapacity)) {
  // The gaps first, then an "other" for each kind, so that gap() and other() are arithmetic.
  for (Kind kind : {Kind::hypervisor, Kind::hardware, Kind::overhead, Kind::unexplained}) append(kind, to_string(kind));
  for (auto kind = static_cast<unsigned>(Kind::none); kind < static_cast<unsigned>(Kind::hypervisor); ++kind) {
    append(static_cast<Kind>(kind), "other");
  }
}

SourceId SourceTable::append(Kind kind, std::string_view name) {
  const std::size_t slot = free_.empty() ? size() : free_.back();
  const auto chosen = chosen_.find(fmt::format("{}:{}", to_string(kind), name));
  const Category category = chosen == chosen_.end() ? category_of(kind, name) : chosen->second;
  sources_[slot] = Source{kind, category, std::string(name)};
  tasks_ += kind == Kind::task ? 1 : 0;
  if (free_.empty()) {
    size_.store(slot + 1, std::memory_order_release);
  } else {
    free_.pop_back();
  }
  const auto id = static_cast<SourceId>(slot + rounds_[slot].load(std::memory_order_relaxed) * kCapacity);
  ids_.emplace(key_of(kind, name), id);
  return id;
}

SourceId SourceTable::intern(Kind kind, std::string_view name) {
  if (const auto known = find(kind, name)) return *known;
  if (has_room() && (kind != Kind::task || tasks_ < kTasks)) return append(kind, name);
  overflowed_.fetch_add(1, std::memory_order_relaxed);
  return other(kind);
}

std::optional<SourceId> SourceTable::find(Kind kind, std::string_view name) const {
  const auto found = ids_.find(key_of(kind, name));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

SourceId SourceTable::restore(Kind kind, std::string_view name, Category category) {
  const auto known = find(kind, name);
  // Whoever recorded has kept what share he would.
  const SourceId id = known ? *known : has_room() ? append(kind, name) : other(kind);
  sources_[slot_of(id)].category = category;
  return id;
}

SourceId SourceTable::gap(Kind kind) const {
  assert(kind >= Kind::hypervisor && kind <= Kind::unexplained);
  return static_cast<SourceId>(kind) - static_cast<SourceId>(Kind::hypervisor);
}

SourceId SourceTable::other(Kind kind) const {
  assert(kind < Kind::hypervisor);
  constexpr auto kGaps = static_cast<SourceId>(Kind::unexplained) - static_cast<SourceId>(Kind::hypervisor) + 1;
  return kGaps + static_cast<SourceId>(kind);
}

const Source& SourceTable::at(SourceId id) const {
  assert(slot_of(id) < size());
  return sources_[slot_of(live(id))];
}

std::optional<Departure> SourceTable::departure(SourceId id) {
  const Source& source = at(id);
  const SourceId others = other(Kind::task);
  if (source.kind != Kind::task || id == others || !has(id) || id / kCapacity + 1 == kRounds) return std::nullopt;
  if (source.name == kLeavingIdle) return std::nullopt;
  if (source.category != at(others).category || chosen_.contains(fmt::format("task:{}", source.name)))
    return std::nullopt;
  if (!is_own(Kind::task, source.name)) return Departure{id, others};
  if (source.name == kOwnOther) return std::nullopt;
  if (const auto own = find(Kind::task, kOwnOther)) return Departure{id, *own};
  // Of its own: what noised took never becomes less.
  if (!has_room()) return std::nullopt;
  return Departure{id, append(Kind::task, kOwnOther)};
}

std::vector<SourceId> SourceTable::task_ids() const {
  std::vector<SourceId> ids;
  for (const auto& [key, id] : ids_) {
    if (at(id).kind == Kind::task) ids.push_back(id);
  }
  return ids;
}

void SourceTable::let_go(std::span<const Departure> departures) {
  for (const Departure& departure : departures) {
    const std::size_t slot = slot_of(departure.from);
    assert(has(departure.from) && sources_[slot].kind == Kind::task);
    ids_.erase(key_of(Kind::task, sources_[slot].name));
    rounds_[slot].fetch_add(1, std::memory_order_relaxed);
    free_.push_back(slot);
    --tasks_;
  }
  departed_.fetch_add(departures.size(), std::memory_order_relaxed);
}

}  // namespace noised
