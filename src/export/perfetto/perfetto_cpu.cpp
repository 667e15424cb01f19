// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto/perfetto_cpu.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "export/export.h"

namespace noised::exports {

std::string largest_part(const account::DetourLedger& ledger, const SourceTable& sources) {
  std::string name(to_string(Kind::overhead));
  std::uint64_t largest_ns = ledger.overhead_ns;
  const auto compare = [&](std::uint64_t ns, const auto& text) {
    if (ns <= largest_ns) return;
    largest_ns = ns;
    name = text();
  };
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { compare(ns, [kind] { return to_string(kind); }); });
  for (const account::LedgerEntry& entry : ledger.entries) {
    compare(entry.self_ns, [&] { return source_text(sources.at(entry.source)); });
  }
  return name;
}

void note_ledger(const account::DetourLedger& ledger, const SourceTable& sources, const NoteEntry& more,
                 PerfettoFile::Notes& notes) {
  const auto note_entry = [&](PerfettoFile::Notes& to, std::size_t at) {
    const account::LedgerEntry& entry = ledger.entries[at];
    to.repeated_text("source", source_text(sources.at(entry.source)));
    to.number("self_ns", entry.self_ns);
    to.number("depth", entry.depth);
    more(to, at);
  };
  notes.list("entries", ledger.entries.size(), note_entry);
  notes.number("overhead_ns", ledger.overhead_ns);
  notes.number("hypervisor_ns", ledger.hypervisor_ns);
  notes.number("hardware_ns", ledger.hardware_ns);
  notes.number("unexplained_ns", ledger.unexplained_ns);
  notes.truth("incomplete", ledger.detour.in_doubt);
}

namespace {

// Numbers of tracks: those of a CPU begin at a multiple of 65536.
constexpr std::uint64_t kDetoursTrack = 1;
constexpr std::uint64_t kNotObservedTracks = 1 + Lanes::kMost;
constexpr std::uint64_t kActorsTrack = 1 + 2 * Lanes::kMost;
constexpr std::uint64_t kCategoryTracks = 2 + 2 * Lanes::kMost;
// Linux has no more on x86-64; a recording may say anything.
constexpr unsigned kMostCpus = 8192;

using Details = std::vector<std::pair<std::string_view, std::string_view>>;

std::string_view value_of(const Details& details, std::string_view key) {
  const auto found = std::find_if(details.begin(), details.end(), [&](const auto& each) { return each.first == key; });
  return found == details.end() ? std::string_view() : found->second;
}

std::optional<unsigned> cpu_of(std::string_view text) {
  unsigned cpu = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (problem != std::errc() || end != text.data() + text.size() || cpu >= kMostCpus) return std::nullopt;
  return cpu;
}

void note_details(PerfettoFile::Notes& notes, const Details& details) {
  for (const auto& [key, value] : details) notes.text(key, value);
}

/// "systemd[1]", "softirq NET_RX".
std::string actor_name(const Details& details, const std::string& role) {
  const std::string_view name = value_of(details, role);
  if (name.empty()) return std::string(value_of(details, role + "_context"));
  const std::string_view pid = value_of(details, role + "_pid");
  return pid.empty() ? std::string(name) : fmt::format("{}[{}]", name, pid);
}

}  // namespace

bool PerfettoRow::bar(std::uint64_t start_ns, std::uint64_t end_ns, const PerfettoFile::Bar& bar,
                      const PerfettoFile::WriteNotes& notes) {
  const auto lane =
      lanes_.open(start_ns, end_ns, [this](std::size_t at, std::uint64_t ns) { file_->end(track_.id + at, ns); });
  if (!lane) return false;
  for (; described_ <= *lane; ++described_) {
    PerfettoTrack track = track_;
    track.id += described_;
    file_->track(track);
  }
  file_->begin(track_.id + *lane, start_ns, bar, notes);
  return true;
}

void PerfettoRow::finish() {
  lanes_.finish([this](std::size_t at, std::uint64_t ns) { file_->end(track_.id + at, ns); });
}

std::uint64_t PerfettoActors::group(unsigned cpu, bool watched) {
  const std::uint64_t id = (std::uint64_t{cpu} + 1) << 16U;
  if (!groups_.insert(cpu).second) return id;
  file_.track({id, 0, fmt::format("CPU {}{}", cpu, watched ? "" : " (not watched)"), cpu + 1, ""});
  return id;
}

std::uint64_t PerfettoActors::act(unsigned cpu, std::uint64_t at_ns, std::string_view name,
                                  const PerfettoFile::WriteNotes& notes) {
  const std::uint64_t parent = group(cpu, false);
  if (rows_.insert(cpu).second) {
    file_.track(
        {parent + kActorsTrack, parent, "what it did to watched CPUs", kActorsTrack,
         "When it was done is not recorded: each is drawn where its consequence began, which is the latest that "
         "it can have been."});
  }
  file_.instant(parent + kActorsTrack, at_ns,
                {.name = name, .category = "cause", .repeated = false, .flows = {++last_flow_}}, notes);
  return last_flow_;
}

PerfettoCpu::PerfettoCpu(PerfettoFile& file, PerfettoActors& actors, const SourceTable& sources, unsigned cpu)
    : file_(file),
      actors_(actors),
      sources_(sources),
      cpu_(cpu),
      group_(actors.group(cpu, true)),
      detours_(file, {group_ + kDetoursTrack, group_, "detours", kDetoursTrack,
                      "What the loop saw: each bar is named after the largest part of its ledger."}),
      not_observed_(file, {group_ + kNotObservedTracks, group_, "not observed", kNotObservedTracks,
                           "The loop was not on its CPU, or rested: what happened meanwhile is in no detour."}) {}

PerfettoRow& PerfettoCpu::row_of(Category category) {
  auto& row = rows_[static_cast<std::size_t>(category)];
  if (!row) {
    const std::uint64_t at = kCategoryTracks + static_cast<std::uint64_t>(category) * Lanes::kMost;
    row.emplace(file_, PerfettoTrack{group_ + at, group_, std::string(to_string(category)), static_cast<unsigned>(at),
                                     "What the kernel's events tell."});
  }
  return *row;
}

std::vector<std::uint64_t> PerfettoCpu::draw_actors(const Interval& interval, const Details& details) {
  std::vector<std::uint64_t> flows;
  for (const std::string role : {"sender", "waker", "mover"}) {
    const std::string name = actor_name(details, role);
    const auto cpu = cpu_of(value_of(details, role + "_cpu"));
    if (name.empty() || !cpu) continue;
    const std::uint64_t flow = actors_.act(*cpu, interval.start_ns, name, [&](PerfettoFile::Notes& notes) {
      notes.text("role", role);
      notes.repeated_text("source", source_text(sources_.at(interval.source)));
      notes.number("to_cpu", cpu_);
      note_details(notes, details);
    });
    flows.push_back(flow);
  }
  return flows;
}

void PerfettoCpu::draw(const Interval& interval) {
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& each) {
    return each.entry.source == interval.source && each.entry.id == interval.id &&
           each.entry.start_ns == std::max(interval.start_ns, detour_start_ns_);
  });
  Details details;
  if (known != known_.end()) {
    details = std::move(known->details);
    known_.erase(known);
  }
  const Source& source = sources_.at(interval.source);
  const std::string name = source_text(source);
  const PerfettoFile::Bar bar{.name = name,
                              .category = to_string(source.category),
                              .repeated = true,
                              .flows = details.empty() ? std::vector<std::uint64_t>() : draw_actors(interval, details)};
  const bool drawn = row_of(source.category).bar(interval.start_ns, interval.end_ns, bar, [&](auto& notes) {
    note_details(notes, details);
    if (const std::string flags = flags_text(interval); !flags.empty()) notes.repeated_text("flags", flags);
  });
  if (!drawn) ++not_drawn_;
}

void PerfettoCpu::interval(const Interval& interval) {
  order_.add(interval, [this](const Interval& each) { draw(each); });
}

void PerfettoCpu::draw_detour(const account::DetourLedger& ledger) {
  const auto more = [&](PerfettoFile::Notes& notes, std::size_t at) {
    const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& each) { return each.index == at; });
    if (known != known_.end()) note_details(notes, known->details);
  };
  const std::string name = largest_part(ledger, sources_);
  const bool drawn = detours_.bar(ledger.detour.start_ns, ledger.detour.end_ns, {.name = name, .category = "detour"},
                                  [&](auto& notes) { note_ledger(ledger, sources_, more, notes); });
  if (!drawn) ++not_drawn_;
}

void PerfettoCpu::detour(const account::DetourLedger& ledger, std::string_view details) {
  known_.clear();
  detour_start_ns_ = ledger.detour.start_ns;
  each_detail(details, [&](std::size_t entry, std::string_view key, std::string_view value) {
    if (entry >= ledger.entries.size()) return;
    const account::LedgerEntry& of = ledger.entries[entry];
    if (known_.empty() || known_.back().index != entry) known_.push_back({entry, of, {}});
    known_.back().details.emplace_back(key, value);
  });
  draw_detour(ledger);
  order_.release(ledger.detour.end_ns, [this](const Interval& each) { draw(each); });
  known_.clear();
}

void PerfettoCpu::not_observed(std::uint64_t start_ns, std::uint64_t end_ns) {
  order_.release(end_ns, [this](const Interval& each) { draw(each); });
  if (!not_observed_.bar(start_ns, end_ns, {.name = "not observed", .category = "gap"}, {})) ++not_drawn_;
}

void PerfettoCpu::finish() {
  order_.release(UINT64_MAX, [this](const Interval& each) { draw(each); });
  detours_.finish();
  not_observed_.finish();
  for (auto& row : rows_) {
    if (row) row->finish();
  }
}

}  // namespace noised::exports
