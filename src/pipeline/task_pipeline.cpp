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

}  // namespace

TaskPipeline::Stream::Stream(unsigned of, const TaskPipelineOptions& options, const SourceTable& sources,
                             std::uint64_t now_ns)
    : cpu(of), doubt(now_ns), steal(options.steal_step_ns), counter(sources) {}

TaskPipeline::TaskPipeline(const PipelineParts& parts, const TaskPipelineOptions& options, std::uint64_t now_ns)
    : parts_(parts), options_(options), watch_(options.cpus.size(), *this), missed_runs_(parts.tracer.missed_runs()) {
  for (const unsigned cpu : options.cpus) {
    streams_.emplace_back(cpu, options, parts.sources, now_ns);
    streams_.back().losses.kernel = parts.tracer.lost(cpu);
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
  const volatile noised_cpu& state = parts_.tracer.state(stream.cpu);
  const std::uint64_t start_ns = state.task_start_ns;
  const std::uint32_t pid = state.current_pid;
  const bool is_user = state.watched == NOISED_WATCH_TASKS && state.current_is_kernel == 0;
  const bool same = stream.current && stream.current->pid == pid && stream.current->start_ns == start_ns;
  if (state.task_start_ns != start_ns || state.current_pid != pid || !is_user || start_ns == 0) {
    stream.current.reset();
    return;
  }
  const auto groups = parts_.tracer.groups();
  if (!same) stream.current = CurrentTask{pid, kNoName, 0, start_ns};
  stream.current->group = pid < groups.size() ? groups[pid] : std::uint8_t{0};
}

void TaskPipeline::read() {
  for (std::size_t place = 0; place < streams_.size(); ++place) {
    Stream& stream = streams_[place];
    const volatile noised_cpu& state = parts_.tracer.state(stream.cpu);
    stream.settled = state.depth == 0;
    stream.intervals.clear();
    stream.runs.clear();
    stream.doubt.unseen_ns().clear();
    stream.bad_records = 0;
    const auto sink = [&](const noised_record& record, const char* comm, const noised_run_record* run) {
      take(stream, record, comm, run);
    };
    parts_.tracer.drain(place, kDrainLimit, std::cref(sink));
    look_at_current(stream);
  }
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
  now.kernel = parts_.tracer.lost(stream.cpu);
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
    if (run != stream.runs.cend() && run->first == at) {
      watch_.add(place, run->second, interval);
      ++run;
    } else {
      watch_.add(place, interval);
    }
  }
  stream.causes.settle(drained_ns);
  if (stream.current && stream.settled) follow_current(place, drained_ns);
}

// A file is read once for a run that outlasts a drain.
void TaskPipeline::follow_current(std::size_t place, std::uint64_t drained_ns) {
  CurrentTask& current = *streams_[place].current;
  if (drained_ns - std::min(drained_ns, current.start_ns) < kSettleNs) return;
  if (current.name == kNoName) {
    const auto comm = read_file(fmt::format("/proc/{}/comm", current.pid));
    if (!comm) return;  // it has just ended: its record will tell
    current.name = parts_.sources.intern(Kind::task, comm.value().substr(0, comm.value().find('\n')));
  }
  watch_.add(place, current, drained_ns - kSettleNs);
}

void TaskPipeline::join(std::uint64_t drained_ns, std::uint64_t missed_runs, bool origins_missing) {
  drained_ns_ = drained_ns;
  const bool missed = std::exchange(missed_runs_, missed_runs) != missed_runs;
  for (std::size_t place = 0; place < streams_.size(); ++place) join(place, drained_ns, missed, origins_missing);
  watch_.settle(drained_ns);
}

void TaskPipeline::lost(std::size_t cpu, const Loss& loss, std::span<const Interval> intervals) {
  Stream& stream = streams_[cpu];
  Loss judged = loss;
  judged.detour.in_doubt |= stream.doubt.touch(loss.detour);
  Ledger& ledger = stream.ledger.divide(judged, intervals);
  if (options_.outside == Kind::hypervisor) {
    ledger.hypervisor_ns = options_.steal_step_ns == 0 ? ledger.outside_ns : stream.steal.cover(ledger.outside_ns);
  }
  stream.counter.count(ledger);
  if (loss.kind != LossKind::interrupted) stream.runnable_ns += loss.detour.end_ns - loss.detour.start_ns;
  for (std::size_t group = 1; group < kGroups; ++group) {
    auto& account = accounts_[group];
    if (account && (account->any || loss.group == group)) account->counts.lost(judged, ledger);
  }
  const auto describe = [&](const Ledger& described, std::size_t index, FeedDetour& to) {
    parts_.chains.describe(described, index, stream.causes, drained_ns_, to);
  };
  FeedDetour& shown = parts_.feed.stage();
  to_feed(stream.cpu, ledger, parts_.sources, std::cref(describe), shown);
  shown.victim = loss.name;
  shown.victim_pid = loss.pid;
  shown.loss = loss.kind;
}

void TaskPipeline::ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) {
  streams_[cpu].runnable_ns += run.end_ns - run.start_ns;
  for (std::size_t group = 1; group < kGroups; ++group) {
    auto& account = accounts_[group];
    if (account && (account->any || run.group == group)) account->counts.ran(run, facts);
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

void TaskPipeline::begin_account(std::size_t group, bool any, std::uint64_t now_ns) {
  accounts_[group].emplace(any, lost_so_far(), WatchAccount(parts_.sources, now_ns));
}

void TaskPipeline::report(std::size_t group, std::uint64_t now_ns, WatchReport& report) const {
  const auto& [any, before, account] = *accounts_[group];
  report.lost = lost_so_far();
  report.lost.events -= before.events;
  report.lost.unpaired -= before.unpaired;
  report.lost.missed_runs -= before.missed_runs;
  report.lost.by.clear();
  report.elapsed_ns = now_ns - std::min(now_ns, account.began_ns());
  account.fill(report);
  for (const Stream& stream : streams_) {
    if (stream.current && (any || stream.current->group == group)) {
      account.add_current(*stream.current, drained_ns_, report);
    }
  }
}

void TaskPipeline::fill(std::size_t first, Snapshot& snapshot) const {
  add_not_followed(snapshot.lost);
  std::size_t next = first;
  for (const Stream& stream : streams_) {
    CpuSnapshot& cpu = snapshot.cpus[next++];
    cpu.watches_tasks = true;
    cpu.cpu = stream.cpu;
    cpu.observed_ns = stream.runnable_ns;
    if (stream.current) cpu.observed_ns += drained_ns_ - std::min(drained_ns_, stream.current->start_ns);
    cpu.steal_ns = stream.steal.stolen_ns();
    cpu.steal_step_ns = stream.steal.step_ns();
    add_losses(stream.cpu, stream.losses, snapshot.lost);
    snapshot.lost.incomplete_detours += stream.counter.statistics().totals().incomplete_detours;
    if (snapshot.detail == SnapshotDetail::counts) continue;
    if (snapshot.detail == SnapshotDetail::all) {
      stream.counter.statistics().copy_to(cpu.statistics);
    } else {
      stream.counter.statistics().copy_summary_to(cpu.statistics);
    }
  }
}

}  // namespace noised
