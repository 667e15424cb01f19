// SPDX-License-Identifier: Apache-2.0
// Block by block through a file.
#include "recording/player.h"

#include <algorithm>

#include "account/detour_feed.h"
#include "account/lost_counts.h"
#include "account/task_watch.h"
#include "model/tables.h"
#include "recording/names_out.h"

namespace noised::recording {

Player::Player(BlockReader reader, std::unique_ptr<Playback> playback)
    : reader_(std::move(reader)), playback_(std::move(playback)) {}

Result<Player> Player::open(const std::string& path) {
  auto reader = BlockReader::open(path);
  if (!reader) return reader.error();
  const auto first = reader.value().next();
  if (!first || first->kind != BlockKind::description) {
    const std::string& damage = reader.value().damage();
    return failure(damage.empty() ? path + ": the recording does not begin with its description" : damage,
                   "nothing of it can be shown");
  }
  auto playback = Playback::begin(first->bytes);
  if (!playback) return failure(path + ": " + playback.error().what, playback.error().remedy);
  return Player(std::move(reader).value(), std::move(playback).value());
}

bool Player::step(PlayerVisitor* visitor) {
  if (!damage_.empty()) return false;
  const auto block = reader_.next();
  if (!block) {
    damage_ = reader_.damage();
    return false;
  }
  std::optional<std::string> problem = "a block of no known kind";
  if (block->kind == BlockKind::events) problem = playback_->play(block->bytes, visitor);
  if (problem) damage_ = reader_.where(*problem);
  return !problem;
}

double Player::progress() const {
  const std::uint64_t size = reader_.file_size();
  return size == 0 ? 1 : static_cast<double>(reader_.position()) / static_cast<double>(size);
}

account::RunDescription Player::run() const {
  const Description& description = playback_->description();
  const StatusView& status = description.base.status;
  account::RunDescription run{status.host, status.kernel, description.start, status.unsupported};
  if (!damage_.empty()) run.unsupported.push_back("the rest of the recording: " + damage_);
  if (playback_->behind()) {
    run.unsupported.emplace_back(
        "observed time and losses of the last moments: the recording ends between two of its checkpoints, its detours "
        "are newer");
  }
  return run;
}

Report Player::report() const {
  account::Snapshot snapshot;
  playback_->fill(snapshot);
  return account::build_report(snapshot, playback_->sources(), run());
}

Report Player::recent() const {
  account::Snapshot snapshot;
  snapshot.detail = account::SnapshotDetail::recent;
  playback_->fill(snapshot);
  if (playback_->behind())
    account::add_loss({}, "recording_full", 1, snapshot.lost);  // what is lost since is not in it
  return account::build_recent(snapshot, playback_->sources(), run());
}

HistogramView Player::histograms() const {
  account::Snapshot snapshot;
  playback_->fill(snapshot);
  return account::build_histograms(snapshot, playback_->sources());
}

StatusView Player::status() const {
  account::Snapshot snapshot;
  playback_->fill(snapshot);
  StatusView status = playback_->counts().status;
  status.lost = snapshot.lost;
  status.unsupported = run().unsupported;
  return status;
}

namespace {

void show(const Playback& playback, std::size_t cpu, const account::DetourLedger& ledger, std::string_view details,
          account::FeedDetour& shown) {
  ByteReader reader(details);
  EntryDetails next;
  bool more = next_details(reader, next);
  const auto describe = [&](const account::DetourLedger&, std::size_t index, account::FeedDetour& to) {
    while (more && next.entry < index) more = next_details(reader, next);
    if (!more || next.entry != index) return;
    (void)to.add_details(next.text);
    to.entries[to.size - 1U].cut |= next.cut;
  };
  account::to_feed(playback.cpu_number(cpu), ledger, playback.sources(), describe, shown);
}

}  // namespace

DetourView to_view(const Playback& playback, std::size_t cpu, const account::DetourLedger& ledger,
                   std::string_view details) {
  account::FeedDetour shown;
  show(playback, cpu, ledger, details, shown);
  return to_view(shown, playback.sources());
}

DetourView to_view(const Playback& playback, std::size_t cpu, const account::Loss& loss,
                   const account::DetourLedger& ledger, std::string_view details) {
  account::FeedDetour shown;
  show(playback, cpu, ledger, details, shown);
  shown.victim = loss.name;
  shown.victim_pid = loss.pid;
  shown.loss = loss.kind;
  return to_view(shown, playback.sources());
}

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

account::LoopCpu& Playback::cpu(std::size_t place) {
  std::unique_ptr<account::LoopCpu>& watched = cpus_[place];
  if (watched == nullptr) {
    const CpuCounts& counts = description_.base.cpus[place];
    account::WatchOptions options;
    options.cpu = counts.cpu;
    options.threshold_ns = counts.threshold_ns;
    watched = std::make_unique<account::LoopCpu>(options, sources_);
  }
  return *watched;
}

const char* Playback::play_source(const Record& record) {
  if (ids_.size() >= SourceTable::kCapacity) return "more sources than there can be";
  const bool is_out = names_out_ && record.kind == Kind::task && !is_nobodys(record.text);
  if (!is_out) {
    ids_.push_back(sources_.restore(record.kind, record.text, record.category));
    return nullptr;
  }
  const std::uint64_t number = unnamed_.try_emplace(std::string(record.text), unnamed_.size() + 1).first->second;
  ids_.push_back(sources_.restore(record.kind, "task-" + std::to_string(number), record.category));
  return nullptr;
}

std::string_view Playback::told(std::string_view details) {
  if (!names_out_ || details.empty()) return details;
  told_ = without_names(details);
  return told_;
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
  const account::DetourLedger* const ledger =
      cpu(record.cpu).add_recorded(detour, recorded.tolerance_ns, recorded.parts);
  if (ledger == nullptr) return "the parts of a detour do not add up";
  behind_ = true;
  if (visitor != nullptr) visitor->detour(record.cpu, *ledger, told(record.text));
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
    case RecordTag::stolen:
      if (record.end_ns < record.start_ns) return "a time of steal ends before it begins";
      cpu(record.cpu).add(account::StealWindow{record.start_ns, record.end_ns, record.stolen_ns});
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

void Playback::fill(account::Snapshot& snapshot) const {
  const StatusView& status = counts_.status;
  snapshot.elapsed_ns = status.uptime_ns;
  snapshot.clock = status.clock;
  snapshot.lost = status.lost;
  snapshot.lost.events += lost_intervals_;
  snapshot.lost.detours += lost_detours_;
  account::add_loss({}, "recording_full", lost_intervals_ + lost_detours_, snapshot.lost);
  snapshot.lost.incomplete_detours = 0;
  snapshot.orphan_intervals = status.orphan_intervals;
  snapshot.programs = status.programs;
  snapshot.drain_interval_ns = status.drain_interval_ns;
  snapshot.cpus.resize(cpus_.size());
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    const CpuCounts& counts = counts_.cpus[i];
    account::CpuSnapshot& cpu = snapshot.cpus[i];
    cpu.cpu = counts.cpu;
    cpu.has_loop = !watches_tasks();
    cpu.watches_tasks = watches_tasks();
    cpu.threshold_ns = counts.threshold_ns;
    cpu.observed_ns = counts.observed_ns;
    cpu.iterations = counts.iterations;
    cpu.blind_ns = counts.blind_ns;
    cpu.steal_ns = counts.steal_ns;
    cpu.steal_step_ns = counts.steal_step_ns;
    cpu.steal_source = counts.steal_source;
    cpu.smi_count = counts.smi_count;
    cpu.switches = counts.switches;
    cpu.containment = counts.containment.value_or(account::Containment());
    if (cpus_[i] == nullptr) continue;
    account::copy_statistics(cpus_[i]->counter(), snapshot.detail, snapshot.recent_slots, cpu);
    snapshot.lost.incomplete_detours += cpus_[i]->statistics().totals().incomplete_detours;
  }
}

namespace {

// The daemon remembers half as many intervals of a CPU.
constexpr std::size_t kMostEntries = 2 * account::TaskWatch::kTimeline;

bool is_kernel_activity(Kind kind) { return kind != Kind::none && kind < Kind::hypervisor; }

}  // namespace

const char* Playback::play_entries(const Record& record) {
  if (!ledger_.entries.empty() && entries_cpu_ != record.cpu) return "entries of two losses at once";
  entries_cpu_ = record.cpu;
  ByteReader reader(record.text);
  std::uint64_t at_ns = record.start_ns;
  account::LedgerEntry entry;
  while (next_entry(reader, at_ns, entry)) {
    if (ledger_.entries.size() == kMostEntries) return "more entries in a loss than there can be";
    if (entry.source >= ids_.size()) return "an entry has a source without a name";
    entry.source = ids_[entry.source];
    entry.kind = sources_.at(entry.source).kind;
    if (!is_kernel_activity(entry.kind)) return "an entry has a source of no kernel activity";
    ledger_.entries.push_back(entry);
  }
  return reader.good() ? nullptr : "an entry that makes no sense";
}

// Old recordings do not tell: a pid has one life after the other, each until its end.
std::uint64_t Playback::life_of(std::uint32_t pid, std::uint64_t recorded) {
  return lives_[pid] = recorded == 0 ? pid : recorded;
}

const char* Playback::play_loss(const Record& record, PlayerVisitor* visitor) {
  const RecordedDetour& recorded = record.detour;
  if (recorded.end_ns < recorded.start_ns) return "a loss ends before it begins";
  if (!ledger_.entries.empty() && entries_cpu_ != record.cpu) return "entries of no loss";
  if (record.loss.name >= ids_.size()) return "a task without a name";
  const std::uint64_t duration_ns = recorded.end_ns - recorded.start_ns;
  Ledger parts = recorded.parts;
  parts.explained_ns = 0;
  for (const account::LedgerEntry& entry : ledger_.entries) {
    if (entry.self_ns > duration_ns - parts.explained_ns) return "the parts of a loss do not add up";
    parts.explained_ns += entry.self_ns;
  }
  if (!parts.adds_up_to(duration_ns)) return "the parts of a loss do not add up";
  account::Loss loss = record.loss;
  loss.life = life_of(loss.pid, loss.life);
  loss.name = ids_[loss.name];
  loss.detour = ledger_.detour = {recorded.start_ns, recorded.end_ns, recorded.in_doubt};
  ledger_.set_parts(parts);
  cpu(record.cpu).counter().count(ledger_);
  behind_ = true;
  if (visitor != nullptr) visitor->loss(record.cpu, loss, ledger_, told(record.text));
  ledger_.entries.clear();
  return nullptr;
}

const char* Playback::play_run(const Record& record, PlayerVisitor* visitor) {
  account::TaskRun run = record.run;
  if (run.end_ns < run.start_ns) return "a run ends before it begins";
  if (run.name >= ids_.size()) return "a task without a name";
  run.name = ids_[run.name];
  // The task that had the CPU has left it since.
  std::optional<Current>& current = current_[record.cpu];
  if (current && !current->told && run.end_ns > current->running.task.start_ns) current.reset();
  account::RunFacts facts = record.facts;
  facts.life = life_of(run.pid, facts.life);
  if (run.ended && lives_[run.pid] == facts.life) lives_.erase(run.pid);
  if (visitor != nullptr) visitor->ran(record.cpu, run, facts);
  return nullptr;
}

const char* Playback::play_current(const Record& record) {
  if (record.run.end_ns < record.run.start_ns) return "a task has its CPU until before it had it";
  const auto life = lives_.find(record.run.pid);
  const account::CurrentTask task{
      record.run.pid, account::kNoName, 0, record.run.start_ns, 0, life == lives_.end() ? 0 : life->second};
  current_[record.cpu] = Current{{record.cpu, task, record.run.end_ns}, true};
  return nullptr;
}

// Who has a CPU is told before each checkpoint: who was not, has none any more.
void Playback::note_current() {
  for (std::optional<Current>& current : current_) {
    if (current && !current->told) current.reset();
    if (current) current->told = false;
  }
}

std::vector<RunningTask> Playback::running() const {
  std::vector<RunningTask> tasks;
  for (const std::optional<Current>& current : current_) {
    if (current) tasks.push_back(current->running);
  }
  return tasks;
}

}  // namespace noised::recording
