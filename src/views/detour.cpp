// SPDX-License-Identifier: Apache-2.0
// One detour as one line: JSON for programs, and a sum of causes for people.
#include <fmt/format.h>

#include <algorithm>

#include <noised/abi.h>

#include "views/chain_text.h"
#include "views/format.h"
#include "views/json_fields.h"
#include "views/views.h"

namespace noised::views {
namespace {

// The kernel's stack of frames is never deeper; what else a stream may say must not fill the memory.
constexpr unsigned kDeepest = NOISED_STACK_DEPTH;

Json entry_json(const DetourEntryView& entry) {
  Json json{{"kind", entry.kind}, {"name", entry.name}, {"self_ns", entry.self_ns}, {"depth", entry.depth}};
  for (const auto& [key, value] : entry.detail) json["detail"][key] = value;
  return json;
}

void read_entry(const Fields& fields, DetourEntryView& entry) {
  fields.read("kind", entry.kind);
  fields.read("name", entry.name);
  fields.read("self_ns", entry.self_ns);
  fields.read("depth", entry.depth);
  const Json* detail = fields.optional("detail");
  if (detail == nullptr) return;
  if (!detail->is_object()) return fields.fail("detail", "not an object");
  for (const auto& [key, value] : detail->items()) {
    if (!value.is_string()) return fields.fail("detail." + key, "not a string");
    entry.detail.emplace_back(key, value.get<std::string>());
  }
}

void read_detour(const Fields& fields, DetourView& detour) {
  fields.read("cpu", detour.cpu);
  fields.read("start_ns", detour.start_ns);
  fields.read("duration_ns", detour.duration_ns);
  fields.read("incomplete", detour.incomplete);
  fields.each("entries", [&](const Fields& item) { read_entry(item, detour.entries.emplace_back()); });
  fields.read("overhead_ns", detour.overhead_ns);
  if (fields.optional("pid") == nullptr) return;
  fields.read("pid", detour.pid);
  fields.read("task", detour.task);
  fields.read("loss", detour.loss);
}

// A vector's name says what it is; a gap outside every interval has only its kind.
std::string label(const DetourEntryView& entry) {
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

std::string to_json(const DetourView& detour) {
  Json entries = Json::array();
  for (const DetourEntryView& entry : detour.entries) entries.push_back(entry_json(entry));
  Json json{{"cpu", detour.cpu},
            {"start_ns", detour.start_ns},
            {"duration_ns", detour.duration_ns},
            {"incomplete", detour.incomplete},
            {"entries", std::move(entries)},
            {"overhead_ns", detour.overhead_ns}};
  if (detour.pid != 0) {
    json["pid"] = detour.pid;
    json["task"] = detour.task;
    json["loss"] = detour.loss;
  }
  return dump(json);
}

Result<DetourView> parse_detour(std::string_view json) { return parse_as<DetourView>(json, "detour", read_detour); }

std::string to_text(const DetourView& detour) {
  std::string text = fmt::format("cpu {}  {}.{:06} s  {:>7}  ", detour.cpu, detour.start_ns / 1'000'000'000,
                                 detour.start_ns % 1'000'000'000 / 1000, format_duration(detour.duration_ns));
  if (detour.pid != 0) text += fmt::format("{} {} {}: ", printable(detour.task), detour.pid, printable(detour.loss));
  bool first = true;
  for (auto entry = detour.entries.begin(); entry != detour.entries.end();) {
    // A task that starts may have a hundred page faults in a row: one word and their number say as much.
    const auto next =
        std::find_if_not(entry, detour.entries.end(), [&](const auto& other) { return alike(*entry, other); });
    std::uint64_t self_ns = 0;
    for (auto each = entry; each != next; ++each) self_ns += each->self_ns;
    text += separator(first, entry->depth) + label(*entry) + detail_text(*entry);
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
