// SPDX-License-Identifier: Apache-2.0
// Draining and joining.
#include "pipeline/pipeline.h"

#include <algorithm>
#include <functional>

#include "base/monotonic.h"

namespace noised {
namespace {

// More than a ring of any size holds: a drain ends even if the kernel produces faster than we read.
constexpr std::size_t kDrainLimit = std::size_t{1} << 20U;

}  // namespace

Pipeline::Pipeline(Tracer& tracer, std::vector<std::unique_ptr<Probe>>& probes, ClockMap& clock, SourceTable& sources,
                   Names& names, std::uint64_t threshold_ns, Kind outside)
    : tracer_(tracer), clock_(clock), sources_(sources), names_(names) {
  for (auto& probe : probes) {
    WatchOptions options;
    options.cpu = probe->cpu();
    options.threshold_ns = threshold_ns;
    options.outside = outside;
    streams_.emplace_back(*probe, options, sources);
  }
  started_ns_ = monotonic_ns();
  for (Stream& stream : streams_) stream.looked_ns = started_ns_;
}

void Pipeline::read(std::size_t index) {
  Stream& stream = streams_[index];
  stream.popped.clear();
  stream.probe.ring().pop_all(stream.popped);
  stream.unseen_ns.clear();
  std::uint64_t refused = 0;
  const auto sink = [&](const noised_record& record, const char* comm) {
    if ((record.flags & NOISED_FLAG_UNSEEN) != 0) {
      stream.unseen_ns.push_back(record.start_ns);
      return;
    }
    const Interval interval{record.start_ns, record.start_ns + record.duration_ns, names_.resolve(record, comm),
                            static_cast<Kind>(record.kind), record.flags};
    if (!stream.watched.add(interval)) ++refused;
  };
  tracer_.drain(index, kDrainLimit, std::cref(sink));  // by reference: a copy would be allocated every time
  note_unseen_return(stream);
  note_losses(stream, refused);
}

// The mark of a switch that ran no program comes with the next one that does. Until then, the kernel's last word is
// that another task has the CPU, and yet the loop goes on. A true switch is younger than every detour popped before it
// was read here, so this touches no other detour.
void Pipeline::note_unseen_return(Stream& stream) {
  const volatile noised_cpu& state = tracer_.state(stream.probe.cpu());
  const std::uint64_t switched_ns = state.task_start_ns;
  if (switched_ns != 0 && state.current_pid != state.probe_pid) stream.unseen_ns.push_back(switched_ns);
}

bool Pipeline::in_doubt(const Stream& stream, const Detour& detour) {
  if (detour.end_ns >= stream.doubt_from_ns && detour.start_ns <= stream.doubt_until_ns) return true;
  const auto first = std::lower_bound(stream.unseen_ns.begin(), stream.unseen_ns.end(), detour.start_ns);
  return first != stream.unseen_ns.end() && *first <= detour.end_ns;
}

// Whatever was lost was lost between the last look at the counters and this one: every detour that touches that time is
// in doubt, those of the next drain too that began before it.
void Pipeline::note_losses(Stream& stream, std::uint64_t refused) {
  const std::uint64_t looked_ns = monotonic_ns();
  const LostCounters lost = tracer_.lost(stream.probe.cpu());
  const std::uint64_t detours_lost = stream.probe.ring().lost();
  stream.lost.unseen = lost.unseen;  // a mark says itself which detour it touches
  if (refused != 0 || lost != stream.lost || detours_lost != stream.detours_lost) {
    if (stream.doubt_until_ns < stream.looked_ns) stream.doubt_from_ns = stream.looked_ns;
    stream.doubt_until_ns = monotonic_ns();
  }
  stream.looked_ns = looked_ns;
  stream.lost = lost;
  stream.detours_lost = detours_lost;
  stream.refused += refused;
}

void Pipeline::attribute(Stream& stream) {
  const LoopProgress& progress = stream.probe.progress();
  if (stream.first_ns == 0 && progress.last_ticks.load(std::memory_order_acquire) != 0) {
    stream.first_ns = clock_.to_ns(progress.first_ticks.load(std::memory_order_relaxed));
    stream.watched.begin(stream.first_ns);
  }
  const std::uint64_t tolerance_ns = clock_.uncertainty_ns();
  const bool clock_stepped = clock_.steps() != clock_steps_;
  const WatchOptions& options = stream.watched.options();
  for (const TickDetour& ticks : stream.popped) {
    if (ticks.end_ticks < ticks.start_ticks) {  // the counter itself went back: there is no such time
      ++stream.impossible;
      continue;
    }
    Detour detour{clock_.to_ns(ticks.start_ticks), clock_.to_ns(ticks.end_ticks), false};
    detour.in_doubt = clock_stepped || in_doubt(stream, detour);
    const Ledger& ledger = stream.watched.add(detour, tolerance_ns);
    feed_.add(to_feed(options.cpu, ledger, options.outside, sources_));
  }
}

void Pipeline::drain() {
  for (std::size_t index = 0; index < streams_.size(); ++index) read(index);
  // After the detours were read, so that each of them lies before this sample.
  clock_.add(read_clock_sample());
  for (Stream& stream : streams_) attribute(stream);
  clock_steps_ = clock_.steps();
  feed_.commit();
  if (snapshots_.wanted()) snapshots_.answer([this](Snapshot& snapshot) { fill(snapshot); });
}

void Pipeline::finish() {
  drain();
  for (Stream& stream : streams_) {
    stream.watched.finish(clock_.to_ns(stream.probe.progress().last_ticks.load(std::memory_order_acquire)));
  }
}

void Pipeline::fill(Snapshot& snapshot) const {
  snapshot.lost = ReportLost{};
  snapshot.orphan_intervals = 0;
  snapshot.cpus.resize(streams_.size());
  Containment containment;
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    const Stream& stream = streams_[index];
    const LoopProgress& progress = stream.probe.progress();
    CpuSnapshot& cpu = snapshot.cpus[index];
    cpu.cpu = stream.probe.cpu();
    cpu.threshold_ns = stream.watched.options().threshold_ns;
    cpu.iterations = progress.iterations.load(std::memory_order_relaxed);
    const std::uint64_t last = progress.last_ticks.load(std::memory_order_acquire);
    const std::uint64_t storing = progress.storing_ticks.load(std::memory_order_relaxed);
    cpu.observed_ns = last == 0 ? 0 : clock_.to_ns(last - storing) - clock_.to_ns(progress.first_ticks.load());
    stream.watched.statistics().copy_to(cpu.statistics);
    snapshot.lost.events += stream.lost.full + stream.lost.nmi + stream.lost.depth + stream.refused;
    snapshot.lost.detours += stream.detours_lost + stream.impossible;
    snapshot.lost.unpaired += stream.lost.unpaired + stream.lost.unseen;
    snapshot.lost.incomplete_detours += stream.watched.statistics().totals().incomplete_detours;
    containment.eligible += stream.watched.matcher().containment().eligible;
    containment.contained += stream.watched.matcher().containment().contained;
    snapshot.orphan_intervals += stream.watched.matcher().orphans();
  }
  snapshot.clock = ReportClock{"tsc", clock_.uncertainty_ns(), containment.share()};
  // Now, not at the last drain: the loops have published their progress since.
  snapshot.elapsed_ns = monotonic_ns() - started_ns_;
  snapshot.programs = tracer_.programs();
  for (const ProgramView& program : snapshot.programs) snapshot.lost.missed_runs += program.missed;
}

}  // namespace noised
