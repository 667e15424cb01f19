// SPDX-License-Identifier: Apache-2.0
// Two CPUs under a random load that is the same every time, measured, recorded, and told as it happened.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "account/detour_feed.h"
#include "account/loop_cpu.h"
#include "account/lost_counts.h"
#include "account/report_builder.h"
#include "account/sink.h"
#include "recording/player.h"
#include "recording/recorder.h"
#include "recording/recording_file.h"
#include "unit/base/temporary_directory.h"
#include "views/views.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::probe;
using namespace noised::recording;
using namespace noised::system;

/// What the daemon does with its two streams, without a kernel.
class RecordedRun : public Recordable {
 public:
  RecordedRun() {
    description.start = "2026-01-01T00:00:00Z";
    cpus_.emplace_back(WatchOptions{.cpu = 1, .threshold_ns = 200}, sources);
    cpus_.emplace_back(WatchOptions{.cpu = 3, .threshold_ns = 200, .outside = Kind::hardware}, sources);
  }

  void fill(Snapshot& snapshot) const override {
    snapshot.drained_ns = now_ns_ - reading_ns;
    snapshot.elapsed_ns = now_ns_;
    snapshot.orphan_intervals = cpus_[0].matcher().orphans() + cpus_[1].matcher().orphans();
    snapshot.lost = ReportLost{};
    add_loss(1U, "loop_moved", moved_, snapshot.lost);
    snapshot.cpus.resize(cpus_.size());
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      CpuSnapshot& cpu = snapshot.cpus[i];
      cpu.cpu = cpus_[i].options().cpu;
      cpu.threshold_ns = cpus_[i].options().threshold_ns;
      cpu.observed_ns = now_ns_ - cpus_[i].blind_ns();
      cpu.blind_ns = cpus_[i].blind_ns();
      cpu.iterations = now_ns_ / 10;
      snapshot.lost.incomplete_detours += cpus_[i].statistics().totals().incomplete_detours;
      cpu.containment = cpus_[i].matcher().containment();
      if (snapshot.detail == SnapshotDetail::all) cpus_[i].statistics().copy_to(cpu.statistics);
    }
    snapshot.clock = clock_of(snapshot, 25);
  }
  void record_to(PipelineSink* sink) override {
    sink_ = sink;
    if (sink == nullptr) return;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      sink->begins(i, 1);
      for (const Interval& interval : cpus_[i].matcher().waiting()) sink->waits(i, interval);
    }
  }

  /// So many detours on each CPU, then the end of a drain. Its last detours end in the next.
  void drain(Recorder* recorder, std::size_t count) {
    for (std::size_t i = 0; i < 2 * count; ++i) step(i % 2);
    if (recorder != nullptr) recorder->after_drain(*this);
  }

  [[nodiscard]] Report report() const {
    Snapshot snapshot;
    fill(snapshot);
    return build_report(snapshot, sources, {status.host, status.kernel, description.start, status.unsupported});
  }

  SourceTable sources{{{"task:crond", Category::io}}};
  StatusView status = some_status();
  Description description;
  std::vector<std::string> detours;  ///< as JSON, in order
  std::uint64_t intervals = 0;
  std::uint64_t reading_ns = 0;  ///< how long the last drain lasts
  bool wakers = false;           ///< entries tell them

 private:
  static StatusView some_status() {
    StatusView status;
    status.host = "node";
    status.kernel = "6.1";
    status.policy = "other";
    status.unsupported = {"nothing of it"};
    return status;
  }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_() % (high - low + 1); }

  void add(std::size_t cpu, const Interval& interval) {
    cpus_[cpu].add(interval);
    ++intervals;
    if (sink_ != nullptr) sink_->interval(cpu, interval);
  }

  // What a detour's intervals are is known a step before the detour is, as where a detour lasts over a drain.
  void step(std::size_t cpu) {
    if (pending_[cpu].end_ns != 0) end_detour(cpu);
    now_ns_ += between(20'000, 400'000);
    const std::uint64_t start_ns = now_ns_;
    if (between(0, 50) == 0) return gap(cpu);
    std::uint64_t at = start_ns + between(50, 400);
    for (std::uint64_t n = between(0, 3); n > 0; --n) at = nest(cpu, at) + between(1, 500);
    if (between(0, 20) == 0) at += 5'000'000;  // the host
    pending_[cpu] = {start_ns, at + between(50, 400), between(0, 30) == 0};
    now_ns_ = pending_[cpu].end_ns;
  }
  std::uint64_t nest(std::size_t cpu, std::uint64_t at) {
    const std::string name = std::string(1, static_cast<char>('a' + between(0, 20)));
    const SourceId outer = between(0, 9) == 0 ? sources.intern(Kind::task, "crond") : sources.intern(Kind::irq, name);
    const SourceId inner = sources.intern(Kind::hrtimer, name);
    const std::uint64_t inner_at = at + between(100, 1'000);
    const std::uint64_t inner_end = inner_at + between(0, 5'000);
    const std::uint64_t end = inner_end + between(100, 1'000);
    add(cpu, {inner_at, inner_end, inner, Kind::hrtimer, 0, 0xffffffff81000000 + between(0, 1'000), 0});
    add(cpu, {at, end, outer, sources.at(outer).kind, NOISED_FLAG_SPLIT, between(1, 100'000), 0});
    return end;
  }
  void gap(std::size_t cpu) {
    const Detour gap{now_ns_, now_ns_ + 1'000'000, false};
    now_ns_ = gap.end_ns;
    ++moved_;
    cpus_[cpu].skip(gap);
    if (sink_ != nullptr) sink_->gap(cpu, GapKind::moved, gap);
  }
  void end_detour(std::size_t cpu) {
    const Detour detour = pending_[cpu];
    pending_[cpu] = {};
    if (detour.end_ns - detour.start_ns > 5'000'000) {
      const StealWindow window{detour.start_ns - 1'000, detour.end_ns + 10, 4'990'000};
      cpus_[cpu].add(window);
      if (sink_ != nullptr) sink_->stolen(cpu, window);
    }
    const DetourLedger& ledger = cpus_[cpu].add(detour, 25);
    const auto describe = [&](const DetourLedger&, std::size_t index, FeedDetour& to) {
      if (index % 2 == 0 || wakers) to.add_detail(DetailKey::pid, detour.start_ns % 1'000);
      if (wakers) to.add_detail(DetailKey::waker, detour.start_ns % 3 == 0 ? "mywaker" : "theirs");
      if (detour.start_ns % 40 == 0) to.add_detail(DetailKey::service, std::string(250, 'x'));  // soon there is no room
    };
    FeedDetour shown;
    to_feed(cpus_[cpu].options().cpu, ledger, sources, describe, shown);
    detours.push_back(views::to_json(to_view(shown, sources)));
    if (sink_ != nullptr) sink_->detour(cpu, ledger, 25, shown);
  }

  std::mt19937_64 random_;  // NOLINT(cert-msc51-cpp): the same every time
  std::deque<LoopCpu> cpus_;
  std::vector<Detour> pending_ = std::vector<Detour>(2);
  PipelineSink* sink_ = nullptr;
  std::uint64_t now_ns_ = 0;
  std::uint64_t moved_ = 0;
};

/// The detours of a recording, as JSON, in order.
class DetourTexts : public PlayerVisitor {
 public:
  explicit DetourTexts(const Playback& playback) : playback_(playback) {}
  void interval(std::size_t /*cpu*/, const Interval& /*interval*/) override { ++intervals; }
  void detour(std::size_t cpu, const DetourLedger& ledger, std::string_view details) override {
    texts.push_back(views::to_json(to_view(playback_, cpu, ledger, details)));
  }

  std::vector<std::string> texts;
  std::uint64_t intervals = 0;

 private:
  const Playback& playback_;
};

/// Writes everything that the recorder has to a file.
inline void write_blocks(Recorder& recorder, BlockWriter& file) {
  while (const auto block = recorder.front()) {
    REQUIRE((block->kind == BlockKind::end ? file.finish() : file.add(block->kind, block->bytes)));
    recorder.pop();
  }
}

/// The end of a run that was recorded.
inline void finish(RecordedRun& run, Recorder& recorder) {
  Snapshot snapshot;
  run.fill(snapshot);
  recorder.finish(snapshot);
}

/// Records so many drains of a run, and its end, to a new file.
inline void record_drains(RecordedRun& run, const std::string& path, int drains) {
  Recorder recorder(run.sources, run.status, run.description, 4096);
  auto file = create_recording(path);
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  for (int i = 0; i < drains; ++i) {
    run.drain(&recorder, 10);
    write_blocks(recorder, file.value());
  }
  finish(run, recorder);
  write_blocks(recorder, file.value());
}

}  // namespace noised::test
