// SPDX-License-Identifier: Apache-2.0
// Where tasks were watched: losses with the ledger that the daemon made of them, and runs.
#include "recording/player.h"
#include "statistics/tables.h"
#include "watch/task_watch.h"

namespace noised {
namespace {

// The daemon remembers half as many intervals of a CPU.
constexpr std::size_t kMostEntries = 2 * TaskWatch::kTimeline;

bool is_kernel_activity(Kind kind) { return kind != Kind::none && kind < Kind::hypervisor; }

}  // namespace

const char* Playback::play_entries(const Record& record) {
  if (!ledger_.entries.empty() && entries_cpu_ != record.cpu) return "entries of two losses at once";
  entries_cpu_ = record.cpu;
  ByteReader reader(record.text);
  std::uint64_t at_ns = record.start_ns;
  LedgerEntry entry;
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

const char* Playback::play_loss(const Record& record, PlayerVisitor* visitor) {
  const RecordedDetour& recorded = record.detour;
  if (recorded.end_ns < recorded.start_ns) return "a loss ends before it begins";
  if (!ledger_.entries.empty() && entries_cpu_ != record.cpu) return "entries of no loss";
  if (record.loss.name >= ids_.size()) return "a task without a name";
  const std::uint64_t duration_ns = recorded.end_ns - recorded.start_ns;
  std::uint64_t explained_ns = 0;
  for (const LedgerEntry& entry : ledger_.entries) {
    if (entry.self_ns > duration_ns - explained_ns) return "the parts of a loss do not add up";
    explained_ns += entry.self_ns;
  }
  const DetourSums sums{duration_ns,          explained_ns,
                        recorded.overhead_ns, recorded.hypervisor_ns,
                        recorded.hardware_ns, recorded.unexplained_ns,
                        recorded.in_doubt};
  if (!sums.adds_up()) return "the parts of a loss do not add up";
  Loss loss = record.loss;
  loss.name = ids_[loss.name];
  loss.detour = ledger_.detour = {recorded.start_ns, recorded.end_ns, recorded.in_doubt};
  ledger_.explained_ns = explained_ns;
  ledger_.overhead_ns = recorded.overhead_ns;
  ledger_.hypervisor_ns = recorded.hypervisor_ns;
  ledger_.outside_ns = recorded.hypervisor_ns + recorded.hardware_ns;
  ledger_.unexplained_ns = recorded.unexplained_ns;
  cpu(record.cpu).counter().count(ledger_);
  behind_ = true;
  if (visitor != nullptr) visitor->loss(record.cpu, loss, ledger_, record.text);
  ledger_.entries.clear();
  return nullptr;
}

const char* Playback::play_run(const Record& record, PlayerVisitor* visitor) {
  TaskRun run = record.run;
  if (run.end_ns < run.start_ns) return "a run ends before it begins";
  if (run.name >= ids_.size()) return "a task without a name";
  run.name = ids_[run.name];
  // The task that had the CPU has left it since.
  std::optional<Current>& current = current_[record.cpu];
  if (current && !current->told && run.end_ns > current->running.task.start_ns) current.reset();
  if (visitor != nullptr) visitor->ran(record.cpu, run, record.facts);
  return nullptr;
}

const char* Playback::play_current(const Record& record) {
  if (record.run.end_ns < record.run.start_ns) return "a task has its CPU until before it had it";
  const CurrentTask task{record.run.pid, kNoName, 0, record.run.start_ns};
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

}  // namespace noised
