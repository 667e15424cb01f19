// SPDX-License-Identifier: Apache-2.0
// Once to learn which tasks there are, and once to count those that are meant.
#include "noisectl/replay/replay_watch.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "noisectl/client/measured.h"
#include "noisectl/watch/watch_printer.h"
#include "views/watch.h"

namespace noised::client {

RecordedTasks::Life& RecordedTasks::life(std::uint32_t pid) {
  Lives& lives = lives_[pid];
  if (lives.now >= lives.all.size()) lives.all.resize(lives.now + 1);
  return lives.all[lives.now];
}

void RecordedTasks::note_name(Life& life, SourceId name) const {
  if (selection_.by == system::SelectBy::comm && sources_.at(name).name == selection_.text) life.chosen = true;
}

void RecordedTasks::loss(std::size_t /*cpu*/, const account::Loss& loss, const account::DetourLedger& /*ledger*/,
                         std::string_view /*details*/) {
  if (!settled_) note_name(life(loss.pid), loss.name);
}

void RecordedTasks::ran(std::size_t /*cpu*/, const account::TaskRun& run, const account::RunFacts& /*facts*/) {
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
  bool any = selection_.by == system::SelectBy::all;
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
  if (selection_.by == system::SelectBy::all) return true;
  const auto found = lives_.find(pid);
  if (found == lives_.end() || found->second.now >= found->second.all.size())
    return std::ranges::find(selection_.pids, pid) != selection_.pids.end();  // it has a CPU, and lost nothing
  return found->second.all[found->second.now].chosen;
}

namespace {

Result<system::Selection> selection_of(const TaskWatchOptions& options) {
  const std::string pids = fmt::format("{}", fmt::join(options.pids, ","));
  return system::make_selection(pids.empty() ? std::nullopt : std::optional<std::string_view>(pids),
                                options.comm.empty() ? std::nullopt : std::optional<std::string_view>(options.comm),
                                std::nullopt);
}

}  // namespace

void ReplayedAccount::loss(std::size_t /*cpu*/, const account::Loss& loss, const account::DetourLedger& ledger,
                           std::string_view /*details*/) {
  if (tasks_.is_chosen(loss.pid)) account_.lost(loss, ledger);
}

void ReplayedAccount::ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) {
  if (tasks_.is_chosen(run.pid)) account_.ran(run, facts);
  tasks_.ran(cpu, run, facts);
}

WatchReport ReplayedAccount::report(const recording::Player& player) const {
  const StatusView status = player.status();
  WatchReport report;
  report.final = true;
  report.elapsed_ns = status.uptime_ns;
  report.cpus = status.probe_cpus;
  report.lost = status.lost;
  report.unsupported = status.unsupported;
  account_.fill(report);
  for (const recording::RunningTask& each : player.playback().running()) {
    if (tasks_.is_chosen(each.task.pid)) account_.add_current(each.task, each.until_ns, report);
  }
  report.lost.incomplete_detours = report.incomplete;
  return report;
}

Status run_replay_watch(const TaskWatchOptions& options) {
  const auto selection = selection_of(options);
  if (!selection) return selection.error();
  const MeasureOptions recording{{options}, std::nullopt, {}, false};
  const auto measured = Measured::get(recording);
  if (!measured) return measured.error();
  auto first = measured.value().play();
  if (!first) return first.error();
  if (!first.value().playback().watches_tasks()) {
    return failure(options.replay + ": a loop was recorded, and no tasks were watched",
                   "record a daemon with mode = \"watch\"");
  }
  RecordedTasks tasks(selection.value(), first.value().playback().sources());
  play_all(first.value(), &tasks);
  const std::string selected = describe(selection.value());
  if (!tasks.settle()) {
    return failure(options.replay + ": no task of selection " + selected + " ran while it was recorded",
                   "watch without a selection shows who did");
  }
  Result<WatchPrinter> printer = WatchPrinter::create(options, stdout);
  if (!printer) return printer.error();
  auto second = measured.value().play();
  if (!second) return second.error();
  ReplayedAccount account(tasks, second.value().playback());
  play_all(second.value(), &account);
  WatchReport report = account.report(second.value());
  report.selection = selected;
  (void)printer.value().line(views::to_json(report));
  if (Status printed = printer.value().finish(StreamEnd::finished); !printed) return printed;
  return Measured::whole(second.value());
}

}  // namespace noised::client
