// SPDX-License-Identifier: Apache-2.0
// Draining and following.
#include "pipeline/task_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/files.h"

namespace noised::pipeline {
namespace {

// An interval inside another one comes before it: both are there once the outer one can no longer be open.
constexpr std::uint64_t kSettleNs = 1'000'000;
// The last run of the gauge's thread ends after its measurement, and may be told some drains later.
constexpr std::uint64_t kGaugeSettleNs = 200'000'000;
constexpr unsigned kGaugeTries = 20;  // some 10 s

constexpr std::size_t kFewCpus = 32;

// False: it is a loop's, or was offline since the start.
bool has_tasks(const volatile noised_cpu& state) {
  return state.watched == NOISED_WATCH_TASKS || state.watched == NOISED_WATCH_IDLE;
}

std::unique_ptr<EntryGauge> start_gauge(const TaskPipelineOptions& options) {
  return options.gauges_entries ? EntryGauge::start(options.cpus) : nullptr;
}

}  // namespace

TaskPipeline::Stream::Stream(const StreamParts& parts, unsigned of, bool loop, account::LedgerCounter& counts,
                             const TaskPipelineOptions& options, std::uint64_t now_ns)
    : CpuStream(parts, of, 0, now_ns), ledger(options.outside), has_loop(loop), counter(&counts) {}

TaskPipeline::TaskPipeline(const PipelineParts& parts, const TaskPipelineOptions& options, std::uint64_t now_ns)
    : parts_(parts),
      options_(options),
      watch_(options.cpus.size(), *this),
      gauge_(start_gauge(options)),
      missed_runs_(parts.kernel.missed_runs()) {
  watch_.tell_in_order(has_few_cpus());
  for (std::size_t place = 0; place < options.cpus.size(); ++place) {
    account::LedgerCounter* counter = options.counters.empty() ? nullptr : options.counters[place];
    const bool has_loop = counter != nullptr;
    if (!has_loop) {
      own_counters_.push_back(std::make_unique<account::LedgerCounter>(parts.sources));
      counter = own_counters_.back().get();
    }
    streams_.emplace_back(parts, options.cpus[place], has_loop, *counter, options, now_ns);
  }
}

// Of 16 CPUs, what a wait touches is in the caches whatever the order: no difference was seen.
bool TaskPipeline::has_few_cpus() const { return options_.cpus.size() <= kFewCpus; }

// Who has the CPU, as the programs saw it. Where it is the same when read again, and no switch went on between, it was
// not written meanwhile. A switch that goes on may have written the next task beside the time of the one before.
void TaskPipeline::look_at_current(Stream& stream) {
  const volatile noised_cpu& state = parts_.kernel.state(stream.cpu());
  const std::uint64_t start_ns = state.task_start_ns;
  const std::uint32_t pid = state.current_pid;
  const auto slot = static_cast<std::uint32_t>(state.current_task * NOISED_TASK_SLOT_FACTOR >> 32U);
  const std::uint16_t kind = state.current_is_kernel;
  const bool is_user = state.watched == NOISED_WATCH_TASKS && kind == 0 && pid != 0 && pid != state.probe_pid;
  const bool same = stream.current && stream.current->pid == pid && stream.current->start_ns == start_ns;
  const bool torn = kind == NOISED_SWITCHING || state.task_start_ns != start_ns || state.current_pid != pid;
  stream.idle_since_ns = torn || is_user ? 0 : start_ns;
  // Nobody's CPU, or a loop's, then as now: what its tasks lost before was in the ring.
  if (stream.had_no_task && !has_tasks(state)) stream.idle_since_ns = 1;
  if (torn || !is_user || start_ns == 0) {
    stream.current.reset();
    return;
  }
  const auto groups = parts_.kernel.groups();
  if (!same) stream.current = account::CurrentTask{pid, account::kNoName, 0, start_ns, slot};
  stream.current->group = pid < groups.size() ? groups[pid] : std::uint8_t{0};
}

void TaskPipeline::begin_read(std::size_t place) {
  Stream& stream = streams_[place];
  const volatile noised_cpu& state = parts_.kernel.state(stream.cpu());
  stream.settled = state.depth == 0;
  stream.had_no_task = !has_tasks(state);
  stream.begin_drain();
  stream.runs.clear();
}

void TaskPipeline::take(std::size_t place, const noised_record& record, const char* comm,
                        const noised_run_record* run) {
  Stream& stream = streams_[place];
  if (stream.take(record, comm) != system::Meaning::interval) return;
  Interval& interval = stream.intervals().back();
  const bool may_be_of_idle = interval.kind != Kind::task && interval.kind != Kind::page_fault;
  if (may_be_of_idle && record.watched == NOISED_WATCH_IDLE) interval.flags |= NOISED_FLAG_IDLE;
  if (run == nullptr) return;
  stream.busy_until_ns = interval.end_ns;
  const account::TaskCounts counts{run->wait_ns,     run->runs,         run->voluntary,
                                   run->involuntary, run->minor_faults, run->major_faults};
  stream.runs.push_back({stream.intervals().size() - 1,
                         {interval.start_ns,
                          interval.end_ns,
                          system::pid_of(record),
                          run->tgid,
                          interval.source,
                          record.group,
                          (record.flags & NOISED_FLAG_PREEMPTED) != 0,
                          (record.flags & NOISED_FLAG_ENDED) != 0,
                          counts,
                          {static_cast<std::uint32_t>(record.id >> 32U), record.birth},
                          (record.flags & NOISED_FLAG_YIELDED) != 0}});
}

void TaskPipeline::read() {
  for (std::size_t place = 0; place < streams_.size(); ++place) {
    if (streams_[place].has_loop) continue;
    begin_read(place);
    const auto sink = [&](const noised_record& record, const char* comm, const noised_run_record* run) {
      take(place, record, comm, run);
    };
    parts_.kernel.drain(place, account::kDrainLimit, std::cref(sink));
    end_read(place);
  }
}

const TaskPipeline::Stream& TaskPipeline::stream_of(unsigned cpu) const {
  return *std::ranges::find_if(streams_, [cpu](const Stream& stream) { return stream.cpu() == cpu; });
}

std::uint64_t TaskPipeline::busy_until_ns(unsigned cpu) const {
  const Stream& stream = stream_of(cpu);
  return stream.current ? std::max(stream.busy_until_ns, stream.current->start_ns) : stream.busy_until_ns;
}

std::uint32_t TaskPipeline::current_pid(unsigned cpu) const {
  const Stream& stream = stream_of(cpu);
  return stream.current ? stream.current->pid : 0;
}

void TaskPipeline::take(const noised_origin& origin) {
  for (Stream& stream : streams_) stream.take(origin);
}

// What others do to an idle CPU is not told (origins.bpf.c): no cause is looked for. The source of leaving idle is the
// idle task, of pid 0.
void TaskPipeline::join_idle(std::size_t place, Interval& interval) {
  const std::uint64_t pid = interval.kind == Kind::task ? std::exchange(interval.id, 0) : 0;
  if (sink_ != nullptr) sink_->interval(place, interval);
  if (pid != 0) {
    watch_.add_idle_exit(place, static_cast<std::uint32_t>(pid), interval);
  } else {
    watch_.add(place, interval);
  }
}

void TaskPipeline::join(std::size_t place, std::uint64_t drained_ns, bool missed, bool origins_missing) {
  Stream& stream = streams_[place];
  const bool lost = stream.note_losses(missed, parts_.clock.now_ns());
  stream.begin_join(!lost && !origins_missing, drained_ns);
  auto run = stream.runs.cbegin();
  for (std::size_t at = 0; at < stream.intervals().size(); ++at) {
    Interval& interval = stream.intervals()[at];
    const bool is_run = run != stream.runs.cend() && run->first == at;
    if (!is_run && account::is_of_idle(interval)) {
      join_idle(place, interval);
      continue;
    }
    // Little is recorded of an idle CPU: what was sent there may have been answered unseen.
    if (interval.kind == Kind::task) {
      if (interval.start_ns > stream.ran_until_ns) stream.causes().unobserved_until(interval.start_ns);
      stream.ran_until_ns = interval.end_ns;
    }
    stream.set_cause(interval);
    if (sink_ != nullptr) sink_->interval(place, interval);
    if (is_run) {
      watch_.add(place, run->second, interval);
      ++run;
    } else {
      if (interval.kind == Kind::task) stream.shares.ran(interval.start_ns, interval.end_ns);  // a kernel thread
      watch_.add(place, interval);
    }
  }
  stream.settle(drained_ns);
  note_told(place, drained_ns, stream.current && stream.settled && follow_current(place, drained_ns));
}

// A file is read once for a run that outlasts a drain. False if its interruptions could not be told.
bool TaskPipeline::follow_current(std::size_t place, std::uint64_t drained_ns) {
  account::CurrentTask& current = *streams_[place].current;
  if (drained_ns - std::min(drained_ns, current.start_ns) < kSettleNs) return true;
  if (current.name == account::kNoName) {
    const auto comm = read_file(fmt::format("/proc/{}/comm", current.pid));
    if (!comm) return false;  // it has just ended: its record will tell
    current.name = parts_.names.task(comm.value().substr(0, comm.value().find('\n')).c_str());
  }
  parts_.names.touch(current.name);
  watch_.add(place, current, drained_ns - kSettleNs);
  return true;
}

// A run that ended while the ring was drained is told with the next: the one that followed it must be older than that.
void TaskPipeline::note_told(std::size_t place, std::uint64_t drained_ns, bool followed) {
  Stream& stream = streams_[place];
  const bool idle = stream.idle_since_ns != 0 && stream.idle_since_ns <= drained_ns;
  const bool followed_since = followed && stream.current->start_ns <= drained_ns;
  if (!idle && !followed_since) return;
  stream.told_ns = drained_ns - kSettleNs;
  stream.told_current = stream.current;
}

void TaskPipeline::join(std::uint64_t drained_ns, const system::MissedRuns& missed_runs, bool origins_missing) {
  // Programs that tell origins also tell an idle CPU that a task was woken there: without, nothing of it is recorded.
  if (missed_runs_.origins != missed_runs.origins) {
    if (unnoted_until_ns_ != drained_ns_) unnoted_since_ns_ = drained_ns_;
    unnoted_until_ns_ = drained_ns;
  }
  drained_ns_ = drained_ns;
  const bool missed = std::exchange(missed_runs_, missed_runs).intervals != missed_runs.intervals;
  for (std::size_t place = 0; place < streams_.size(); ++place) join(place, drained_ns, missed, origins_missing);
  watch_.settle(drained_ns);
  for (Stream& stream : streams_) share_out(stream);
  if (gauge_) ask_gauge();
}

void TaskPipeline::share_steal(std::size_t place, std::uint64_t stolen_ns, std::uint64_t step_ns) {
  steal_step_ns_ = std::max(place == 0 ? 0 : steal_step_ns_, step_ns);
  streams_[place].stolen_ns = streams_[place].stolen_ns.value_or(0) + stolen_ns;
}

// Once a second and before a report: what had the CPU until now is known, but for a run that goes on.
void TaskPipeline::share_out(Stream& stream) {
  if (!stream.stolen_ns) return;
  const bool runs = stream.current && stream.current->start_ns < drained_ns_;
  const std::uint64_t ran_ns = runs ? stream.shares.runs(stream.current->start_ns, drained_ns_) : 0;
  for (std::size_t group = 1; group < kGroups; ++group) {
    auto& account = accounts_[group];
    if (!account) continue;
    if (runs && account->has(stream.current->group, group))
      stream.shares.ran_for(group, std::min(ran_ns, drained_ns_ - std::min(drained_ns_, account->counts.began_ns())));
    account->steal_ns += stream.shares.share_of(group, *stream.stolen_ns);
  }
  stream.shares.clear();
  stream.stolen_ns.reset();
}

void TaskPipeline::ask_gauge() {
  const auto costs = gauge_->costs(drained_ns_ - kGaugeSettleNs);
  if (!costs) return;
  if (costs->timer.before_ns != 0) {
    watch_.set_costs(*costs);
    entry_cost_ = {"known", costs->timer.before_ns, costs->timer.after_ns};
  }
  gauge_.reset();
  // Where the CPU was never free, it saw too little: it tries again.
  const bool enough = costs->timer.before_ns != 0 && costs->timer.after_ns != 0;
  if (!enough && ++gauged_ < kGaugeTries) gauge_ = EntryGauge::start(options_.cpus);
}

EntryCostView TaskPipeline::entry_cost() const { return gauge_ ? EntryCostView{"measuring", 0, 0} : entry_cost_; }

bool TaskPipeline::may_be_unnoted(const account::Loss& loss) const {
  return loss.kind == account::LossKind::queued && loss.detour.end_ns >= unnoted_since_ns_ &&
         loss.detour.start_ns <= unnoted_until_ns_;
}

void TaskPipeline::lost(std::size_t cpu, const account::Loss& loss, std::span<const Interval> intervals) {
  if (gauge_) gauge_->lost(loss, intervals);
  Stream& stream = streams_[cpu];
  account::Loss judged = loss;
  judged.detour.in_doubt |= stream.doubt().touch(loss.detour) || may_be_unnoted(loss);
  const account::DetourLedger& ledger = stream.ledger.divide(judged, intervals);
  stream.counter->count(ledger);
  if (parts_.public_names != nullptr) parts_.public_names->count(ledger, stream.causes(), drained_ns_, *stream.counter);
  if (parts_.name_owners != nullptr) {
    parts_.name_owners->note(ledger, parts_.sources);
    note_owner(loss.name, loss.pid);
  }
  if (loss.kind != account::LossKind::interrupted) stream.runnable_ns += loss.detour.end_ns - loss.detour.start_ns;
  for (std::size_t group = 1; group < kGroups; ++group) {
    auto& account = accounts_[group];
    if (!account || !account->has(loss.group, group)) continue;
    account->counts.lost(judged, ledger);
    if (account->losses) account->losses->add(judged, ledger, parts_.sources);
  }
  const auto describe = [&](const account::DetourLedger& described, std::size_t index, account::FeedDetour& to) {
    parts_.chains.describe(described, index, stream.causes(), drained_ns_, to);
  };
  account::FeedDetour& shown = parts_.feed.stage();
  account::to_feed(stream.cpu(), ledger, parts_.sources, std::cref(describe), shown);
  shown.victim = loss.name;
  shown.victim_pid = loss.pid;
  shown.loss = loss.kind;
  parts_.feed.note(shown);
  if (sink_ != nullptr) sink_->loss(cpu, judged, ledger, shown);
}

void TaskPipeline::ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) {
  Stream& stream = streams_[cpu];
  stream.runnable_ns += run.end_ns - run.start_ns;
  const std::uint64_t ran_ns = stream.shares.ran(run.start_ns, run.end_ns);
  if (sink_ != nullptr) sink_->ran(cpu, run, facts);
  for (std::size_t group = 1; group < kGroups; ++group) {
    auto& account = accounts_[group];
    if (!account || !account->has(run.group, group)) continue;
    account->counts.ran(run, facts);
    note_owner(run.name, run.pid);
    const std::uint64_t began_ns = account->counts.began_ns();
    stream.shares.ran_for(group, std::min(ran_ns, run.end_ns - std::min(run.end_ns, began_ns)));
    if (account->losses) account->losses->ran(run.pid);
  }
}

void TaskPipeline::note_owner(SourceId source, std::uint32_t pid) const {
  if (parts_.name_owners != nullptr) parts_.name_owners->note(source, parts_.sources.at(source).name, pid);
}

void TaskPipeline::let_go(const Departures& departures) {
  for (const auto& counter : own_counters_) counter->let_go(departures);
  for (auto& account : accounts_) {
    if (account) account->counts.let_go(departures);
  }
}

void TaskPipeline::gone(std::uint64_t life) {
  for (auto& account : accounts_) {
    if (account) account->counts.gone(life);
  }
}

void TaskPipeline::add_not_followed(ReportLost& lost) const {
  lost.events += watch_.not_followed();
  account::add_loss({}, "task_table_full", watch_.not_followed(), lost);
}

ReportLost TaskPipeline::lost_so_far() const {
  ReportLost lost;
  for (const Stream& stream : streams_) account::add_losses(stream.cpu(), stream.losses(), lost);
  lost.missed_runs = missed_runs_.total();
  add_not_followed(lost);
  return lost;
}

void TaskPipeline::begin_account(std::size_t group, bool any, bool each_loss, std::uint64_t now_ns) {
  accounts_[group].emplace(any, lost_so_far(), account::WatchAccount(parts_.sources, now_ns),
                           each_loss ? std::optional<account::LossLog>(std::in_place) : std::nullopt, 0);
  for (Stream& stream : streams_) stream.shares.begin(group);
}

void TaskPipeline::take_losses(std::size_t group, account::LossBatch& batch) {
  Account& account = *accounts_[group];
  batch.log.take(*account.losses);
  batch.settled_ns = drained_ns_;
  batch.running.clear();
  for (const Stream& stream : streams_) {
    batch.settled_ns = std::min(batch.settled_ns, stream.told_ns);
    const auto& current = stream.told_current;
    if (current && account.has(current->group, group)) batch.running.emplace_back(current->pid, current->start_ns);
  }
}

void TaskPipeline::report(std::size_t group, std::uint64_t now_ns, WatchReport& report) const {
  const Account& account = *accounts_[group];
  report.lost = lost_so_far();
  report.lost.events -= account.before.events;
  report.lost.unpaired -= account.before.unpaired;
  report.lost.missed_runs -= account.before.missed_runs;
  report.lost.by.clear();
  report.elapsed_ns = now_ns - std::min(now_ns, account.counts.began_ns());
  account.counts.fill(report);
  report.untold = account.counts.untold();
  report.untold->measured = watch_.costs().timer_ways.samples;
  if (steal_step_ns_ != 0) report.steal = HostSteal{account.steal_ns, steal_step_ns_};
  for (const Stream& stream : streams_) {
    if (stream.current && account.has(stream.current->group, group)) {
      account::CurrentTask current = *stream.current;
      current.life = watch_.life_of(current);
      account.counts.add_current(current, drained_ns_, report);
    }
  }
}

void TaskPipeline::fill_cpu(const Stream& stream, const account::Snapshot& wanted, account::CpuSnapshot& cpu) const {
  cpu.has_loop = false;
  cpu.cpu = stream.cpu();
  cpu.observed_ns = 0;
  cpu.current = stream.current;
  // It may have come while the drain went on.
  cpu.current_until_ns = stream.current ? std::max(drained_ns_, stream.current->start_ns) : drained_ns_;
  account::copy_statistics(*stream.counter, wanted.detail, wanted.recent_slots, cpu);
}

account::DroppedOrigins TaskPipeline::dropped_origins() const {
  account::DroppedOrigins dropped;
  for (const Stream& stream : streams_) dropped += stream.causes().dropped();
  return dropped;
}

void TaskPipeline::fill(account::Snapshot& snapshot) const {
  add_not_followed(snapshot.lost);
  if (options_.gauges_entries) snapshot.entry_cost = entry_cost();
  for (std::size_t place = 0; place < streams_.size(); ++place) {
    const Stream& stream = streams_[place];
    account::CpuSnapshot& cpu = snapshot.cpus[place];
    cpu.watches_tasks = true;
    account::LossCounts losses = stream.losses();
    if (stream.has_loop) {
      losses = account::LossCounts();  // the rest is the loop's as well, and counted there
      losses.bad = stream.losses().bad;
    } else {
      fill_cpu(stream, snapshot, cpu);
      snapshot.lost.incomplete_detours += stream.counter->statistics().totals().incomplete_detours;
    }
    account::add_losses(stream.cpu(), losses, snapshot.lost);
    cpu.observed_ns += stream.runnable_ns;
    if (stream.current) cpu.observed_ns += drained_ns_ - std::min(drained_ns_, stream.current->start_ns);
  }
}

}  // namespace noised::pipeline
