// SPDX-License-Identifier: Apache-2.0
// Draining and following.
#include "pipeline/task_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/monotonic.h"
#include "base/read_file.h"

namespace noised {
namespace {

constexpr std::size_t kDrainLimit = std::size_t{1} << 20U;
constexpr std::uint64_t kAheadNs = 1'000'000;
// An interval inside another one comes before it: both are there once the outer one can no longer be open.
constexpr std::uint64_t kSettleNs = 1'000'000;
// The last run of the gauge's thread ends after its measurement, and may be told some drains later.
constexpr std::uint64_t kGaugeSettleNs = 200'000'000;
constexpr unsigned kGaugeTries = 20;  // some 10 s

// Not beside loops: they would see it. What entries cost is not told there.
std::unique_ptr<EntryGauge> start_gauge(const TaskPipelineOptions& options) {
  return options.counters.empty() ? EntryGauge::start(options.cpus) : nullptr;
}

}  // namespace

TaskPipeline::Stream::Stream(unsigned of, LedgerCounter* counts, const TaskPipelineOptions& options,
                             std::uint64_t now_ns)
    : cpu(of), doubt(now_ns), steal(options.steal_step_ns), counter(counts) {}

TaskPipeline::TaskPipeline(const PipelineParts& parts, const TaskPipelineOptions& options, std::uint64_t now_ns)
    : parts_(parts),
      options_(options),
      watch_(options.cpus.size(), *this),
      gauge_(start_gauge(options)),
      missed_runs_(parts.kernel.missed_runs()) {
  for (std::size_t place = 0; place < options.cpus.size(); ++place) {
    LedgerCounter* counter = options.counters.empty() ? nullptr : options.counters[place];
    if (counter == nullptr) {
      own_counters_.push_back(std::make_unique<LedgerCounter>(parts.sources));
      counter = own_counters_.back().get();
    }
    streams_.emplace_back(options.cpus[place], counter, options, now_ns);
    streams_.back().losses.kernel = parts.kernel.lost(options.cpus[place]);
  }
}

std::uint64_t TaskPipeline::latest_ns(std::uint64_t end_ns) {
  if (end_ns > latest_ns_) latest_ns_ = monotonic_ns() + kAheadNs;
  return latest_ns_;
}

void TaskPipeline::take(Stream& stream, const noised_record& record, const char* comm, const noised_run_record* run) {
  const std::uint64_t end_ns = record.start_ns + record.duration_ns;
  const Meaning meaning = meaning_of(record, comm, latest_ns(end_ns));
  if (meaning == Meaning::unseen) stream.doubt.unseen_ns().push_back(record.start_ns);
  if (meaning == Meaning::bad) ++stream.bad_records;
  if (meaning != Meaning::interval) return;
  const SourceId source = parts_.names.resolve(record, comm);
  if (run != nullptr) {
    stream.busy_until_ns = end_ns;
    const auto pid = static_cast<std::uint32_t>(record.id);
    const TaskCounts counts{run->wait_ns,     run->runs,         run->voluntary,
                            run->involuntary, run->minor_faults, run->major_faults};
    stream.runs.push_back(
        {stream.intervals.size(),
         {record.start_ns, end_ns, pid, run->tgid, source, record.group, (record.flags & NOISED_FLAG_PREEMPTED) != 0,
          (record.flags & NOISED_FLAG_ENDED) != 0, counts}});
  }
  stream.intervals.push_back(
      {record.start_ns, end_ns, source, static_cast<Kind>(record.kind), record.flags, record.id, 0});
}

// Who has the CPU, as the programs saw it. Written there with interrupts off; read twice, it was not written meanwhile.
void TaskPipeline::look_at_current(Stream& stream) {
  const volatile noised_cpu& state = parts_.kernel.state(stream.cpu);
  const std::uint64_t start_ns = state.task_start_ns;
  const std::uint32_t pid = state.current_pid;
  const bool is_user =
      state.watched == NOISED_WATCH_TASKS && state.current_is_kernel == 0 && pid != 0 && pid != state.probe_pid;
  const bool same = stream.current && stream.current->pid == pid && stream.current->start_ns == start_ns;
  const bool torn = state.task_start_ns != start_ns || state.current_pid != pid;
  stream.idle_since_ns = torn || is_user ? 0 : start_ns;
  if (torn || !is_user || start_ns == 0) {
    stream.current.reset();
    return;
  }
  const auto groups = parts_.kernel.groups();
  if (!same) stream.current = CurrentTask{pid, kNoName, 0, start_ns};
  stream.current->group = pid < groups.size() ? groups[pid] : std::uint8_t{0};
}

void TaskPipeline::begin_read(std::size_t place) {
  Stream& stream = streams_[place];
  const volatile noised_cpu& state = parts_.kernel.state(stream.cpu);
  stream.settled = state.depth == 0;
  stream.intervals.clear();
  stream.runs.clear();
  stream.doubt.unseen_ns().clear();
  stream.bad_records = 0;
}

void TaskPipeline::take(std::size_t place, const noised_record& record, const char* comm,
                        const noised_run_record* run) {
  take(streams_[place], record, comm, run);
}

void TaskPipeline::read() {
  for (std::size_t place = 0; place < streams_.size(); ++place) {
    begin_read(place);
    const auto sink = [&](const noised_record& record, const char* comm, const noised_run_record* run) {
      take(streams_[place], record, comm, run);
    };
    parts_.kernel.drain(place, kDrainLimit, std::cref(sink));
    end_read(place);
  }
}

std::uint64_t TaskPipeline::busy_until_ns(std::size_t place) const {
  const Stream& stream = streams_[place];
  return stream.current ? std::max(stream.busy_until_ns, stream.current->start_ns) : stream.busy_until_ns;
}

std::uint32_t TaskPipeline::current_pid(std::size_t place) const {
  return streams_[place].current ? streams_[place].current->pid : 0;
}

void TaskPipeline::take(const noised_origin& origin) {
  for (Stream& stream : streams_) {
    const bool touched = stream.cpu / 64 == origin.word && ((origin.targets >> (stream.cpu % 64)) & 1U) != 0;
    if (touched) stream.causes.add(origin);
  }
}

bool TaskPipeline::note_losses(Stream& stream, bool missed) const {
  const std::uint64_t began_ns = monotonic_ns();
  LossCounts now = stream.losses;
  now.kernel = parts_.kernel.lost(stream.cpu);
  now.bad += stream.bad_records;
  LostCounters marked = now.kernel;
  marked.unseen = stream.losses.kernel.unseen;
  const bool lost = missed || stream.bad_records != 0 || marked != stream.losses.kernel;
  stream.losses = now;
  stream.doubt.look(lost, began_ns, monotonic_ns());
  return lost;
}

void TaskPipeline::join(std::size_t place, std::uint64_t drained_ns, bool missed, bool origins_missing) {
  Stream& stream = streams_[place];
  const bool causes_known = !note_losses(stream, missed) && !origins_missing;
  if (!causes_known) stream.causes.forget(drained_ns);
  auto run = stream.runs.cbegin();
  for (std::size_t at = 0; at < stream.intervals.size(); ++at) {
    Interval& interval = stream.intervals[at];
    // Nothing is recorded of an idle CPU: what was sent there may have been answered unseen.
    if (interval.kind == Kind::task) {
      if (interval.start_ns > stream.ran_until_ns) stream.causes.unobserved_until(interval.start_ns);
      stream.ran_until_ns = interval.end_ns;
    }
    if (causes_known) interval.cause = stream.causes.cause_of(interval);
    if (sink_ != nullptr) sink_->interval(place, interval);
    if (run != stream.runs.cend() && run->first == at) {
      watch_.add(place, run->second, interval);
      ++run;
    } else {
      if (interval.kind == Kind::task) stream.shares.ran(interval.start_ns, interval.end_ns);  // a kernel thread
      watch_.add(place, interval);
    }
  }
  stream.causes.settle(drained_ns);
  note_told(place, drained_ns, stream.current && stream.settled && follow_current(place, drained_ns));
}

// A file is read once for a run that outlasts a drain. False if its interruptions could not be told.
bool TaskPipeline::follow_current(std::size_t place, std::uint64_t drained_ns) {
  CurrentTask& current = *streams_[place].current;
  if (drained_ns - std::min(drained_ns, current.start_ns) < kSettleNs) return true;
  if (current.name == kNoName) {
    const auto comm = read_file(fmt::format("/proc/{}/comm", current.pid));
    if (!comm) return false;  // it has just ended: its record will tell
    current.name = parts_.sources.intern(Kind::task, comm.value().substr(0, comm.value().find('\n')));
  }
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

void TaskPipeline::join(std::uint64_t drained_ns, std::uint64_t missed_runs, bool origins_missing) {
  drained_ns_ = drained_ns;
  const bool missed = std::exchange(missed_runs_, missed_runs) != missed_runs;
  for (std::size_t place = 0; place < streams_.size(); ++place) join(place, drained_ns, missed, origins_missing);
  watch_.settle(drained_ns);
  for (Stream& stream : streams_) share_out(stream);
  if (gauge_) ask_gauge();
}

void TaskPipeline::share_steal(std::size_t place, std::uint64_t stolen_ns) {
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
  if (costs->timer.before_ns != 0) watch_.set_costs(*costs);
  gauge_.reset();
  // Where the CPU was never free, it saw too little: it tries again.
  const bool enough = costs->timer.before_ns != 0 && costs->timer.after_ns != 0;
  if (!enough && ++gauged_ < kGaugeTries) gauge_ = EntryGauge::start(options_.cpus);
}

void TaskPipeline::lost(std::size_t cpu, const Loss& loss, std::span<const Interval> intervals) {
  if (gauge_) gauge_->lost(loss, intervals);
  Stream& stream = streams_[cpu];
  Loss judged = loss;
  judged.detour.in_doubt |= stream.doubt.touch(loss.detour);
  Ledger& ledger = stream.ledger.divide(judged, intervals);
  if (options_.outside == Kind::hypervisor) {
    ledger.hypervisor_ns = options_.steal_step_ns == 0 ? ledger.outside_ns : stream.steal.cover(ledger.outside_ns);
  }
  stream.counter->count(ledger);
  if (loss.kind != LossKind::interrupted) stream.runnable_ns += loss.detour.end_ns - loss.detour.start_ns;
  for (std::size_t group = 1; group < kGroups; ++group) {
    auto& account = accounts_[group];
    if (!account || !account->has(loss.group, group)) continue;
    account->counts.lost(judged, ledger);
    if (account->losses) account->losses->add(judged, ledger, parts_.sources);
  }
  const auto describe = [&](const Ledger& described, std::size_t index, FeedDetour& to) {
    parts_.chains.describe(described, index, stream.causes, drained_ns_, to);
  };
  FeedDetour& shown = parts_.feed.stage();
  to_feed(stream.cpu, ledger, parts_.sources, std::cref(describe), shown);
  shown.victim = loss.name;
  shown.victim_pid = loss.pid;
  shown.loss = loss.kind;
  if (sink_ != nullptr) sink_->loss(cpu, judged, ledger, shown);
}

void TaskPipeline::ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) {
  Stream& stream = streams_[cpu];
  stream.runnable_ns += run.end_ns - run.start_ns;
  const std::uint64_t ran_ns = stream.shares.ran(run.start_ns, run.end_ns);
  if (sink_ != nullptr) sink_->ran(cpu, run, facts);
  for (std::size_t group = 1; group < kGroups; ++group) {
    auto& account = accounts_[group];
    if (!account || !account->has(run.group, group)) continue;
    account->counts.ran(run, facts);
    const std::uint64_t began_ns = account->counts.began_ns();
    stream.shares.ran_for(group, std::min(ran_ns, run.end_ns - std::min(run.end_ns, began_ns)));
    if (account->losses) account->losses->ran(run.pid);
  }
}

void TaskPipeline::add_not_followed(ReportLost& lost) const {
  lost.events += watch_.not_followed();
  add_loss({}, "task_table_full", watch_.not_followed(), lost);
}

ReportLost TaskPipeline::lost_so_far() const {
  ReportLost lost;
  for (const Stream& stream : streams_) add_losses(stream.cpu, stream.losses, lost);
  lost.missed_runs = missed_runs_;
  add_not_followed(lost);
  return lost;
}

void TaskPipeline::begin_account(std::size_t group, bool any, bool each_loss, std::uint64_t now_ns) {
  accounts_[group].emplace(any, lost_so_far(), WatchAccount(parts_.sources, now_ns),
                           each_loss ? std::optional<LossLog>(std::in_place) : std::nullopt, 0);
  for (Stream& stream : streams_) stream.shares.begin(group);
}

void TaskPipeline::take_losses(std::size_t group, LossBatch& batch) {
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
  if (options_.steal_step_ns != 0) report.steal = HostSteal{account.steal_ns, options_.steal_step_ns};
  for (const Stream& stream : streams_) {
    if (stream.current && account.has(stream.current->group, group)) {
      account.counts.add_current(*stream.current, drained_ns_, report);
    }
  }
}

void TaskPipeline::fill_cpu(const Stream& stream, SnapshotDetail detail, CpuSnapshot& cpu) const {
  cpu.has_loop = false;
  cpu.cpu = stream.cpu;
  cpu.observed_ns = 0;
  cpu.current = stream.current;
  cpu.current_until_ns = drained_ns_;
  cpu.steal_ns = stream.steal.stolen_ns();
  cpu.steal_step_ns = stream.steal.step_ns();
  if (detail == SnapshotDetail::counts) return;
  if (detail == SnapshotDetail::all) {
    stream.counter->statistics().copy_to(cpu.statistics);
  } else {
    stream.counter->statistics().copy_summary_to(cpu.statistics);
  }
}

void TaskPipeline::fill(Snapshot& snapshot) const {
  add_not_followed(snapshot.lost);
  const bool beside_loops = own_counters_.empty();
  for (std::size_t place = 0; place < streams_.size(); ++place) {
    const Stream& stream = streams_[place];
    CpuSnapshot& cpu = snapshot.cpus[place];
    cpu.watches_tasks = true;
    LossCounts losses = stream.losses;
    if (beside_loops) {
      losses = LossCounts();  // the rest is the loop's as well, and counted there
      losses.bad = stream.losses.bad;
    } else {
      fill_cpu(stream, snapshot.detail, cpu);
      snapshot.lost.incomplete_detours += stream.counter->statistics().totals().incomplete_detours;
    }
    add_losses(stream.cpu, losses, snapshot.lost);
    cpu.observed_ns += stream.runnable_ns;
    if (stream.current) cpu.observed_ns += drained_ns_ - std::min(drained_ns_, stream.current->start_ns);
  }
}

}  // namespace noised
