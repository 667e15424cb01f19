// SPDX-License-Identifier: Apache-2.0
#include "import/list_recording.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/text.h"
#include "recording/description.h"
#include "recording/records.h"

namespace noised::imports {
namespace {

using recording::BlockKind;
using recording::Counts;
using recording::RecordedDetour;
using recording::RecordWriter;

constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;

class ListWriter {
 public:
  ListWriter(const DetourList& list, const std::set<unsigned>& cpus, std::uint64_t from_ns, std::uint64_t until_ns,
             recording::BlockWriter& file)
      : list_(list), from_ns_(from_ns), until_ns_(until_ns), file_(file) {
    for (const unsigned cpu : cpus) places_.try_emplace(cpu);
    std::size_t place = 0;
    for (auto& [cpu, at] : places_) at = place++;
  }

  Status write(const std::string& name) {
    recording::Description description;
    description.base = counts(0, from_ns_);
    description.base.status.unsupported = {
        fmt::format("all but when detours were, and of which source: imported from {}", in_quotes(name))};
    if (Status done = file_.add(BlockKind::description, to_json(description)); !done) return done;
    unsupported_ = description.base.status.unsupported;
    begin_block();
    for (const auto& [cpu, place] : places_) {
      if (Status room = make_room(0); !room) return room;
      writer_.begins(place, from_ns_);
    }
    for (const ListedSource& source : list_.sources) {
      if (source.kind >= Kind::hypervisor) continue;
      if (Status room = make_room(source.name.size()); !room) return room;
      writer_.source(source.kind, category_of(source.kind, source.name), source.name);
    }
    if (Status done = write_detours(); !done) return done;
    Counts last = counts(until_ns_ - from_ns_, until_ns_);
    last.status.unsupported = unsupported_;
    const std::string text = to_json(last);
    if (Status room = make_room(text.size()); !room) return room;
    writer_.checkpoint(text);
    if (Status sealed = seal(); !sealed) return sealed;
    return file_.finish();
  }

 private:
  // Sources of time without kernel activity are no records: the parts of a detour tell them.
  Status write_detours() {
    std::vector<SourceId> numbers;
    numbers.reserve(list_.sources.size());
    SourceId next = 0;
    for (const ListedSource& source : list_.sources) numbers.push_back(source.kind < Kind::hypervisor ? next++ : 0);
    for (const ListedDetour& detour : list_.detours) {
      if (Status room = make_room(RecordWriter::kLongestRecord); !room) return room;
      const std::size_t place = places_.at(detour.cpu);
      const Kind kind = list_.sources[detour.source].kind;
      RecordedDetour recorded{detour.start_ns, detour.end_ns, 0, {}, false};
      if (kind >= Kind::hypervisor) {
        recorded.parts.gap_ns(kind) = detour.end_ns - detour.start_ns;
      } else {
        writer_.interval(place, {detour.start_ns, detour.end_ns, numbers[detour.source], kind, 0, 0, 0, 0});
      }
      writer_.detour(place, recorded, {});
    }
    return success();
  }

  [[nodiscard]] Counts counts(std::uint64_t observed_ns, std::uint64_t now_ns) const {
    std::uint64_t shortest_ns = UINT64_MAX;
    for (const ListedDetour& each : list_.detours) shortest_ns = std::min(shortest_ns, each.end_ns - each.start_ns);
    Counts counts;
    std::vector<unsigned> cpus;
    for (const auto& [cpu, place] : places_) {
      cpus.push_back(cpu);
      recording::CpuCounts of;
      of.cpu = cpu;
      of.threshold_ns = shortest_ns;
      of.observed_ns = observed_ns;
      of.containment.emplace();
      counts.cpus.push_back(of);
    }
    counts.status.version = NOISED_VERSION;
    counts.status.host = "a machine not known (imported)";
    counts.status.kernel = "not known";
    counts.status.clock.source = "of the list";
    counts.status.probe_cpus = format_cpu_list(cpus);
    counts.status.threshold_ns = shortest_ns;
    counts.status.uptime_ns = observed_ns;
    counts.clock.monotonic_ns = now_ns;
    return counts;
  }

  void begin_block(std::size_t least = 0) {
    block_.resize(std::max(kBlockBytes, least));
    writer_.begin(block_, places_.size());
  }
  Status seal() { return file_.add(BlockKind::events, {block_.data(), writer_.size()}); }
  // For a record with a text of so many bytes.
  Status make_room(std::size_t text) {
    const std::size_t needed = RecordWriter::kLongestRecord + text;
    if (writer_.left() >= needed) return success();
    if (Status sealed = seal(); !sealed) return sealed;
    begin_block(needed);
    return success();
  }

  const DetourList& list_;
  std::uint64_t from_ns_;
  std::uint64_t until_ns_;
  recording::BlockWriter& file_;
  std::map<unsigned, std::size_t> places_;  // by CPU
  std::vector<std::string> unsupported_;
  std::vector<char> block_;
  RecordWriter writer_;
};

}  // namespace

Status write_recording(const DetourList& list, const Observed& observed, const std::string& name,
                       recording::BlockWriter& file) {
  std::uint64_t first_ns = UINT64_MAX;
  std::uint64_t last_ns = 0;
  std::set<unsigned> cpus;
  if (observed.cpus) cpus.insert(observed.cpus->begin(), observed.cpus->end());
  for (const ListedDetour& each : list.detours) {
    first_ns = std::min(first_ns, each.start_ns);
    last_ns = std::max(last_ns, each.end_ns);
    if (cpus.insert(each.cpu).second && observed.cpus)
      return usage_error(fmt::format("{}:{}: CPU {} is not one of --cpus", name, each.line, each.cpu),
                         "list all CPUs that were observed");
  }
  const std::uint64_t from_ns = observed.from_ns.value_or(first_ns);
  const std::uint64_t until_ns = observed.until_ns.value_or(last_ns);
  if (first_ns < from_ns || last_ns > until_ns) {
    return usage_error(fmt::format("{}: detours are from {} ns to {} ns, which is not all between {} ns and {} ns",
                                   name, first_ns, last_ns, from_ns, until_ns),
                       "give the time in which the CPUs were observed as --from and --until");
  }
  return ListWriter(list, cpus, from_ns, until_ns, file).write(name);
}

}  // namespace noised::imports
