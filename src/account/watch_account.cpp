// SPDX-License-Identifier: Apache-2.0
// Sums, tasks, and their report.
#include "account/watch_account.h"

#include <algorithm>
#include <string>
#include <vector>

#include "account/report_builder.h"
#include "model/sources.h"

namespace noised::account {
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
  counts.yields += facts.yielded ? 1 : 0;
  counts.yielded_ns += facts.yielded_ns;
  counts.migrations += facts.migrated ? 1 : 0;
  counts.minor_faults += facts.minor_faults;
  counts.major_faults += facts.major_faults;
  counts.unseen_runs += facts.unseen_runs;
  counts.unseen_wait_ns += facts.unseen_wait_ns;
}

void add_untold(const std::optional<Untold>& untold, WatchUntold& sum) {
  ++sum.interrupted;
  if (!untold) return;
  ++sum.estimated;
  sum.rest_ns += untold->mean_ns;
  sum.rest_most_ns += untold->most_ns;
}

void add_categories(const DetourLedger& ledger, const SourceTable& sources,
                    std::array<std::uint64_t, kCategoryCount>& categories) {
  const auto at = [&](Category category) -> std::uint64_t& { return categories[static_cast<std::size_t>(category)]; };
  for (const LedgerEntry& entry : ledger.entries) at(sources.at(entry.source).category) += entry.self_ns;
  ledger.for_each_gap([&](Kind kind, std::uint64_t ns) { at(category_of(kind, {})) += ns; });
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

// Those that ended where nobody watches are among them.
void WatchAccount::forget_silent() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> by_age;
  by_age.reserve(tasks_.size());
  for (const auto& [life, task] : tasks_) by_age.emplace_back(task.seen_ns, life);
  const auto middle = by_age.begin() + static_cast<std::ptrdiff_t>((by_age.size() + 1) / 2);
  std::nth_element(by_age.begin(), middle - 1, by_age.end());
  for (auto each = by_age.begin(); each != middle; ++each) {
    forgotten_life_ = std::max(forgotten_life_, each->second);
    tasks_.erase(each->second);
  }
}

void WatchAccount::make_room() {
  if (tasks_.size() + ended_.size() < kTasks) return;
  if (ended_.empty()) {
    forget_silent();
  } else {
    forget_ended();
  }
}

WatchAccount::Task& WatchAccount::task(std::uint64_t life, std::uint32_t pid, std::uint64_t seen_ns) {
  auto found = tasks_.find(life);
  if (found == tasks_.end()) {
    make_room();
    found = tasks_.emplace(life, Task{}).first;
    found->second.pid = pid;
    found->second.life = life;
    if (life > forgotten_life_) ++seen_;
  }
  found->second.seen_ns = std::max(found->second.seen_ns, seen_ns);
  return found->second;
}

void WatchAccount::name(SourceId source, Task& task) const {
  if (task.source == source) return;
  task.source = source;
  task.name = sources_.at(source).name;
}

void WatchAccount::end(std::uint64_t life) {
  const auto found = tasks_.find(life);
  if (found == tasks_.end()) return;
  found->second.ended = true;
  ended_.push_back(found->second);
  tasks_.erase(found);
}

void WatchAccount::gone(std::uint64_t life) { end(life); }

void WatchAccount::ran(const TaskRun& run, const RunFacts& facts) {
  if (run.end_ns <= began_ns_) return;
  const std::uint64_t run_ns = run.end_ns - std::max(run.start_ns, began_ns_);
  add_run(run_ns, facts, counts_);
  if (run_ns != 0) runs_.add(run_ns);
  Task& of = task(facts.life, run.pid, run.end_ns);
  if (run.pid == run.tgid) of.pid = run.pid;  // it may have become the leader, by an exec
  of.tgid = run.tgid;
  name(run.name, of);
  add_run(run_ns, facts, of.counts);
  if (run.ended) end(facts.life);
}

void WatchAccount::lost(const Loss& loss, const DetourLedger& ledger) {
  if (loss.detour.start_ns < began_ns_) return;
  const std::uint64_t ns = loss.detour.end_ns - loss.detour.start_ns;
  counter_.count(ledger);
  if (loss.kind == LossKind::interrupted) add_untold(loss.untold, untold_);
  if (loss.kind != LossKind::interrupted) {
    add_wait(loss.waited_ns, loss.kind, counts_);
    waits_.add(loss.waited_ns);
  }
  Task& of = task(loss.life, loss.pid, loss.detour.end_ns);
  name(loss.name, of);
  of.stolen_ns += ns;
  ++of.interruptions;
  add_categories(ledger, sources_, of.categories);
  if (loss.kind != LossKind::interrupted) add_wait(loss.waited_ns, loss.kind, of.counts);
}

WatchTask WatchAccount::view(const Task& task, bool ended) const {
  WatchTask view{task.pid, task.tgid, task.name, ended, task.counts, task.stolen_ns, task.interruptions, {}};
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
  report.set_parts(totals);
  Snapshot one;
  one.cpus.resize(1);
  one.cpus[0].statistics = counter_.statistics();
  Report all = build_report(one, sources_, {});
  report.sources = std::move(all.sources);
  report.combinations = std::move(all.combinations);
}

// Lives whose pid has another life since: they ended where nobody watches. In order of their numbers.
std::vector<std::uint64_t> WatchAccount::replaced() const {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> by_pid;
  by_pid.reserve(tasks_.size());
  for (const auto& [life, task] : tasks_) by_pid.emplace_back(task.pid, life);
  std::ranges::sort(by_pid);
  std::vector<std::uint64_t> found;
  for (std::size_t at = 1; at < by_pid.size(); ++at) {
    if (by_pid[at].first == by_pid[at - 1].first) found.push_back(by_pid[at - 1].second);
  }
  std::ranges::sort(found);
  return found;
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
  for (const auto& [life, task] : tasks_) tasks.push_back(&task);
  for (const Task& task : ended_) tasks.push_back(&task);
  std::ranges::sort(tasks, [](const Task* a, const Task* b) { return a->stolen_ns > b->stolen_ns; });
  tasks.resize(std::min(tasks.size(), kShown));
  const std::vector<std::uint64_t> gone = replaced();
  for (const Task* const task : tasks)
    report.tasks.push_back(view(*task, task->ended || std::ranges::binary_search(gone, task->life)));
}

void WatchAccount::add_current(const CurrentTask& current, std::uint64_t now_ns, WatchReport& report) const {
  const std::uint64_t start_ns = std::max(current.start_ns, began_ns_);
  const std::uint64_t ns = now_ns - std::min(now_ns, start_ns);
  report.counts.run_ns += ns;
  report.runnable_ns += ns;
  if (!tasks_.contains(current.life)) ++report.tasks_seen;  // nothing was taken from it yet
  for (WatchTask& task : report.tasks) {
    if (task.pid == current.pid && !task.ended) task.counts.run_ns += ns;
  }
}

}  // namespace noised::account
