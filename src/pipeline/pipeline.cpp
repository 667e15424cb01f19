// SPDX-License-Identifier: Apache-2.0
// Draining and joining.
#include "pipeline/pipeline.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace noised::pipeline {
namespace {

// A busy drain has 1,250 intervals of one CPU at 50,000 a second.
constexpr std::size_t kIntervals = 16384;
// Readers may ask for drains at any rate; samples closer than this would make segments of the clock too short to be
// exact, and the remembered ones too few.
constexpr std::uint64_t kClockIntervalNs = 5'000'000;
// An interrupt spoils a reading, seldom two of them.
constexpr int kClockTries = 3;
// A detour whose ends are not known better than that is in doubt, and no interval beyond its ends is taken for its.
constexpr std::uint64_t kLargestToleranceNs = 10'000;
// A blind CPU is told within two of these. Where reading the kernel's counts takes longer than a thousandth of it, on
// machines with many CPUs and devices, it comes as much more rarely.
constexpr std::uint64_t kSightIntervalNs = 2'000'000'000;
constexpr std::uint64_t kSightShare = 1000;

// A rest takes a tenth of that at most.
constexpr std::uint64_t kStuckNs = 2'000'000'000;

// By place.
std::vector<unsigned> cpus_of(std::span<probe::MeasuringLoop* const> loops, const PipelineOptions& options) {
  if (!options.watched_cpus.empty()) return options.watched_cpus;
  std::vector<unsigned> cpus;
  for (const probe::MeasuringLoop* const loop : loops) cpus.push_back(loop->cpu());
  return cpus;
}

}  // namespace

Pipeline::Stream::Stream(const StreamParts& parts, std::size_t at, probe::MeasuringLoop& of,
                         const account::WatchOptions& options, const SourceTable& sources, std::uint64_t now_ns)
    : CpuStream(parts, of.cpu(), kIntervals, now_ns), place(at), loop(of), watched(options, sources) {
  popped.reserve(of.ring().capacity());
  stolen.reserve(account::StealMarks::kWindows);
}

Pipeline::Pipeline(system::KernelEvents& kernel, std::span<probe::MeasuringLoop* const> loops, system::ClockMap& clock,
                   SourceTable& sources, system::Names& names, const PipelineOptions& options)
    : kernel_(kernel),
      clocks_(options.clocks),
      drain_clock_(clocks_.now_ns),
      clock_(clock),
      sources_(sources),
      names_(names),
      name_owners_(options.notes_owners ? std::make_unique<NameOwners>(sources.chosen()) : nullptr),
      chains_(names, sources, services_, name_owners_.get()),
      public_names_(options.names_services ? std::make_unique<PublicNames>(sources, chains_, services_) : nullptr),
      steal_(kernel, options.steal_clock, cpus_of(loops, options), clocks_.now_ns()),
      proves_steal_(options.proves_steal),
      interrupts_(options.interrupts),
      counted_vectors_(interrupts_ == nullptr ? 0 : interrupts_->vectors()),
      feed_(options.feed_size, cpus_of(loops, options).size()),
      started_ns_(clocks_.now_ns()),
      drained_ns_(started_ns_),
      turned_ns_(started_ns_) {
  const StreamParts stream_parts{kernel_, names, drain_clock_};
  const std::vector<unsigned> cpus = cpus_of(loops, options);
  for (probe::MeasuringLoop* const loop : loops) {
    account::WatchOptions watch;
    watch.cpu = loop->cpu();
    watch.threshold_ns = options.threshold_ns;
    watch.outside = options.outside;
    const auto place = static_cast<std::size_t>(std::ranges::find(cpus, loop->cpu()) - cpus.begin());
    streams_.emplace_back(stream_parts, place, *loop, watch, sources, started_ns_);
  }
  if (!options.watched_cpus.empty()) {
    TaskPipelineOptions tasks{options.watched_cpus, options.outside, {}, loops.empty()};
    tasks.counters.resize(cpus.size());
    const PipelineParts parts{stream_parts, sources_, chains_, feed_, public_names_.get(), name_owners_.get()};
    for (Stream& stream : streams_) tasks.counters[stream.place] = &stream.watched.counter();
    tasks_ = std::make_unique<TaskPipeline>(parts, tasks, started_ns_);
  }
  missed_runs_ = kernel_.missed_runs();
  lost_origins_ = kernel_.lost_origins();
}

void Pipeline::take(Stream& stream, const noised_record& record, const char* comm) const {
  const system::Meaning meaning = stream.take(record, comm);
  if (meaning == system::Meaning::stolen && proves_steal_)
    stream.stolen.push_back({record.start_ns, record.start_ns + record.duration_ns, record.id});
  if (meaning == system::Meaning::stopped) stream.doubt().stopped_ns().push_back(record.start_ns);
  if (meaning != system::Meaning::interval || record.kind != NOISED_KIND_VECTOR) return;
  if ((counted_vectors_ >> (record.id % 32) & 1U) != 0) ++stream.interrupts;
}

// A record tells how its CPU was watched when it was made.
void Pipeline::take_either(Stream& stream, const noised_record& record, const char* comm,
                           const noised_run_record* run) {
  const bool is_of_tasks = record.watched == NOISED_WATCH_TASKS || record.watched == NOISED_WATCH_IDLE;
  if (!tasks_ || !is_of_tasks) return take(stream, record, comm);
  tasks_->take(stream.place, record, comm, run);
  const std::uint64_t end_ns = record.start_ns + record.duration_ns;
  const bool is_loop = record.kind == NOISED_KIND_TASK && record.id == kernel_.state(stream.loop.cpu()).probe_pid;
  if (is_loop && (stream.left.empty() || stream.left.back() <= end_ns)) stream.left.push_back(end_ns);
}

void Pipeline::read(Stream& stream) {
  stream.popped.clear();
  // Before its detours are: what is observed until then, and blind, is among them.
  stream.last_ticks = stream.loop.progress().last_ticks.load(std::memory_order_acquire);
  stream.storing_ticks = stream.loop.progress().storing_ticks.load(std::memory_order_relaxed);
  stream.loop.ring().pop_all(stream.popped);
  stream.begin_drain();
  stream.stolen.clear();
  if (tasks_) tasks_->begin_read(stream.place);
  const auto sink = [&](const noised_record& record, const char* comm, const noised_run_record* run) {
    take_either(stream, record, comm, run);
  };
  kernel_.drain(stream.place, account::kDrainLimit,
                std::cref(sink));  // by reference: a copy would be allocated every time
  if (tasks_) tasks_->end_read(stream.place);
  note_unseen_return(stream);
}

// The mark of a switch that ran no program comes with the next one that does. Until then, the kernel's last word is
// that another task has the CPU, and yet the loop goes on. A true switch is younger than every detour popped before it
// was read here, so this touches no other detour.
void Pipeline::note_unseen_return(Stream& stream) {
  const volatile noised_cpu& state = kernel_.state(stream.loop.cpu());
  if (state.watched != NOISED_WATCH_LOOP || stream.loop.is_aside()) return;
  const std::uint64_t switched_ns = state.task_start_ns;
  if (switched_ns != 0 && state.current_pid != state.probe_pid) stream.doubt().unseen_ns().push_back(switched_ns);
}

void Pipeline::read_origins() {
  std::uint64_t bad = 0;
  const auto sink = [&](const noised_origin& origin) {
    if (!system::is_sound(origin, drain_clock_.latest_ns(origin.time_ns))) {
      ++bad;
      return;
    }
    for (Stream& stream : streams_) stream.take(origin);
    if (tasks_) tasks_->take(origin);
  };
  const bool complete = kernel_.drain_origins(std::cref(sink));
  const std::uint64_t lost = kernel_.lost_origins();
  origins_missing_ = !complete || lost != lost_origins_ || bad != 0;
  lost_origins_ = lost;
  bad_origins_ += bad;
}

// What is lost of a loop alone is the detours that its ring had no room for.
bool Pipeline::note_losses(Stream& stream) const {
  const std::uint64_t began_ns = clocks_.now_ns();
  account::LossCounts& losses = stream.losses();
  const std::uint64_t detours = std::exchange(losses.detours, stream.loop.ring().lost());
  losses.samples = stream.loop.ring().lost_samples();
  return stream.note_losses(missed_ || losses.detours != detours, began_ns);
}

// From intervals to intervals with causes.
void Pipeline::join(Stream& stream, std::uint64_t began_ns) {
  stream.begin_join(!note_losses(stream) && !origins_missing_, began_ns);
  // What was sent there before the loop was, was answered unseen: its first interrupt would answer all of it.
  const probe::LoopProgress& progress = stream.loop.progress();
  if (stream.first_ns == 0 && progress.last_ticks.load(std::memory_order_acquire) != 0)
    stream.causes().unobserved_until(clock_.to_ns(progress.first_ticks.load(std::memory_order_relaxed)));
  auto gap = stream.popped.cbegin();
  for (Interval& interval : stream.intervals()) {
    pass_gaps(stream, gap, interval.end_ns);
    stream.set_cause(interval);
    if (stream.watched.add(interval)) {
      if (sink_ != nullptr) sink_->interval(stream.place, interval);
      continue;
    }
    ++stream.losses().refused;
    stream.doubt().look(true, began_ns, clocks_.now_ns());
  }
  pass_gaps(stream, gap, UINT64_MAX);
  stream.settle(began_ns);
}

// Forgets, for what ended later, the causes of what was not observed.
void Pipeline::pass_gaps(Stream& stream, std::vector<probe::TickDetour>::const_iterator& gap,
                         std::uint64_t until_ns) const {
  for (; gap != stream.popped.cend(); ++gap) {
    if (gap->kind == probe::GapKind::detour || gap->kind == probe::GapKind::sample) continue;
    const std::uint64_t end_ns = clock_.to_ns(gap->end_ticks);
    if (end_ns > until_ns) return;
    stream.causes().unobserved_until(end_ns);
  }
}

// Neither stolen nor measured: until the loop is back on its CPU, nobody looked.
void Pipeline::skip(Stream& stream, const Detour& blind, std::uint64_t& count) const {
  ++count;
  stream.gap_end_ns = blind.end_ns;
  stream.watched.skip(blind);
  if (sink_ != nullptr) sink_->gap(stream.place, probe::GapKind::moved, blind);
  stream.causes().forget(drained_ns_);
}

// What the loop saw from the moment when a task took the CPU from it, until it came back from aside, is not the loop's.
// One that was away begins anew: whoever had its CPU before it was back took nothing from it.
bool Pipeline::take_left(Stream& stream, std::uint64_t end_ns, probe::GapKind kind) const {
  const auto later = std::upper_bound(stream.left.begin(), stream.left.end(), end_ns);
  stream.aside |= later != stream.left.begin();
  stream.left.erase(stream.left.begin(), later);
  const bool left = stream.aside && kind != probe::GapKind::moved;
  if (kind == probe::GapKind::rested || kind == probe::GapKind::moved) stream.aside = false;
  return left;
}

void Pipeline::add_detour(Stream& stream, const probe::TickDetour& ticks) {
  if (ticks.kind == probe::GapKind::sample) {
    if (sink_ != nullptr) sink_->sample(stream.place, clock_.to_ns(ticks.start_ticks), ticks.end_ticks);
    return;
  }
  // The counter itself went back, within it or since: there is no such time.
  if (ticks.end_ticks < ticks.start_ticks || (clock_stepped_ && ticks.end_ticks > clock_.newest_ticks())) {
    ++stream.losses().impossible;
    return;
  }
  Detour detour{clock_.to_ns(ticks.start_ticks), clock_.to_ns(ticks.end_ticks), false};
  if (take_left(stream, detour.end_ns, ticks.kind) || ticks.kind == probe::GapKind::rested) {  // meant to be: no loss
    stream.gap_end_ns = detour.end_ns;
    stream.watched.rest(detour);
    if (sink_ != nullptr) sink_->gap(stream.place, probe::GapKind::rested, detour);
    return;
  }
  if (ticks.kind == probe::GapKind::moved) return skip(stream, detour, stream.losses().moved);
  if (stream.doubt().take_stopped(detour)) return skip(stream, detour, stream.losses().stopped);
  const std::uint64_t uncertainty_ns =
      std::max(clock_.uncertainty_ns(ticks.start_ticks), clock_.uncertainty_ns(ticks.end_ticks));
  const bool uncertain = uncertainty_ns > kLargestToleranceNs;
  if (uncertain) ++stream.losses().uncertain;
  const std::uint64_t tolerance_ns = uncertain ? 0 : uncertainty_ns;
  detour.in_doubt = clock_stepped_ || uncertain || stream.doubt().touch(detour);
  const account::DetourLedger& ledger = stream.watched.add(detour, tolerance_ns);
  if (public_names_) public_names_->count(ledger, stream.causes(), drained_ns_, stream.watched.counter());
  if (name_owners_) name_owners_->note(ledger, sources_);
  const auto describe = [&](const account::DetourLedger& described, std::size_t index, account::FeedDetour& to) {
    chains_.describe(described, index, stream.causes(), drained_ns_, to);
  };
  account::FeedDetour& shown = feed_.stage();
  account::to_feed(stream.loop.cpu(), ledger, sources_, std::cref(describe), shown);
  feed_.note(shown);
  if (sink_ != nullptr) sink_->detour(stream.place, ledger, tolerance_ns, shown);
}

void Pipeline::attribute(Stream& stream) {
  const probe::LoopProgress& progress = stream.loop.progress();
  if (stream.first_ns == 0 && progress.last_ticks.load(std::memory_order_acquire) != 0) {
    stream.first_ns = clock_.to_ns(progress.first_ticks.load(std::memory_order_relaxed));
    stream.watched.begin(stream.first_ns);
    if (sink_ != nullptr) sink_->begins(stream.place, stream.first_ns);
  }
  for (const account::StealWindow& window : stream.stolen) {
    stream.watched.add(window);
    if (sink_ != nullptr) sink_->stolen(stream.place, window);
  }
  for (const probe::TickDetour& ticks : stream.popped) add_detour(stream, ticks);
  if (stream.last_ticks != 0)
    stream.watched.settle(clock_.to_ns(stream.last_ticks), clock_.uncertainty_ns(stream.last_ticks));
  note_observed(stream);
}

// It never goes back, though the mapping of old ticks changes, and though blind time may be known before what follows
// it.
void Pipeline::note_observed(Stream& stream) const {
  // One whose CPU was offline when it began: nobody saw that from the start on.
  if (stream.first_ns == 0 && stream.loop.is_away()) stream.blind_ns = stream.absent_ns = drained_ns_ - started_ns_;
  if (stream.first_ns == 0 || stream.last_ticks == 0) return;
  if (stream.absent_ns != 0) stream.absent_ns = stream.first_ns - started_ns_;
  // The gap is stored when the loop is back; until then it is known to be one. It may have begun since this drain did,
  // with the end of a rest, which is in no blind time.
  const bool away = stream.loop.is_away();
  const std::uint64_t since_ticks = stream.loop.progress().last_ticks.load(std::memory_order_acquire);
  const std::uint64_t away_ns = away ? drained_ns_ - std::min(drained_ns_, clock_.to_ns(since_ticks)) : 0;
  stream.blind_ns = std::max(stream.blind_ns, stream.absent_ns + stream.watched.blind_ns() + away_ns);
  const double storing_ns = static_cast<double>(stream.storing_ticks) * 1e9 / clock_.frequency();
  const std::uint64_t unobserved_ns =
      stream.watched.blind_ns() + stream.watched.rested_ns() + static_cast<std::uint64_t>(storing_ns);
  const std::uint64_t last_ns = clock_.to_ns(stream.last_ticks);
  if (last_ns < stream.first_ns + unobserved_ns) return;
  stream.observed_ns = std::max(stream.observed_ns, last_ns - stream.first_ns - unobserved_ns);
}

account::Sighted Pipeline::sighted(const Stream& stream) {
  const account::LossCounts& lost = stream.losses();
  const std::uint64_t refused = lost.kernel.full + lost.kernel.nmi + lost.kernel.depth + lost.bad + lost.refused;
  return {stream.interrupts + refused, stream.watched.matcher().containment().eligible,
          stream.watched.statistics().totals().detours};
}

// After a drain: first what was asked the last time is judged, then the kernel is asked again.
void Pipeline::look_for_blindness(std::uint64_t now_ns) {
  if (interrupts_ == nullptr) return;
  for (Stream& stream : streams_) {
    stream.blindness.judge(clock_.to_ns(stream.last_ticks), stream.gap_end_ns, sighted(stream));
    stream.losses().blind = stream.blindness.unseen();
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

// After the detours were read, so that each of them lies before this sample.
void Pipeline::read_clocks() {
  const bool is_due = drained_ns_ - clocked_ns_ >= kClockIntervalNs;
  if (!is_due && std::ranges::all_of(streams_, [](const Stream& each) { return each.popped.empty(); })) return;
  for (int tries = 0; tries < kClockTries && !clock_.add(clocks_.sample(), !is_due); ++tries) {
  }
  if (is_due) clocked_ns_ = drained_ns_;
}

void Pipeline::drain() {
  const std::uint64_t now_ns = clocks_.now_ns();
  drain_intervals_.add(now_ns - drained_ns_);
  drain_intervals_ns_ += now_ns - drained_ns_;
  drained_ns_ = now_ns;
  const bool asked = snapshots_.take_asked();
  if (name_owners_) name_owners_->begin_drain();
  names_.look(now_ns);
  let_names_go();
  for (Stream& stream : streams_) read(stream);
  if (tasks_) tasks_->read();
  read_origins();
  const system::MissedRuns missed = kernel_.missed_runs();
  missed_ = missed.intervals != missed_runs_.intervals;
  origins_missing_ |= missed.origins != missed_runs_.origins;
  missed_runs_ = missed;
  read_clocks();
  for (Stream& stream : streams_) join(stream, drained_ns_);
  clock_stepped_ = clock_.steps() != clock_steps_;
  clock_steps_ = clock_.steps();
  if (asked) steal_.want();
  steal_.look(drained_ns_, [this](std::size_t place, std::uint64_t stolen_ns, std::uint64_t step_ns) {
    // What was stolen from a loop, and what from the tasks for which it stepped aside, no count tells: nor of tasks
    // that come and go between such CPUs and others.
    if (streams_.empty()) tasks_->share_steal(place, stolen_ns, step_ns);
  });
  for (Stream& stream : streams_) attribute(stream);
  look_for_blindness(clocks_.now_ns());
  if (tasks_) tasks_->join(drained_ns_, missed_runs_, origins_missing_);
  staged_share_ = feed_.staged_share();
  feed_.commit();
  turn_recent();
  if (asked) snapshots_.answer([this](account::Snapshot& snapshot) { fill(snapshot); });
}

// Not while somebody records: the names of a recording are numbered in the order in which they came. Nor while somebody
// reads names: the next time, then.
void Pipeline::let_names_go() {
  if (sink_ != nullptr || !names_.is_crowded()) return;
  feed_.for_each_longest_source([this](SourceId source) { names_.touch(source); });
  std::vector<Departure> silent = names_.silent();
  if (silent.empty()) return;
  const auto held = sources_.try_hold();
  if (!held) return;
  const Departures departures(std::move(silent));
  for (Stream& stream : streams_) stream.watched.counter().let_go(departures);
  if (tasks_) tasks_->let_go(departures);
  names_.let_go(departures.all());
}

// Every 10 s, on the daemon's own CPU: a snapshot without statistics.
void Pipeline::turn_recent() {
  if (drained_ns_ - turned_ns_ < account::kRecentSlotNs) return;
  turned_ns_ = drained_ns_;
  marked_.detail = account::SnapshotDetail::mark;
  fill(marked_);
  account::to_mark(marked_, marks_.turn());
  for (Stream& stream : streams_) stream.watched.counter().recent().turn();
  if (tasks_) tasks_->turn_recent();
}

// What the feed has no room for is counted all the same, and only not shown: half of its room is as much as an eighth
// of a ring.
double Pipeline::take_fullness() { return std::max(kernel_.take_fullness(), staged_share_ / 4); }

void Pipeline::record_to(account::PipelineSink* sink) {
  sink_ = sink;
  if (tasks_) tasks_->record_to(sink);
  if (sink_ == nullptr) return;
  for (const Stream& stream : streams_) {
    if (stream.first_ns != 0) sink_->begins(stream.place, stream.first_ns);
    for (const Interval& interval : stream.watched.matcher().waiting()) sink_->waits(stream.place, interval);
  }
}

void Pipeline::finish() {
  steal_.want();
  drain();
  for (Stream& stream : streams_) {
    stream.watched.finish(clock_.to_ns(stream.loop.progress().last_ticks.load(std::memory_order_acquire)));
  }
}

void Pipeline::fill_cpu(const Stream& stream, const account::Snapshot& wanted, account::CpuSnapshot& cpu) const {
  const account::SnapshotDetail detail = wanted.detail;
  const probe::LoopProgress& progress = stream.loop.progress();
  const account::LoopCpu& watched = stream.watched;
  cpu.cpu = stream.loop.cpu();
  cpu.has_loop = true;
  cpu.watches_tasks = false;
  cpu.current.reset();
  cpu.threshold_ns = watched.options().threshold_ns;
  cpu.iterations = progress.iterations.load(std::memory_order_relaxed);
  cpu.blind_ns = stream.blind_ns;
  cpu.observed_ns = stream.observed_ns;
  cpu.smi_count = stream.loop.smi_count();
  cpu.containment = watched.matcher().containment();
  if (detail == account::SnapshotDetail::recent) cpu.blind_ns += stuck_ns(stream);
  // A file read: for recordings, once a second, and at the end, when it is none; not for those who ask for a report.
  const bool counts = detail == account::SnapshotDetail::counts || !stream.loop.is_running();
  cpu.switches = counts ? stream.loop.switches() : std::nullopt;
  account::copy_statistics(watched.counter(), detail, wanted.recent_slots, cpu);
}

// A detour is told when it is over. One that goes on for so long is in nothing that was counted, and the loop that it
// keeps from observing is not away.
std::uint64_t Pipeline::stuck_ns(const Stream& stream) const {
  // One that steps aside shows no progress until it is back, and then for a moment none yet.
  if (stream.first_ns == 0 || !stream.loop.is_running() || stream.loop.is_away() || tasks_) return 0;
  const std::uint64_t observed_until_ns = clock_.to_ns(stream.last_ticks);
  const std::uint64_t since_ns = drained_ns_ - std::min(drained_ns_, observed_until_ns);
  return since_ns < kStuckNs ? 0 : since_ns;
}

void Pipeline::add_dropped_origins(ReportLost& lost) const {
  account::DroppedOrigins dropped = tasks_ ? tasks_->dropped_origins() : account::DroppedOrigins();
  for (const Stream& stream : streams_) dropped += stream.causes().dropped();
  account::add_loss({}, "wakeups_full", dropped.tasks, lost);
  account::add_loss({}, "sends_full", dropped.interrupts, lost);
  account::add_loss({}, "calls_full", dropped.functions, lost);
}

void Pipeline::fill(account::Snapshot& snapshot) const {
  snapshot.lost = ReportLost{};
  snapshot.orphan_intervals = 0;
  snapshot.bounds.clear();
  snapshot.cpus.resize(tasks_ ? tasks_->size() : streams_.size());
  for (const Stream& stream : streams_) {
    fill_cpu(stream, snapshot, snapshot.cpus[stream.place]);
    account::add_losses(stream.loop.cpu(), stream.losses(), snapshot.lost);
    snapshot.lost.incomplete_detours += stream.watched.statistics().totals().incomplete_detours;
    snapshot.orphan_intervals += stream.watched.matcher().orphans();
    snapshot.bounds.add(stream.watched.bounds());
  }
  if (tasks_) tasks_->fill(snapshot);
  steal_.fill(snapshot);
  if (aside_) snapshot.aside = aside_();
  snapshot.clock = account::clock_of(snapshot, clock_.uncertainty_ns());
  snapshot.drained_ns = drained_ns_ - started_ns_;
  // Now, not at the last drain: the loops have published their progress since.
  snapshot.elapsed_ns = clocks_.now_ns() - started_ns_;
  snapshot.programs = kernel_.programs();
  for (const ProgramView& program : snapshot.programs) snapshot.lost.missed_runs += program.missed;
  account::add_loss({}, "missed_run", snapshot.lost.missed_runs, snapshot.lost);
  account::add_loss({}, "origin_ring_full", kernel_.lost_origins(), snapshot.lost);
  add_dropped_origins(snapshot.lost);
  account::add_loss({}, "bad_record", bad_origins_, snapshot.lost);
  account::add_loss({}, "clock_step", clock_.steps(), snapshot.lost);
  account::add_loss({}, "clock_source", clock_sources_, snapshot.lost);
  if (snapshot.detail >= account::SnapshotDetail::recent) snapshot.before = marks_.begin_of(snapshot.recent_slots);
  snapshot.drain_interval_ns = drain_interval_ns_;
  snapshot.drain_intervals = drain_intervals_;
  snapshot.drain_intervals_ns = drain_intervals_ns_;
}

}  // namespace noised::pipeline
