// SPDX-License-Identifier: Apache-2.0
// Intervals are told in order of their end, streams are in order of time. When a detour is told, every interval before
// it was: so what happened before the detour can be written. What is held is what the player itself holds too, and the
// detour before.
#include "export/ctf/ctf_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "export/ctf/ctf_metadata.h"
#include "export/ctf/ctf_order.h"
#include "export/ctf/ctf_stream.h"
#include "export/export.h"

namespace noised::exports {
namespace {

CtfSpan span_of(CtfSpan::What what, std::uint64_t start_ns, std::uint64_t end_ns) {
  CtfSpan span;
  span.what = what;
  span.interval.start_ns = start_ns;
  span.interval.end_ns = end_ns;
  return span;
}

/// A CPU: its spans until they can be written, and its stream.
class LoopLane {
 public:
  LoopLane(NewFile file, unsigned cpu)
      : stream(std::move(file), cpu), order_([this](const CtfSpan& span, bool end) { write(span, end); }) {}

  void interval(const Interval& interval) {
    CtfSpan span;
    span.interval = interval;
    order_.add(std::move(span));
  }
  void detour(const account::DetourLedger& ledger) {
    release(ledger.detour.start_ns);
    CtfSpan span = span_of(CtfSpan::What::detour, ledger.detour.start_ns, ledger.detour.end_ns);
    put(span.payload, ledger);
    order_.add(std::move(span));
  }
  void gap(std::uint64_t start_ns, std::uint64_t end_ns) {
    release(start_ns);
    order_.add(span_of(CtfSpan::What::gap, start_ns, end_ns));
  }
  /// `whole`: the recording has everything since then. Otherwise what it has begins later, with the next thing.
  void begins(std::uint64_t first_ns, bool whole) {
    pending_ = span_of(CtfSpan::What::observed, first_ns, first_ns);
    put(pending_.payload, first_ns);
    is_pending_ = true;
    if (whole) release(first_ns);
  }
  Status finish() {
    order_.finish();
    return stream.finish();
  }

  CtfStream stream;

 private:
  void release(std::uint64_t before_ns) {
    order_.release(before_ns);
    if (!is_pending_) return;
    is_pending_ = false;
    pending_.interval.start_ns = pending_.interval.end_ns = before_ns;
    order_.add(std::move(pending_));
  }

  void write(const CtfSpan& span, bool end) {
    const Interval& interval = span.interval;
    const std::uint64_t time_ns = end ? interval.end_ns : interval.start_ns;
    fields_.clear();
    switch (span.what) {
      case CtfSpan::What::observed:
        if (end) stream.event(kCtfObservedSince, time_ns, span.payload);
        return;
      case CtfSpan::What::gap:
        if (end) put(fields_, interval.end_ns - interval.start_ns);
        return stream.event(end ? kCtfNotObservedExit : kCtfNotObservedEntry, time_ns, fields_);
      case CtfSpan::What::detour:
        if (end) fields_ = span.payload;
        return stream.event(end ? kCtfDetourExit : kCtfDetourEntry, time_ns, fields_);
      case CtfSpan::What::interval:
        break;
    }
    put(fields_, interval.source);
    put(fields_, interval.id);
    end ? put(fields_, interval.end_ns - interval.start_ns) : put(fields_, interval.flags);
    stream.event(end ? ctf_exit(interval.kind) : ctf_entry(interval.kind), time_ns, fields_);
  }

  CtfOrder order_;
  CtfSpan pending_;
  bool is_pending_ = false;
  std::string fields_;
};
using LoopLanes = std::vector<std::unique_ptr<LoopLane>>;

class CtfFiller : public recording::PlayerVisitor {
 public:
  CtfFiller(const recording::Playback& playback, LoopLanes& lanes)
      : playback_(playback), lanes_(lanes), begun_(lanes.size(), false) {}

  void interval(std::size_t cpu, const Interval& interval) override { lanes_[cpu]->interval(interval); }
  void detour(std::size_t cpu, const account::DetourLedger& ledger, std::string_view /*details*/) override {
    lanes_[cpu]->detour(ledger);
  }
  void gap(std::size_t cpu, std::uint64_t start_ns, std::uint64_t end_ns) override {
    lanes_[cpu]->gap(start_ns, end_ns);
  }
  void begins(std::size_t cpu, std::uint64_t first_ns) override {
    lanes_[cpu]->begins(first_ns, !begun_[cpu] && playback_.description().base.cpus[cpu].observed_ns == 0);
    begun_[cpu] = true;
  }

 private:
  const recording::Playback& playback_;
  LoopLanes& lanes_;
  std::vector<bool> begun_;
};

// As of the last checkpoint that was played. What is lost on no known CPU is told by the metadata alone.
void count_losses(const recording::Playback& playback, LoopLanes& lanes) {
  const LossesByCpu losses = losses_by_cpu(playback, playback.counts().status.lost);
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i]->stream.lost(losses.on[i]);
}

Result<LoopLanes> make_lanes(const recording::Playback& playback, NewDirectory& directory) {
  LoopLanes lanes;
  for (std::size_t i = 0; i < playback.description().base.cpus.size(); ++i) {
    const unsigned cpu = playback.cpu_number(i);
    auto file = directory.file(fmt::format("cpu_{}", cpu));
    if (!file) return file.error();
    lanes.push_back(std::make_unique<LoopLane>(std::move(file).value(), cpu));
  }
  return lanes;
}

bool all_good(const LoopLanes& lanes) {
  return std::all_of(lanes.begin(), lanes.end(), [](const auto& lane) { return lane->stream.good(); });
}

}  // namespace

Result<std::uint64_t> write_ctf_loops(recording::Player& player, NewDirectory& directory, const Progress& progress) {
  auto lanes = make_lanes(player.playback(), directory);
  if (!lanes) return lanes.error();
  CtfFiller filler(player.playback(), lanes.value());
  Status all = play_all(player, filler, progress, [&] {
    count_losses(player.playback(), lanes.value());
    return all_good(lanes.value());
  });
  if (!all) return all.error();
  std::uint64_t moved = 0;
  for (const auto& lane : lanes.value()) {
    if (Status finished = lane->finish(); !finished) return finished.error();
    moved += lane->stream.moved();
  }
  return moved;
}

}  // namespace noised::exports
