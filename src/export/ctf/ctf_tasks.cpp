// SPDX-License-Identifier: Apache-2.0
// A wait is told after the run that follows it, which may have gone on for hours: to put both into one stream, in order
// of time, all that came in those hours would have to be held. Each of the three streams comes in order.
#include "export/ctf/ctf_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "export/ctf/ctf_metadata.h"
#include "export/ctf/ctf_stream.h"
#include "export/export.h"

namespace noised::exports {
namespace {

std::uint8_t as_byte(bool value) { return value ? 1 : 0; }

struct Streams {
  CtfStream intervals;
  CtfStream interruptions;
  CtfStream tasks;
};

class TaskFiller : public recording::PlayerVisitor {
 public:
  explicit TaskFiller(const recording::Playback& playback) : playback_(playback) {}

  Status open(NewDirectory& directory) {
    for (std::size_t i = 0; i < playback_.description().base.cpus.size(); ++i) {
      const unsigned cpu = playback_.cpu_number(i);
      auto intervals = directory.file(fmt::format("cpu_{}", cpu));
      if (!intervals) return intervals.error();
      auto interruptions = directory.file(fmt::format("interruptions_{}", cpu));
      if (!interruptions) return interruptions.error();
      auto tasks = directory.file(fmt::format("tasks_{}", cpu));
      if (!tasks) return tasks.error();
      streams_.push_back(std::make_unique<Streams>(Streams{CtfStream(std::move(intervals).value(), cpu),
                                                           CtfStream(std::move(interruptions).value(), cpu),
                                                           CtfStream(std::move(tasks).value(), cpu)}));
    }
    return success();
  }

  void interval(std::size_t cpu, const Interval& interval) override {
    fields_.clear();
    put(fields_, interval.source);
    put(fields_, interval.id);
    put(fields_, interval.flags);
    put(fields_, interval.end_ns - interval.start_ns);
    streams_[cpu]->intervals.event(ctf_whole(interval.kind), interval.end_ns, fields_);
  }

  void loss(std::size_t cpu, const account::Loss& loss, const account::DetourLedger& ledger,
            std::string_view /*details*/) override {
    fields_.clear();
    put(fields_, loss.pid);
    put(fields_, loss.name);
    put(fields_, loss.waited_ns);
    put(fields_, ledger);
    Streams& streams = *streams_[cpu];
    CtfStream& to = loss.kind == account::LossKind::interrupted ? streams.interruptions : streams.tasks;
    to.event(ctf_loss(loss.kind), ledger.detour.end_ns, fields_);
  }

  void ran(std::size_t cpu, const account::TaskRun& run, const account::RunFacts& facts) override {
    fields_.clear();
    put(fields_, run.pid);
    put(fields_, run.tgid);
    put(fields_, run.name);
    put(fields_, run.end_ns - run.start_ns);
    for (const bool flag : {run.preempted, run.ended, facts.migrated}) put(fields_, as_byte(flag));
    for (const std::uint32_t count :
         {facts.voluntary, facts.involuntary, facts.minor_faults, facts.major_faults, facts.unseen_runs})
      put(fields_, count);
    put(fields_, facts.unseen_wait_ns);
    streams_[cpu]->tasks.event(kCtfRun, run.end_ns, fields_);
  }

  /// As of the last checkpoint that was played.
  void count_losses() {
    const LossesByCpu losses = losses_by_cpu(playback_, playback_.counts().status.lost);
    for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i]->intervals.lost(losses.on[i]);
  }
  [[nodiscard]] bool good() const {
    return std::ranges::all_of(streams_, [](const auto& each) {
      return each->intervals.good() && each->interruptions.good() && each->tasks.good();
    });
  }
  /// Returns how many events got a later time.
  Result<std::uint64_t> finish() {
    tell_running();
    std::uint64_t moved = 0;
    for (const auto& each : streams_) {
      for (CtfStream* const stream : {&each->intervals, &each->interruptions, &each->tasks}) {
        if (Status finished = stream->finish(); !finished) return finished.error();
        moved += stream->moved();
      }
    }
    return moved;
  }

 private:
  // Those that still have a CPU: how long, as far as it is known.
  void tell_running() {
    for (const recording::RunningTask& each : playback_.running()) {
      fields_.clear();
      put(fields_, each.task.pid);
      put(fields_, each.until_ns - std::min(each.until_ns, each.task.start_ns));
      streams_[each.cpu]->tasks.event(kCtfRunning, each.until_ns, fields_);
    }
  }

  const recording::Playback& playback_;
  std::vector<std::unique_ptr<Streams>> streams_;  // by place of the CPU
  std::string fields_;
};

}  // namespace

Result<std::uint64_t> write_ctf_tasks(recording::Player& player, NewDirectory& directory, const Progress& progress) {
  TaskFiller filler(player.playback());
  if (Status opened = filler.open(directory); !opened) return opened.error();
  Status all = play_all(player, filler, progress, [&filler] {
    filler.count_losses();
    return filler.good();
  });
  if (!all) return all.error();
  return filler.finish();
}

}  // namespace noised::exports
