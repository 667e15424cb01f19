// SPDX-License-Identifier: Apache-2.0
// Looking through the entries of detours.
#include "selftest/shown_events.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace noised::selftest {
namespace {

std::optional<std::string> detail(const DetourEntryView& entry, std::string_view key) {
  for (const auto& [name, value] : entry.detail) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::uint64_t intervals_of(const DetourEntryView& entry) {
  const std::optional<std::string> text = detail(entry, "intervals");
  return text ? to_number<std::uint64_t>(*text).value_or(1) : 1;
}

bool is_wanted(const Wanted& wanted, const DetourEntryView& entry) {
  const Identity identity{entry.kind, entry.name};
  if (std::find(wanted.identities.begin(), wanted.identities.end(), identity) == wanted.identities.end()) return false;
  const std::optional<std::string> pid = entry.kind == "task" ? detail(entry, "pid") : std::nullopt;
  return wanted.pid == 0 || !pid || *pid == std::to_string(wanted.pid);
}

bool is_task(const DetourEntryView& entry, const std::string& name) {
  return entry.kind == "task" && entry.name == name;
}

// One detour, entry by entry: entries are in order of their start, and a nested one is deeper than the one around it.
class Reader {
 public:
  /// `asleep`: the last interval seen was the first part of one that slept; kept from detour to detour.
  Reader(const Wanted& wanted, ShownEvent& shown_event, bool& asleep)
      : wanted_(wanted), event_(shown_event), asleep_(asleep) {}

  void read(const DetourEntryView& entry) {
    leave(around_, entry);
    leave(other_, entry);
    leave(counted_, entry);
    if (detail(entry, "intervals")) event_.summed = true;
    if (counted_ != kNone) event_.task_ns += entry.self_ns;
    if (is_task(entry, wanted_.inside)) {
      around_ = entry.depth;
      task_shown_ = true;
    }
    if (entry.kind == "task" && !wanted_.victim.empty() && entry.name != wanted_.victim) other_ = entry.depth;
    if (!is_wanted(wanted_, entry) || other_ != kNone) return;
    any_ = true;
    if (!wanted_.inside.empty() && around_ == kNone) return;
    // What slept in its middle is shown as two intervals, and happened once.
    const bool part = entry.kind != "task" && detail(entry, "split");
    if (part) asleep_ = !asleep_;
    if (part && !asleep_) return;
    event_.intervals += intervals_of(entry);
    if (detail(entry, "stretched")) event_.stretched = true;
    const std::optional<std::string> waker = detail(entry, "waker");
    if (waker && !wanted_.waker.empty() && *waker != wanted_.waker) event_.wrong_waker = true;
    if (entry.kind != "task" || counted_ != kNone) return;
    event_.task_ns += entry.self_ns;
    counted_ = entry.depth;
  }

  void finish() {
    if (wanted_.inside.empty() || !event_.summed || !task_shown_ || !any_) return;
    event_.placeless = true;
    event_.intervals = 0;
  }

 private:
  static constexpr std::int64_t kNone = -1;

  static void leave(std::int64_t& depth, const DetourEntryView& entry) {
    if (entry.depth <= depth) depth = kNone;
  }

  const Wanted& wanted_;
  ShownEvent& event_;
  bool& asleep_;
  std::int64_t around_ = kNone;   // depth of the task that events must be inside of, while in it
  std::int64_t other_ = kNone;    // depth of a task that they must not be inside of, while in it
  bool task_shown_ = false;       // that task is somewhere in the detour
  bool any_ = false;              // so is one of the wanted
  std::int64_t counted_ = kNone;  // depth of the wanted task, while in it
};

}  // namespace

std::vector<ShownEvent> find_shown_events(const Wanted& wanted, unsigned cpu, std::span<const DetourView> detours) {
  std::vector<ShownEvent> shown_events;
  bool asleep = false;
  for (const DetourView& detour : detours) {
    if (detour.cpu != cpu) continue;
    ShownEvent shown_event;
    shown_event.start_ns = detour.start_ns;
    shown_event.end_ns = detour.start_ns + detour.duration_ns;
    shown_event.incomplete = detour.incomplete;
    Reader reader(wanted, shown_event, asleep);
    for (const DetourEntryView& entry : detour.entries) reader.read(entry);
    reader.finish();
    if (shown_event.intervals != 0 || shown_event.placeless) shown_events.push_back(shown_event);
  }
  return shown_events;
}

}  // namespace noised::selftest
