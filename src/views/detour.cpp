// SPDX-License-Identifier: Apache-2.0
// One detour as one line: JSON for programs, and a sum of causes for people.
#include "views/detour.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <noised/abi.h>

#include "base/saturating.h"
#include "base/text.h"
#include "model/json_parts.h"
#include "views/text.h"
#include "views/views.h"

namespace noised::views {
namespace {

using Details = std::vector<std::pair<std::string, std::string>>;

// Takes a detail out, so that what remains at the end is what nobody had a phrase for.
std::string take(Details& details, std::string_view key) {
  const auto found = std::find_if(details.begin(), details.end(), [&](const auto& each) { return each.first == key; });
  if (found == details.end()) return {};
  std::string value = printable(found->second);
  details.erase(found);
  return value;
}

// "woken by systemd[1] on CPU 0", "sent by softirq NET_RX on CPU 0", "woken here".
std::string actor(Details& details, const std::string& role, std::string_view verb) {
  const std::string name = take(details, role);
  const std::string pid = take(details, role + "_pid");
  const std::string cpu = take(details, role + "_cpu");
  const std::string context = take(details, role + "_context");
  if (context == "this CPU") return fmt::format("{} here", verb);
  if (name.empty() && pid.empty() && context.empty()) return {};
  // A name that the reader may not know has a pid all the same.
  const std::string task = pid.empty() ? name : name.empty() ? "pid " + pid : fmt::format("{}[{}]", name, pid);
  std::string text = fmt::format("{} by {}", verb, task.empty() ? context : task);
  if (!task.empty() && !context.empty()) text += fmt::format(" ({})", context);
  return cpu.empty() ? text : fmt::format("{} on CPU {}", text, cpu);
}

std::string phrase(Details& details, std::string_view key, std::string_view before, std::string_view after = {}) {
  const std::string value = take(details, key);
  return value.empty() ? value : fmt::format("{}{}{}", before, value, after);
}

}  // namespace

std::string chain_text(const DetourEntryView& entry) {
  Details details = entry.detail;
  std::vector<std::string> phrases = {
      phrase(details, "pid", "pid "),
      actor(details, "waker", "woken"),
      actor(details, "mover", "moved"),
      phrase(details, "service", "of "),
      phrase(details, "work", "runs "),
      actor(details, "sender", "sent"),
      phrase(details, "function", "to run "),
      phrase(details, "sender_code", "in "),
      phrase(details, "sends", "", " sends"),
      phrase(details, "ip", "at "),
      phrase(details, "address", "", " address"),
  };
  for (const auto& [key, value] : details) {
    phrases.push_back(printable(value == "true" ? key : fmt::format("{} {}", key, value)));
  }
  std::erase_if(phrases, [](const std::string& each) { return each.empty(); });
  return fmt::format("{}", fmt::join(phrases, ", "));
}

std::string lost_line_json(std::uint64_t detours) { return dump(Json{{"lost_detours", detours}}); }

std::optional<std::uint64_t> parse_lost_line(std::string_view line) {
  // Nearly every line is a detour: those are not parsed twice.
  if (line.substr(0, line.find(':')).find("\"lost_detours\"") == std::string_view::npos) return std::nullopt;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find("lost_detours");
  if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

std::string lost_line_text(std::uint64_t detours) {
  return fmt::format("-- {} detours not shown: this reader was too slow --", detours);
}

namespace {

// The kernel's stack of frames is never deeper; what else a stream may say must not fill the memory.
constexpr unsigned kDeepest = NOISED_STACK_DEPTH;

// A vector's name says what it is; a gap outside every interval has only its kind.
std::string entry_label(const DetourEntryView& entry) {
  if (entry.name.empty() || entry.name == entry.kind) return printable(entry.kind);
  if (entry.kind == "vector") return printable(entry.name);
  return printable(entry.kind + " " + entry.name);
}

std::string detail_text(const DetourEntryView& entry) {
  const std::string text = chain_text(entry);
  return text.empty() ? text : " (" + text + ")";
}

// As many '>' as frames around the entry, so that two callbacks of one softirq read differently from nested ones.
std::string separator(bool first, unsigned depth) {
  const unsigned shown = std::min(depth, kDeepest);
  if (shown > 0) return (first ? "" : " ") + std::string(shown, '>') + " ";
  return first ? "" : " + ";
}

bool alike(const DetourEntryView& a, const DetourEntryView& b) {
  return a.kind == b.kind && a.name == b.name && a.depth == b.depth && a.detail == b.detail;
}

}  // namespace

std::string to_json(const DetourView& detour) { return dump(fields_json(detour, kDetourFields)); }

Result<DetourView> parse_detour(std::string_view json) { return parse_as<DetourView>(json, "detour", kDetourFields); }

std::string start_text(std::uint64_t start_ns, const StartClock& clock) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto seconds = [](std::uint64_t ns) { return fmt::format("{}.{:06} s", ns / kSecond, ns % kSecond / 1000); };
  if (clock.clock == ShownClock::boot) return seconds(start_ns);
  if (clock.clock == ShownClock::start) {
    const bool before = start_ns < clock.zero_ns;
    return (before ? "-" : "+") + seconds(before ? clock.zero_ns - start_ns : start_ns - clock.zero_ns);
  }
  const std::uint64_t wall_ns = saturating_add(start_ns, clock.zero_ns);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(wall_ns / kSecond)),
                     wall_ns % kSecond / 1000);
}

std::string to_text(const DetourView& detour) { return to_text(detour, StartClock()); }

std::string to_text(const DetourView& detour, const StartClock& clock) {
  std::string text = fmt::format("cpu {}  {}  {:>7}  ", detour.cpu, start_text(detour.start_ns, clock),
                                 format_duration(detour.duration_ns));
  if (detour.pid != 0) text += fmt::format("{} {} {}: ", printable(detour.task), detour.pid, printable(detour.loss));
  bool first = true;
  for (auto entry = detour.entries.begin(); entry != detour.entries.end();) {
    // A task that starts may have a hundred page faults in a row: one word and their number say as much.
    const auto next =
        std::find_if_not(entry, detour.entries.end(), [&](const auto& other) { return alike(*entry, other); });
    std::uint64_t self_ns = 0;
    for (auto each = entry; each != next; ++each) self_ns += each->self_ns;
    text += separator(first, entry->depth) + entry_label(*entry) + detail_text(*entry);
    if (next - entry > 1) text += fmt::format(" x{}", next - entry);
    text += " " + format_duration(self_ns);
    first = false;
    entry = next;
  }
  if (detour.overhead_ns > 0 || first) text += separator(first, 0) + "overhead " + format_duration(detour.overhead_ns);
  if (detour.incomplete) text += "  INCOMPLETE";
  return text;
}

}  // namespace noised::views
