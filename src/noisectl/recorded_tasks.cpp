// SPDX-License-Identifier: Apache-2.0
#include "noisectl/recorded_tasks.h"

#include <algorithm>

namespace noised::client {

RecordedTasks::Life& RecordedTasks::life(std::uint32_t pid) {
  Lives& lives = lives_[pid];
  if (lives.now >= lives.all.size()) lives.all.resize(lives.now + 1);
  return lives.all[lives.now];
}

void RecordedTasks::note_name(Life& life, SourceId name) const {
  if (selection_.by == SelectBy::comm && sources_.at(name).name == selection_.text) life.chosen = true;
}

void RecordedTasks::loss(std::size_t /*cpu*/, const Loss& loss, const Ledger& /*ledger*/,
                         std::string_view /*details*/) {
  if (!settled_) note_name(life(loss.pid), loss.name);
}

void RecordedTasks::ran(std::size_t /*cpu*/, const TaskRun& run, const RunFacts& /*facts*/) {
  if (!settled_) {
    Life& of = life(run.pid);
    of.tgid = run.tgid;
    note_name(of, run.name);
  }
  if (run.ended) ++lives_[run.pid].now;
}

bool RecordedTasks::settle() {
  settled_ = true;
  std::vector<std::uint32_t> wanted = selection_.pids;
  for (const std::uint32_t pid : selection_.pids) {
    const auto found = lives_.find(pid);
    if (found == lives_.end()) continue;
    for (const Life& life : found->second.all) wanted.push_back(life.tgid == 0 ? pid : life.tgid);
  }
  bool any = selection_.by == SelectBy::all;
  for (auto& [pid, lives] : lives_) {
    lives.now = 0;
    for (Life& life : lives.all) {
      const std::uint32_t process = life.tgid == 0 ? pid : life.tgid;
      life.chosen = life.chosen || std::ranges::find(wanted, process) != wanted.end();
      any = any || life.chosen;
    }
  }
  return any;
}

bool RecordedTasks::is_chosen(std::uint32_t pid) const {
  if (selection_.by == SelectBy::all) return true;
  const auto found = lives_.find(pid);
  if (found == lives_.end() || found->second.now >= found->second.all.size())
    return std::ranges::find(selection_.pids, pid) != selection_.pids.end();  // it has a CPU, and lost nothing
  return found->second.all[found->second.now].chosen;
}

}  // namespace noised::client
