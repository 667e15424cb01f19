// SPDX-License-Identifier: Apache-2.0
// Looking through the entries of detours.
#include "selftest/sightings.h"

#include <algorithm>
#include <charconv>
#include <optional>

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
  std::uint64_t intervals = 1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), intervals);
  return intervals;
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
  Reader(const Wanted& wanted, Sighting& sighting, bool& asleep)
      : wanted_(wanted), sighting_(sighting), asleep_(asleep) {}

  void read(const DetourEntryView& entry) {
    leave(around_, entry);
    leave(counted_, entry);
    if (detail(entry, "intervals")) sighting_.summed = true;
    if (counted_ != kNone) sighting_.task_ns += entry.self_ns;
    if (is_task(entry, wanted_.inside)) {
      around_ = entry.depth;
      task_shown_ = true;
    }
    if (!is_wanted(wanted_, entry)) return;
    any_ = true;
    if (!wanted_.inside.empty() && around_ == kNone) return;
    // What slept in its middle is shown as two intervals, and happened once.
    const bool part = entry.kind != "task" && detail(entry, "split");
    if (part) asleep_ = !asleep_;
    if (part && !asleep_) return;
    sighting_.intervals += intervals_of(entry);
    if (detail(entry, "stretched")) sighting_.stretched = true;
    const std::optional<std::string> waker = detail(entry, "waker");
    if (waker && !wanted_.waker.empty() && *waker != wanted_.waker) sighting_.wrong_waker = true;
    if (entry.kind != "task" || counted_ != kNone) return;
    sighting_.task_ns += entry.self_ns;
    counted_ = entry.depth;
  }

  void finish() {
    if (wanted_.inside.empty() || !sighting_.summed || !task_shown_ || !any_) return;
    sighting_.placeless = true;
    sighting_.intervals = 0;
  }

 private:
  static constexpr std::int64_t kNone = -1;

  static void leave(std::int64_t& depth, const DetourEntryView& entry) {
    if (entry.depth <= depth) depth = kNone;
  }

  const Wanted& wanted_;
  Sighting& sighting_;
  bool& asleep_;
  std::int64_t around_ = kNone;   // depth of the task that events must be inside of, while in it
  bool task_shown_ = false;       // that task is somewhere in the detour
  bool any_ = false;              // so is one of the wanted
  std::int64_t counted_ = kNone;  // depth of the wanted task, while in it
};

}  // namespace

std::vector<Sighting> find_sightings(const Wanted& wanted, unsigned cpu, std::span<const DetourView> detours) {
  std::vector<Sighting> sightings;
  bool asleep = false;
  for (const DetourView& detour : detours) {
    if (detour.cpu != cpu) continue;
    Sighting sighting;
    sighting.start_ns = detour.start_ns;
    sighting.end_ns = detour.start_ns + detour.duration_ns;
    sighting.incomplete = detour.incomplete;
    Reader reader(wanted, sighting, asleep);
    for (const DetourEntryView& entry : detour.entries) reader.read(entry);
    reader.finish();
    if (sighting.intervals != 0 || sighting.placeless) sightings.push_back(sighting);
  }
  return sightings;
}

}  // namespace noised::selftest
