// SPDX-License-Identifier: Apache-2.0
// Draining and joining.
#include "pipeline/pipeline.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace noised {
namespace {

// More than a ring of any size holds: a drain ends even if the kernel produces faster than we read.
constexpr std::size_t kDrainLimit = std::size_t{1} << 20U;
// A busy drain has 1,250 intervals of one CPU at 50,000 a second.
constexpr std::size_t kIntervals = 16384;
constexpr std::uint64_t kStealIntervalNs = 1'000'000'000;
// Readers may ask for drains at any rate; samples closer than this would make segments of the clock too short to be
// exact, and the remembered ones too few.
constexpr std::uint64_t kClockIntervalNs = 5'000'000;
// A blind CPU is told within two of these. Where reading the kernel's counts takes longer than a thousandth of it, on
// machines with many CPUs and devices, it comes as much more rarely.
constexpr std::uint64_t kSightIntervalNs = 2'000'000'000;
constexpr std::uint64_t kSightShare = 1000;
// The kernel's programs read a clock that, while it is being adjusted, may be a hair ahead of ours.
constexpr std::uint64_t kAheadNs = 1'000'000;

}  // namespace

Pipeline::Stream::Stream(std::size_t place, MeasuringLoop& of, const WatchOptions& options, const SourceTable& sources,
                         std::uint64_t now_ns)
    : index(place), loop(of), watched(options, sources), doubt(now_ns) {
  popped.reserve(of.ring().capacity());
  intervals.reserve(kIntervals);
}

Pipeline::Pipeline(KernelEvents& kernel, std::span<MeasuringLoop* const> loops, ClockMap& clock, SourceTable& sources,
                   Names& names, const PipelineOptions& options)
    : kernel_(kernel),
      clocks_(options.clocks),
      clock_(clock),
      sources_(sources),
      names_(names),
      chains_(names, sources, services_),
      steal_clock_(options.steal_clock),
      interrupts_(options.interrupts),
      counted_vectors_(interrupts_ == nullptr ? 0 : interrupts_->vectors()),
      feed_(options.feed_size),
      started_ns_(clocks_.now_ns()),
      drained_ns_(started_ns_) {
  for (MeasuringLoop* const loop : loops) {
    WatchOptions watch;
    watch.cpu = loop->cpu();
    watch.threshold_ns = options.threshold_ns;
    watch.outside = options.outside;
    watch.steal_step_ns = steal_clock_ == nullptr ? 0 : StealClock::step_ns();
    streams_.emplace_back(streams_.size(), *loop, watch, sources, started_ns_);
    streams_.back().losses.kernel = kernel_.lost(watch.cpu);
  }
  if (!options.watched_cpus.empty()) {
    TaskPipelineOptions tasks{
        options.watched_cpus, options.outside, steal_clock_ == nullptr ? 0 : StealClock::step_ns(), {}};
    tasks.counters.reserve(streams_.size());
    const PipelineParts parts{kernel_, sources_, names_, chains_, feed_};
    for (Stream& stream : streams_) tasks.counters.push_back(&stream.watched.counter());
    tasks_ = std::make_unique<TaskPipeline>(parts, tasks, started_ns_);
    tasks_stolen_ns_.resize(options.watched_cpus.size());
    tasks_shared_ns_.resize(options.watched_cpus.size());
  }
  missed_runs_ = kernel_.missed_runs();
  lost_origins_ = kernel_.lost_origins();
  look_at_steal(started_ns_);
}

// Nothing that is read now has ended later. Few records are younger than the drain: for those the clock is read again.
std::uint64_t Pipeline::latest_ns(std::uint64_t end_ns) {
  if (end_ns > latest_ns_) latest_ns_ = clocks_.now_ns() + kAheadNs;
  return latest_ns_;
}

void Pipeline::take(Stream& stream, const noised_record& record, const char* comm) {
  const std::uint64_t end_ns = record.start_ns + record.duration_ns;
  switch (meaning_of(record, comm, latest_ns(end_ns))) {
    case Meaning::interval:
      if (record.kind == NOISED_KIND_VECTOR && (counted_vectors_ >> (record.id % 32) & 1U) != 0) ++stream.interrupts;
      stream.intervals.push_back(Interval{record.start_ns, end_ns, names_.resolve(record, comm),
                                          static_cast<Kind>(record.kind), record.flags, record.id, 0});
      break;
    case Meaning::unseen:
      stream.doubt.unseen_ns().push_back(record.start_ns);
      break;
    case Meaning::stopped:
      stream.doubt.stopped_ns().push_back(record.start_ns);
      break;
    case Meaning::bad:
      ++stream.bad_records;
      break;
  }
}

// A record tells how its CPU was watched when it was made.
void Pipeline::take_either(Stream& stream, const noised_record& record, const char* comm,
                           const noised_run_record* run) {
  if (!tasks_ || record.watched != NOISED_WATCH_TASKS) return take(stream, record, comm);
  tasks_->take(stream.index, record, comm, run);
  const std::uint64_t end_ns = record.start_ns + record.duration_ns;
  const bool is_loop = record.kind == NOISED_KIND_TASK && record.id == kernel_.state(stream.loop.cpu()).probe_pid;
  if (is_loop && (stream.left.empty() || stream.left.back() <= end_ns)) stream.left.push_back(end_ns);
}

void Pipeline::read(std::size_t index) {
  Stream& stream = streams_[index];
  stream.popped.clear();
  // Before its detours are: what is observed until then, and blind, is among them.
  stream.last_ticks = stream.loop.progress().last_ticks.load(std::memory_order_acquire);
  stream.storing_ticks = stream.loop.progress().storing_ticks.load(std::memory_order_relaxed);
  stream.loop.ring().pop_all(stream.popped);
  stream.intervals.clear();
  stream.doubt.unseen_ns().clear();
  stream.bad_records = 0;
  if (tasks_) tasks_->begin_read(index);
  const auto sink = [&](const noised_record& record, const char* comm, const noised_run_record* run) {
    take_either(stream, record, comm, run);
  };
  kernel_.drain(index, kDrainLimit, std::cref(sink));  // by reference: a copy would be allocated every time
  if (tasks_) tasks_->end_read(index);
  note_unseen_return(stream);
}

// The mark of a switch that ran no program comes with the next one that does. Until then, the kernel's last word is
// that another task has the CPU, and yet the loop goes on. A true switch is younger than every detour popped before it
// was read here, so this touches no other detour.
void Pipeline::note_unseen_return(Stream& stream) {
  const volatile noised_cpu& state = kernel_.state(stream.loop.cpu());
  if (state.watched != NOISED_WATCH_LOOP || stream.loop.is_aside()) return;
  const std::uint64_t switched_ns = state.task_start_ns;
  if (switched_ns != 0 && state.current_pid != state.probe_pid) stream.doubt.unseen_ns().push_back(switched_ns);
}

void Pipeline::read_origins() {
  std::uint64_t bad = 0;
  const auto sink = [&](const noised_origin& origin) {
    const bool sound = is_sound(origin, latest_ns(origin.time_ns));
    if (!sound) ++bad;
    for (Stream& stream : streams_) {
      const unsigned cpu = stream.loop.cpu();
      const bool touched = cpu / 64 == origin.word && ((origin.targets >> (cpu % 64)) & 1U) != 0;
      if (sound && touched) stream.causes.add(origin);
    }
    if (sound && tasks_) tasks_->take(origin);
  };
  const bool complete = kernel_.drain_origins(std::cref(sink));
  const std::uint64_t lost = kernel_.lost_origins();
  origins_missing_ = !complete || lost != lost_origins_ || bad != 0;
  lost_origins_ = lost;
  bad_origins_ += bad;
}

// Returns whether something was lost since the last look, which came after the last drain.
bool Pipeline::note_losses(Stream& stream) {
  const std::uint64_t began_ns = clocks_.now_ns();
  LossCounts now = stream.losses;
  now.kernel = kernel_.lost(stream.loop.cpu());
  now.detours = stream.loop.ring().lost();
  now.samples = stream.loop.ring().lost_samples();
  LostCounters marked = now.kernel;
  marked.unseen = stream.losses.kernel.unseen;  // a mark says itself which detour it touches
  now.bad += stream.bad_records;
  const bool lost =
      missed_ || stream.bad_records != 0 || marked != stream.losses.kernel || now.detours != stream.losses.detours;
  stream.losses = now;
  stream.doubt.look(lost, began_ns, clocks_.now_ns());
  return lost;
}

// From intervals to intervals with causes. Where something was lost, none of this drain is given one: the lost may have
// been any of theirs, and what is known may explain the wrong ones.
void Pipeline::join(Stream& stream, std::uint64_t began_ns) {
  const bool causes_known = !note_losses(stream) && !origins_missing_;
  if (!causes_known) stream.causes.forget(began_ns);
  auto gap = stream.popped.cbegin();
  for (Interval& interval : stream.intervals) {
    pass_gaps(stream, gap, interval.end_ns);
    if (causes_known) interval.cause = stream.causes.cause_of(interval);
    if (stream.watched.add(interval)) {
      if (sink_ != nullptr) sink_->interval(stream.index, interval);
      continue;
    }
    ++stream.losses.refused;
    stream.doubt.look(true, began_ns, clocks_.now_ns());
  }
  pass_gaps(stream, gap, UINT64_MAX);
  stream.causes.settle(began_ns);
}

// Forgets, for what ended later, the causes of what was not observed.
void Pipeline::pass_gaps(Stream& stream, std::vector<TickDetour>::const_iterator& gap, std::uint64_t until_ns) const {
  for (; gap != stream.popped.cend(); ++gap) {
    if (gap->kind == GapKind::detour || gap->kind == GapKind::sample) continue;
    const std::uint64_t end_ns = clock_.to_ns(gap->end_ticks);
    if (end_ns > until_ns) return;
    stream.causes.unobserved_until(end_ns);
  }
}

// Neither stolen nor measured: until the loop is back on its CPU, nobody looked.
void Pipeline::skip(Stream& stream, const Detour& blind, std::uint64_t& count) const {
  ++count;
  stream.gap_end_ns = blind.end_ns;
  stream.watched.skip(blind);
  if (sink_ != nullptr) sink_->gap(stream.index, GapKind::moved, blind);
  stream.causes.forget(drained_ns_);
}

// What the loop saw from the moment when a task took the CPU from it, until it came back from aside, is not the loop's.
bool Pipeline::take_left(Stream& stream, std::uint64_t end_ns, GapKind kind) const {
  const auto later = std::upper_bound(stream.left.begin(), stream.left.end(), end_ns);
  stream.aside |= later != stream.left.begin();
  stream.left.erase(stream.left.begin(), later);
  const bool left = stream.aside;
  if (kind == GapKind::rested) stream.aside = false;
  return left;
}

void Pipeline::add_detour(Stream& stream, const TickDetour& ticks) {
  if (ticks.kind == GapKind::sample) {
    if (sink_ != nullptr) sink_->sample(stream.index, clock_.to_ns(ticks.start_ticks), ticks.end_ticks);
    return;
  }
  if (ticks.end_ticks < ticks.start_ticks) {  // the counter itself went back: there is no such time
    ++stream.losses.impossible;
    return;
  }
  Detour detour{clock_.to_ns(ticks.start_ticks), clock_.to_ns(ticks.end_ticks), false};
  if (take_left(stream, detour.end_ns, ticks.kind) || ticks.kind == GapKind::rested) {  // meant to be: no loss
    stream.gap_end_ns = detour.end_ns;
    stream.watched.rest(detour);
    if (sink_ != nullptr) sink_->gap(stream.index, GapKind::rested, detour);
    return;
  }
  if (ticks.kind == GapKind::moved) return skip(stream, detour, stream.losses.moved);
  if (stream.doubt.take_stopped(detour)) return skip(stream, detour, stream.losses.stopped);
  detour.in_doubt = clock_stepped_ || stream.doubt.touch(detour);
  const std::uint64_t tolerance_ns = clock_.uncertainty_ns();
  const Ledger& ledger = stream.watched.add(detour, tolerance_ns);
  const auto describe = [&](const Ledger& described, std::size_t index, FeedDetour& to) {
    chains_.describe(described, index, stream.causes, drained_ns_, to);
  };
  FeedDetour& shown = feed_.stage();
  to_feed(stream.loop.cpu(), ledger, sources_, std::cref(describe), shown);
  if (sink_ != nullptr) sink_->detour(stream.index, ledger, tolerance_ns, shown);
}

void Pipeline::attribute(Stream& stream) {
  const LoopProgress& progress = stream.loop.progress();
  if (stream.first_ns == 0 && progress.last_ticks.load(std::memory_order_acquire) != 0) {
    stream.first_ns = clock_.to_ns(progress.first_ticks.load(std::memory_order_relaxed));
    stream.watched.begin(stream.first_ns);
    if (sink_ != nullptr) sink_->begins(stream.index, stream.first_ns);
  }
  for (const TickDetour& ticks : stream.popped) add_detour(stream, ticks);
  if (stream.last_ticks != 0) stream.watched.settle(clock_.to_ns(stream.last_ticks), clock_.uncertainty_ns());
  note_observed(stream);
}

// It never goes back, though the mapping of old ticks changes, and though blind time may be known before what follows
// it.
void Pipeline::note_observed(Stream& stream) const {
  if (stream.first_ns == 0 || stream.last_ticks == 0) return;
  // The gap is stored when the loop is back; until then it is known to be one.
  const std::uint64_t away_ns =
      stream.loop.is_away() ? drained_ns_ - std::min(drained_ns_, clock_.to_ns(stream.last_ticks)) : 0;
  stream.blind_ns = std::max(stream.blind_ns, stream.watched.blind_ns() + away_ns);
  const double storing_ns = static_cast<double>(stream.storing_ticks) * 1e9 / clock_.frequency();
  const std::uint64_t unobserved_ns =
      stream.watched.blind_ns() + stream.watched.rested_ns() + static_cast<std::uint64_t>(storing_ns);
  const std::uint64_t last_ns = clock_.to_ns(stream.last_ticks);
  if (last_ns < stream.first_ns + unobserved_ns) return;
  stream.observed_ns = std::max(stream.observed_ns, last_ns - stream.first_ns - unobserved_ns);
}

// What the ledger books on steal time has a second for it, however often a report asks for the tasks' shares.
void Pipeline::look_at_steal(std::uint64_t now_ns) {
  const bool due = now_ns - steal_looked_ns_ >= kStealIntervalNs;
  if (steal_clock_ == nullptr || (!due && !steal_wanted_)) return;
  steal_wanted_ = false;
  const std::vector<std::uint64_t>& stolen_ns = steal_clock_->read();
  const auto of = [&](unsigned cpu) { return cpu < stolen_ns.size() ? stolen_ns[cpu] : 0; };
  for (std::size_t place = 0; place < tasks_shared_ns_.size(); ++place) {
    const std::uint64_t now = of(tasks_->cpu_at(place));
    const std::uint64_t then = std::exchange(tasks_shared_ns_[place], now);
    if (steal_looked_ns_ != 0) tasks_->share_steal(place, now - std::min(then, now));
  }
  if (!due) return;
  for (Stream& stream : streams_) {
    const std::uint64_t now = of(stream.loop.cpu());
    if (steal_looked_ns_ != 0 && now >= stream.stolen_ns) stream.watched.add_steal(now - stream.stolen_ns);
    stream.stolen_ns = now;
  }
  for (std::size_t place = 0; place < tasks_stolen_ns_.size(); ++place) {
    const std::uint64_t now = of(tasks_->cpu_at(place));
    const std::uint64_t then = std::exchange(tasks_stolen_ns_[place], now);
    if (steal_looked_ns_ != 0 && now >= then) tasks_->add_steal(place, now - then);
  }
  steal_looked_ns_ = now_ns;
}

Sighted Pipeline::sighted(const Stream& stream) {
  const LossCounts& lost = stream.losses;
  const std::uint64_t refused = lost.kernel.full + lost.kernel.nmi + lost.kernel.depth + lost.bad + lost.refused;
  return {stream.interrupts + refused, stream.watched.matcher().containment().eligible,
          stream.watched.statistics().totals().detours};
}

// After a drain: first what was asked the last time is judged, then the kernel is asked again.
void Pipeline::look_for_blindness(std::uint64_t now_ns) {
  if (interrupts_ == nullptr) return;
  for (Stream& stream : streams_) {
    stream.blindness.judge(clock_.to_ns(stream.last_ticks), stream.gap_end_ns, sighted(stream));
    stream.losses.blind = stream.blindness.unseen();
  }
  if (!std::exchange(sight_wanted_, false) && now_ns < sight_due_ns_) return;
  const std::vector<std::uint64_t>& counts = interrupts_->read();
  const std::uint64_t read_ns = clocks_.now_ns();
  for (Stream& stream : streams_) {
    const unsigned cpu = stream.loop.cpu();
    const bool observes = stream.first_ns != 0 && !stream.loop.is_aside() && !stream.loop.is_away();
    if (observes && cpu < counts.size()) stream.blindness.look(counts[cpu], read_ns, sighted(stream));
  }
  sight_due_ns_ = now_ns + std::max(kSightIntervalNs, (read_ns - now_ns) * kSightShare);
}

void Pipeline::drain() {
  const std::uint64_t now_ns = clocks_.now_ns();
  drain_intervals_.add(now_ns - drained_ns_);
  drain_intervals_ns_ += now_ns - drained_ns_;
  drained_ns_ = now_ns;
  for (std::size_t index = 0; index < streams_.size(); ++index) read(index);
  if (tasks_ && streams_.empty()) tasks_->read();
  read_origins();
  const std::uint64_t missed = kernel_.missed_runs();
  missed_ = missed != missed_runs_;
  missed_runs_ = missed;
  for (Stream& stream : streams_) join(stream, drained_ns_);
  // After the detours were read, so that each of them lies before this sample.
  if (drained_ns_ - clocked_ns_ >= kClockIntervalNs) {
    clock_.add(clocks_.sample());
    clocked_ns_ = drained_ns_;
  }
  clock_stepped_ = clock_.steps() != clock_steps_;
  clock_steps_ = clock_.steps();
  look_at_steal(drained_ns_);
  for (Stream& stream : streams_) attribute(stream);
  look_for_blindness(clocks_.now_ns());
  if (tasks_) tasks_->join(drained_ns_, missed_runs_, origins_missing_);
  staged_share_ = feed_.staged_share();
  feed_.commit();
  if (snapshots_.wanted()) snapshots_.answer([this](Snapshot& snapshot) { fill(snapshot); });
}

// What the feed has no room for is counted all the same, and only not shown: half of its room is as much as an eighth
// of a ring.
double Pipeline::take_fullness() { return std::max(kernel_.take_fullness(), staged_share_ / 4); }

void Pipeline::record_to(PipelineSink* sink) {
  sink_ = sink;
  if (tasks_) tasks_->record_to(sink);
  if (sink_ == nullptr) return;
  for (const Stream& stream : streams_) {
    if (stream.first_ns != 0) sink_->begins(stream.index, stream.first_ns);
    for (const Interval& interval : stream.watched.matcher().waiting()) sink_->waits(stream.index, interval);
  }
}

void Pipeline::finish() {
  drain();
  for (Stream& stream : streams_) {
    stream.watched.finish(clock_.to_ns(stream.loop.progress().last_ticks.load(std::memory_order_acquire)));
  }
}

void Pipeline::fill_cpu(const Stream& stream, SnapshotDetail detail, CpuSnapshot& cpu) const {
  const LoopProgress& progress = stream.loop.progress();
  const WatchedCpu& watched = stream.watched;
  cpu.cpu = stream.loop.cpu();
  cpu.has_loop = true;
  cpu.watches_tasks = false;
  cpu.current.reset();
  cpu.threshold_ns = watched.options().threshold_ns;
  cpu.iterations = progress.iterations.load(std::memory_order_relaxed);
  cpu.blind_ns = stream.blind_ns;
  cpu.observed_ns = stream.observed_ns;
  cpu.steal_ns = watched.steal().stolen_ns();
  cpu.steal_step_ns = watched.steal().step_ns();
  cpu.smi_count = stream.loop.smi_count();
  cpu.containment = watched.matcher().containment();
  // A file read: for recordings, once a second, and at the end, when it is none; not for those who ask for a report.
  const bool wanted = detail == SnapshotDetail::counts || !stream.loop.is_running();
  cpu.switches = wanted ? stream.loop.switches() : std::nullopt;
  if (detail == SnapshotDetail::counts) return;
  if (detail == SnapshotDetail::all) {
    watched.statistics().copy_to(cpu.statistics);
  } else {
    watched.statistics().copy_summary_to(cpu.statistics);
  }
}

void Pipeline::fill(Snapshot& snapshot) const {
  snapshot.lost = ReportLost{};
  snapshot.orphan_intervals = 0;
  snapshot.cpus.resize(streams_.empty() && tasks_ ? tasks_->size() : streams_.size());
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    const Stream& stream = streams_[index];
    fill_cpu(stream, snapshot.detail, snapshot.cpus[index]);
    add_losses(stream.loop.cpu(), stream.losses, snapshot.lost);
    snapshot.lost.incomplete_detours += stream.watched.statistics().totals().incomplete_detours;
    snapshot.orphan_intervals += stream.watched.matcher().orphans();
  }
  if (tasks_) tasks_->fill(snapshot);
  if (aside_) snapshot.aside = aside_();
  snapshot.clock = clock_of(snapshot, clock_.uncertainty_ns());
  // Now, not at the last drain: the loops have published their progress since.
  snapshot.elapsed_ns = clocks_.now_ns() - started_ns_;
  snapshot.programs = kernel_.programs();
  for (const ProgramView& program : snapshot.programs) snapshot.lost.missed_runs += program.missed;
  add_loss({}, "missed_run", snapshot.lost.missed_runs, snapshot.lost);
  add_loss({}, "origin_ring_full", kernel_.lost_origins(), snapshot.lost);
  add_loss({}, "bad_record", bad_origins_, snapshot.lost);
  add_loss({}, "clock_step", clock_.steps(), snapshot.lost);
  snapshot.drain_interval_ns = drain_interval_ns_;
  snapshot.drain_intervals = drain_intervals_;
  snapshot.drain_intervals_ns = drain_intervals_ns_;
}

}  // namespace noised
