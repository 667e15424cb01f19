// SPDX-License-Identifier: Apache-2.0
// From records to counts. A record that cannot be true ends the playback: it would be counted wrong.
#include <algorithm>

#include "pipeline/losses.h"
#include "recording/player.h"

namespace noised {
namespace {

// Linux has no more on x86-64. Each costs a quarter of a megabyte, most of it OverheadBounds, once it is played.
constexpr std::size_t kMostCpus = 8192;

}  // namespace

Playback::Playback(Description description)
    : description_(std::move(description)),
      counts_(counts_between(description_.base, description_.base)),
      cpus_(description_.base.cpus.size()),
      current_(description_.base.cpus.size()) {}

Result<std::unique_ptr<Playback>> Playback::begin(std::string_view description) {
  auto parsed = parse_description(description);
  if (!parsed) return parsed.error();
  if (parsed.value().base.cpus.size() > kMostCpus) return failure("description: more CPUs than there can be");
  return std::unique_ptr<Playback>(new Playback(std::move(parsed).value()));
}

WatchedCpu& Playback::cpu(std::size_t place) {
  std::unique_ptr<WatchedCpu>& watched = cpus_[place];
  if (watched == nullptr) {
    const CpuCounts& counts = description_.base.cpus[place];
    WatchOptions options;
    options.cpu = counts.cpu;
    options.threshold_ns = counts.threshold_ns;
    watched = std::make_unique<WatchedCpu>(options, sources_);
  }
  return *watched;
}

const char* Playback::play_source(const Record& record) {
  if (ids_.size() >= SourceTable::kCapacity) return "more sources than there can be";
  ids_.push_back(sources_.restore(record.kind, record.text, record.category));
  return nullptr;
}

const char* Playback::play_interval(const Record& record, PlayerVisitor* visitor) {
  Interval interval = record.interval;
  if (interval.end_ns < interval.start_ns) return "an interval ends before it begins";
  if (interval.source >= ids_.size()) return "an interval has a source without a name";
  interval.source = ids_[interval.source];
  interval.kind = sources_.at(interval.source).kind;
  if (interval.kind == Kind::none || interval.kind >= Kind::hypervisor) {
    return "an interval has a source of no kernel activity";
  }
  // What a loss was made of comes with it.
  if (!watches_tasks() && !cpu(record.cpu).add(interval)) return "more intervals in a detour than there can be";
  if (visitor != nullptr && record.tag == RecordTag::interval) visitor->interval(record.cpu, interval);
  return nullptr;
}

const char* Playback::play_detour(const Record& record, PlayerVisitor* visitor) {
  const RecordedDetour& recorded = record.detour;
  if (recorded.end_ns < recorded.start_ns) return "a detour ends before it begins";
  const Detour detour{recorded.start_ns, recorded.end_ns, recorded.in_doubt};
  const Division division{recorded.overhead_ns, recorded.hypervisor_ns, recorded.hardware_ns, recorded.unexplained_ns};
  const Ledger* const ledger = cpu(record.cpu).add_recorded(detour, recorded.tolerance_ns, division);
  if (ledger == nullptr) return "the parts of a detour do not add up";
  behind_ = true;
  if (visitor != nullptr) visitor->detour(record.cpu, *ledger, record.text);
  return nullptr;
}

const char* Playback::play_checkpoint(std::string_view text) {
  auto counts = parse_counts(text);
  if (!counts) return (checkpoint_problem_ = counts.error().what).c_str();
  if (counts.value().cpus.size() != cpus_.size()) return "a checkpoint has other CPUs than the description";
  counts_ = counts_between(description_.base, counts.value());
  behind_ = false;
  note_current();
  return nullptr;
}

const char* Playback::play(const Record& record, PlayerVisitor* visitor) {
  const bool goes_on = record.tag == RecordTag::entries || record.tag == RecordTag::loss;
  if (!ledger_.entries.empty() && !goes_on && record.tag != RecordTag::part) return "entries of no loss";
  switch (record.tag) {
    case RecordTag::source:
      return play_source(record);
    case RecordTag::interval:
    case RecordTag::waits:
      return play_interval(record, visitor);
    case RecordTag::detour:
      return play_detour(record, visitor);
    case RecordTag::moved:
    case RecordTag::rested:
      if (record.end_ns < record.start_ns) return "a gap ends before it begins";
      cpu(record.cpu).rest({record.start_ns, record.end_ns, false});
      if (visitor != nullptr) visitor->gap(record.cpu, record.start_ns, record.end_ns);
      return nullptr;
    case RecordTag::begins:
      cpu(record.cpu).begin(record.start_ns);
      if (visitor != nullptr) visitor->begins(record.cpu, record.start_ns);
      return nullptr;
    case RecordTag::sample:
      if (visitor != nullptr) visitor->sample(record.cpu, record.end_ns, record.iterations);
      return nullptr;
    case RecordTag::checkpoint:
      return play_checkpoint(record.text);
    case RecordTag::entries:
      return play_entries(record);
    case RecordTag::loss:
      return play_loss(record, visitor);
    case RecordTag::run:
      return play_run(record, visitor);
    case RecordTag::current:
      return play_current(record);
    case RecordTag::part:
      ledger_.entries.clear();
      lost_intervals_ += record.lost_intervals;
      lost_detours_ += record.lost_detours;
      for (const auto& watched : cpus_) {
        if (watched != nullptr) watched->forget_waiting();
      }
      return nullptr;
    case RecordTag::cpu:
      break;
  }
  return nullptr;
}

std::optional<std::string> Playback::play(std::string_view block, PlayerVisitor* visitor) {
  RecordReader reader(block, cpus_.size());
  Record record;
  while (reader.next(record)) {
    if (const char* const problem = play(record, visitor)) return problem;
  }
  if (!reader.good()) return "a record that makes no sense";
  return std::nullopt;
}

// The clock of a recording of a whole run was read when nothing had been observed yet.
std::uint64_t Playback::recorded_from(std::size_t place, std::uint64_t first_ns) const {
  const Counts& base = description_.base;
  return base.cpus[place].observed_ns == 0 ? first_ns : std::max(first_ns, base.clock.monotonic_ns);
}

void Playback::fill(Snapshot& snapshot) const {
  const StatusView& status = counts_.status;
  snapshot.elapsed_ns = status.uptime_ns;
  snapshot.clock = status.clock;
  snapshot.lost = status.lost;
  snapshot.lost.events += lost_intervals_;
  snapshot.lost.detours += lost_detours_;
  add_loss({}, "recording_full", lost_intervals_ + lost_detours_, snapshot.lost);
  snapshot.lost.incomplete_detours = 0;
  snapshot.orphan_intervals = status.orphan_intervals;
  snapshot.programs = status.programs;
  snapshot.drain_interval_ns = status.drain_interval_ns;
  snapshot.cpus.resize(cpus_.size());
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    const CpuCounts& counts = counts_.cpus[i];
    CpuSnapshot& cpu = snapshot.cpus[i];
    cpu.cpu = counts.cpu;
    cpu.has_loop = !watches_tasks();
    cpu.watches_tasks = watches_tasks();
    cpu.threshold_ns = counts.threshold_ns;
    cpu.observed_ns = counts.observed_ns;
    cpu.iterations = counts.iterations;
    cpu.blind_ns = counts.blind_ns;
    cpu.steal_ns = counts.steal_ns;
    cpu.steal_step_ns = counts.steal_step_ns;
    cpu.smi_count = counts.smi_count;
    cpu.switches = counts.switches;
    cpu.containment = counts.containment.value_or(Containment());
    if (cpus_[i] != nullptr) cpus_[i]->statistics().copy_to(cpu.statistics);
    snapshot.lost.incomplete_detours += cpu.statistics.totals().incomplete_detours;
  }
}

}  // namespace noised
