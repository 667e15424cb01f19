// SPDX-License-Identifier: Apache-2.0
// Sums, tasks, and their report.
#include "pipeline/watch_account.h"

#include <algorithm>
#include <string>
#include <vector>

#include "pipeline/report_builder.h"

namespace noised {
namespace {

void add_wait(std::uint64_t ns, LossKind kind, WatchCounts& counts) {
  (kind == LossKind::preempted ? counts.preempted_ns : counts.queued_ns) += ns;
  counts.max_wait_ns = std::max(counts.max_wait_ns, ns);
}

void add_run(std::uint64_t run_ns, const RunFacts& facts, WatchCounts& counts) {
  counts.runs += 1;
  counts.run_ns += run_ns;
  counts.voluntary += facts.voluntary;
  counts.involuntary += facts.involuntary;
  counts.migrations += facts.migrated ? 1 : 0;
  counts.minor_faults += facts.minor_faults;
  counts.major_faults += facts.major_faults;
  counts.unseen_runs += facts.unseen_runs;
  counts.unseen_wait_ns += facts.unseen_wait_ns;
}

void add_categories(const Ledger& ledger, const SourceTable& sources,
                    std::array<std::uint64_t, kCategoryCount>& categories) {
  const auto at = [&](Category category) -> std::uint64_t& { return categories[static_cast<std::size_t>(category)]; };
  for (const LedgerEntry& entry : ledger.entries) at(sources.at(entry.source).category) += entry.self_ns;
  at(Category::overhead) += ledger.overhead_ns;
  at(Category::hypervisor) += ledger.hypervisor_ns;
  at(Category::hardware) += ledger.outside_ns - ledger.hypervisor_ns;
  at(Category::unexplained) += ledger.unexplained_ns;
}

std::vector<HistogramBucketView> buckets_of(const Histogram& histogram) {
  std::vector<HistogramBucketView> buckets;
  histogram.for_each([&](const HistogramBucket& each) { buckets.push_back({each.low_ns, each.high_ns, each.count}); });
  return buckets;
}

}  // namespace

WatchAccount::WatchAccount(const SourceTable& sources, std::uint64_t began_ns)
    : sources_(sources), began_ns_(began_ns), counter_(sources) {}

// The half that lost less: each task is moved at most once on average.
void WatchAccount::forget_ended() {
  const auto middle = ended_.begin() + static_cast<std::ptrdiff_t>(ended_.size() / 2);
  std::nth_element(ended_.begin(), middle, ended_.end(),
                   [](const Task& a, const Task& b) { return a.stolen_ns > b.stolen_ns; });
  ended_.erase(middle, ended_.end());
}

WatchAccount::Task* WatchAccount::task(std::uint32_t pid) {
  const auto found = tasks_.find(pid);
  if (found != tasks_.end()) return &found->second;
  if (tasks_.size() + ended_.size() >= kTasks && !ended_.empty()) forget_ended();
  if (tasks_.size() + ended_.size() >= kTasks) return nullptr;
  Task& made = tasks_[pid];
  made.pid = pid;
  ++seen_;
  return &made;
}

void WatchAccount::ran(const TaskRun& run, const RunFacts& facts) {
  if (run.end_ns <= began_ns_) return;
  const std::uint64_t run_ns = run.end_ns - std::max(run.start_ns, began_ns_);
  add_run(run_ns, facts, counts_);
  if (run_ns != 0) runs_.add(run_ns);
  Task* const of = task(run.pid);
  if (of == nullptr) return;
  of->tgid = run.tgid;
  of->name = run.name;
  add_run(run_ns, facts, of->counts);
  if (!run.ended) return;
  of->ended = true;
  ended_.push_back(*of);
  tasks_.erase(run.pid);
}

void WatchAccount::lost(const Loss& loss, const Ledger& ledger) {
  if (loss.detour.start_ns < began_ns_) return;
  const std::uint64_t ns = loss.detour.end_ns - loss.detour.start_ns;
  counter_.count(ledger);
  if (loss.kind != LossKind::interrupted) {
    add_wait(loss.waited_ns, loss.kind, counts_);
    waits_.add(loss.waited_ns);
  }
  Task* const of = task(loss.pid);
  if (of == nullptr) return;
  of->name = loss.name;
  of->stolen_ns += ns;
  ++of->interruptions;
  add_categories(ledger, sources_, of->categories);
  if (loss.kind != LossKind::interrupted) add_wait(loss.waited_ns, loss.kind, of->counts);
}

WatchTask WatchAccount::view(const Task& task) const {
  WatchTask view{task.pid,    task.tgid,      sources_.at(task.name).name, task.ended,
                 task.counts, task.stolen_ns, task.interruptions,          {}};
  for (std::size_t at = 0; at < kCategoryCount; ++at) {
    if (task.categories[at] == 0) continue;
    view.categories.emplace_back(to_string(static_cast<Category>(at)), task.categories[at]);
  }
  std::ranges::sort(view.categories, [](const auto& a, const auto& b) { return a.second > b.second; });
  return view;
}

void WatchAccount::fill_ledger(WatchReport& report) const {
  const DetourTotals& totals = counter_.statistics().totals();
  report.interruptions = totals.detours;
  report.incomplete = totals.incomplete_detours;
  report.stolen_ns = totals.detour_ns;
  report.max_interruption_ns = totals.max_detour_ns;
  report.explained_ns = totals.explained_ns;
  report.overhead_ns = totals.overhead_ns;
  report.hypervisor_ns = totals.hypervisor_ns;
  report.hardware_ns = totals.hardware_ns;
  report.unexplained_ns = totals.unexplained_ns;
  Snapshot one;
  one.cpus.resize(1);
  one.cpus[0].statistics = counter_.statistics();
  Report all = build_report(one, sources_, {});
  report.sources = std::move(all.sources);
  report.combinations = std::move(all.combinations);
}

void WatchAccount::fill(WatchReport& report) const {
  report.tasks_seen = seen_;
  report.counts = counts_;
  report.runnable_ns = counts_.run_ns + counts_.preempted_ns + counts_.queued_ns;
  report.runs = buckets_of(runs_);
  report.waits = buckets_of(waits_);
  fill_ledger(report);
  std::vector<const Task*> tasks;
  tasks.reserve(tasks_.size() + ended_.size());
  for (const auto& [pid, task] : tasks_) tasks.push_back(&task);
  for (const Task& task : ended_) tasks.push_back(&task);
  std::ranges::sort(tasks, [](const Task* a, const Task* b) { return a->stolen_ns > b->stolen_ns; });
  tasks.resize(std::min(tasks.size(), kShown));
  for (const Task* const task : tasks) report.tasks.push_back(view(*task));
}

void WatchAccount::add_current(const CurrentTask& current, std::uint64_t now_ns, WatchReport& report) const {
  const std::uint64_t start_ns = std::max(current.start_ns, began_ns_);
  const std::uint64_t ns = now_ns - std::min(now_ns, start_ns);
  report.counts.run_ns += ns;
  report.runnable_ns += ns;
  if (!tasks_.contains(current.pid)) ++report.tasks_seen;  // nothing was taken from it yet
  for (WatchTask& task : report.tasks) {
    if (task.pid == current.pid && !task.ended) task.counts.run_ns += ns;
  }
}

}  // namespace noised
