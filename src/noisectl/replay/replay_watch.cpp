// SPDX-License-Identifier: Apache-2.0
// Once to learn which tasks there are, and once to count those that are meant.
#include "noisectl/replay_watch.h"

#include <cstdio>

#include <fmt/format.h>

#include "noisectl/measured.h"
#include "noisectl/watch_printer.h"
#include "views/watch.h"

namespace noised::client {
namespace {

Result<Selection> selection_of(const Options& options) {
  const std::string pids = fmt::format("{}", fmt::join(options.pids, ","));
  return make_selection(pids.empty() ? std::nullopt : std::optional<std::string_view>(pids),
                        options.comm.empty() ? std::nullopt : std::optional<std::string_view>(options.comm),
                        std::nullopt);
}

}  // namespace

void ReplayedAccount::loss(std::size_t /*cpu*/, const Loss& loss, const Ledger& ledger, std::string_view /*details*/) {
  if (tasks_.is_chosen(loss.pid)) account_.lost(loss, ledger);
}

void ReplayedAccount::ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) {
  if (tasks_.is_chosen(run.pid)) account_.ran(run, facts);
  tasks_.ran(cpu, run, facts);
}

WatchReport ReplayedAccount::report(const Player& player) const {
  const StatusView status = player.status();
  WatchReport report;
  report.final = true;
  report.elapsed_ns = status.uptime_ns;
  report.cpus = status.probe_cpus;
  report.lost = status.lost;
  report.unsupported = status.unsupported;
  account_.fill(report);
  for (const RunningTask& each : player.playback().running()) {
    if (tasks_.is_chosen(each.task.pid)) account_.add_current(each.task, each.until_ns, report);
  }
  report.lost.incomplete_detours = report.incomplete;
  return report;
}

Status run_replay_watch(const Options& options) {
  const auto selection = selection_of(options);
  if (!selection) return selection.error();
  const auto measured = Measured::get(options);
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
