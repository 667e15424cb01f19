// SPDX-License-Identifier: Apache-2.0
// Tasks that share two CPUs at random, the same every time: what they lost is counted, recorded and told as it
// happened.
#pragma once

#include "model/watch.h"

#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "account/detour_feed.h"
#include "account/ledger_counter.h"
#include "account/report_builder.h"
#include "account/sink.h"
#include "account/task_run.h"
#include "account/task_watch.h"
#include "account/watch_account.h"
#include "base/clocks.h"
#include "unit/recording/scene.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::recording;
using namespace noised::system;

/// What TaskPipeline does with the records of its rings, without a kernel.
class WatchedRun : public Recordable, private WatchSink {
 public:
  static constexpr std::uint32_t kFirstPid = 100;
  static constexpr std::uint32_t kPids = 12;
  /// Two processes of six threads each.
  static std::uint32_t process_of(std::uint32_t pid) { return pid < kFirstPid + kPids / 2 ? kFirstPid : kFirstPid + 6; }

  /// Begins after any recording of it did; on both CPUs at once, or what happens would not be the same every time: in
  /// one of twelve, the task that has a CPU at the end was one of which a recording does not tell the process yet.
  explicit WatchedRun(std::uint64_t begin_ns = monotonic_ns() + 60'000'000'000)
      : cpus_{Cpu(sources, begin_ns), Cpu(sources, begin_ns)} {
    description.start = "2026-01-01T00:00:00Z";
    status.host = "node";
    status.kernel = "6.1";
    status.mode = "watch";
    status.probe_cpus = "1,3";
  }

  void fill(Snapshot& snapshot) const override {
    snapshot.drained_ns = snapshot.elapsed_ns = now_ns_;
    snapshot.clock = {"tsc", 25, {}, {}};
    snapshot.lost = ReportLost{};
    snapshot.cpus.resize(cpus_.size());
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      CpuSnapshot& cpu = snapshot.cpus[i];
      cpu.cpu = i == 0 ? 1 : 3;
      cpu.has_loop = false;
      cpu.watches_tasks = true;
      cpu.observed_ns = now_ns_;
      cpu.current = cpus_[i].current;
      cpu.current_until_ns = now_ns_;
      snapshot.lost.incomplete_detours += cpus_[i].counter.statistics().totals().incomplete_detours;
      if (snapshot.detail == SnapshotDetail::all) cpus_[i].counter.statistics().copy_to(cpu.statistics);
    }
  }
  void record_to(PipelineSink* sink) override {
    sink_ = sink;
    watch_.tell_in_order(sink != nullptr);
  }
  /// Until it is recorded.
  void tell_by_cpu() { watch_.tell_in_order(false); }

  /// From now on, what tasks lose of which this says so is counted.
  template <typename Chosen>
  void begin_account(std::uint64_t began_ns, Chosen chosen) {
    account_.emplace(sources, began_ns);
    chosen_ = chosen;
  }
  [[nodiscard]] WatchReport watch_report() const {
    WatchReport report;
    account_->fill(report);
    for (const Cpu& cpu : cpus_) {
      if (!cpu.current || !chosen_(cpu.current->pid)) continue;
      CurrentTask current = *cpu.current;
      current.life = watch_.life_of(current);
      account_->add_current(current, now_ns_, report);
    }
    return report;
  }
  [[nodiscard]] Report report() const {
    Snapshot snapshot;
    fill(snapshot);
    return build_report(snapshot, sources, {status.host, status.kernel, description.start, status.unsupported});
  }

  /// So many runs, then the end of a drain. One task has each CPU then.
  void drain(Recorder* recorder, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) step(cpus_[0].now_ns <= cpus_[1].now_ns ? 0 : 1);
    now_ns_ = std::min(cpus_[0].now_ns, cpus_[1].now_ns);
    watch_.settle(now_ns_);
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      const std::uint64_t since_ns = cpus_[i].now_ns;
      now_ns_ = std::max(now_ns_, since_ns);
      const std::uint32_t pid = kFirstPid + static_cast<std::uint32_t>(i);
      cpus_[i].current = CurrentTask{pid, kNoName, 0, since_ns, pid};
    }
    if (recorder != nullptr) recorder->after_drain(*this);
  }

  SourceTable sources;
  StatusView status;
  Description description;
  std::vector<std::string> detours;  ///< as JSON, in order
  std::uint64_t intervals = 0;
  std::uint64_t runs = 0;
  std::size_t most_entries = 0;  ///< of any loss

 private:
  struct Cpu {
    Cpu(const SourceTable& of, std::uint64_t begin_ns) : now_ns(begin_ns), counter(of) {}
    std::uint64_t now_ns;
    LossLedger ledger;
    LedgerCounter counter;
    std::optional<CurrentTask> current;
  };
  struct Task {
    TaskCounts counts;
    std::uint64_t end_ns = 0;
    bool preempted = false;
  };

  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_() % (high - low + 1); }
  bool one_in(std::uint64_t n) { return between(1, n) == 1; }

  void add(std::size_t cpu, const Interval& interval) {
    ++intervals;
    if (sink_ != nullptr) sink_->interval(cpu, interval);
    if (interval.kind != Kind::task || interval.id == 7) watch_.add(cpu, interval);
  }

  // An interrupt, now and then with another one in it.
  std::uint64_t interrupt(std::size_t cpu, std::uint64_t at) {
    const SourceId outer = sources.intern(Kind::irq, std::string(1, static_cast<char>('a' + between(0, 20))));
    const std::uint64_t inner_end = at + between(200, 3'000);
    const std::uint64_t end = inner_end + between(100, 1'000);
    if (one_in(2))
      add(cpu, {at + 100, inner_end, sources.intern(Kind::hrtimer, "tick"), Kind::hrtimer, 0, 0xffffffff81000000, 0});
    add(cpu, {at, end, outer, Kind::irq, NOISED_FLAG_SPLIT, between(1, 100'000), 0});
    return end;
  }

  std::uint64_t interrupts(std::size_t cpu, std::uint64_t at) {
    for (std::uint64_t left = between(0, 6); left != 0; --left) at = interrupt(cpu, at + between(100, 30'000));
    return at + between(100, 30'000);
  }

  // A stretch of a task on a CPU: of the kernel's own, or of one of ours that is on no other CPU.
  void step(std::size_t cpu) {
    std::uint64_t& at = cpus_[cpu].now_ns;
    const std::uint64_t start = at;
    at = interrupts(cpu, at);
    if (one_in(5))
      return add(cpu, {start, at, sources.intern(Kind::task, "kworker/" + std::to_string(cpu)), Kind::task, 0, 7, 0});
    std::uint32_t pid = kFirstPid + static_cast<std::uint32_t>(between(0, kPids - 1));
    while (tasks_[pid].end_ns > start) pid = kFirstPid + (pid - kFirstPid + 1) % kPids;
    run(cpu, pid, start, at);
  }

  void run(std::size_t cpu, std::uint32_t pid, std::uint64_t start, std::uint64_t end) {
    Task& task = tasks_[pid];
    TaskCounts& counts = task.counts;
    const std::uint64_t away_ns = task.end_ns == 0 ? 0 : start - task.end_ns;
    const std::uint32_t unseen = one_in(15) ? 2 : 0;
    counts.runs += 1 + unseen;
    counts.wait_ns += task.preempted ? away_ns : between(0, away_ns);
    task.preempted = one_in(3);
    (task.preempted ? counts.involuntary : counts.voluntary) += 1 + unseen;
    counts.minor_faults += static_cast<std::uint32_t>(between(0, 3));
    counts.major_faults += one_in(9) ? 1 : 0;
    task.end_ns = end;
    const bool ended = one_in(25);
    const SourceId name = sources.intern(Kind::task, one_in(40) ? "renamed" : "rank" + std::to_string(pid));
    const TaskRun run{start, end, pid, process_of(pid), name, 0, task.preempted, ended, counts, {pid, 0}};
    const Interval interval{start, end, name, Kind::task, 0, pid, 0};
    add(cpu, interval);
    watch_.add(cpu, run, interval);
    if (ended) counts = {};
    if (ended) task.preempted = false;
  }

  void lost(std::size_t cpu, const Loss& loss, std::span<const Interval> of) override {
    Loss judged = loss;
    judged.detour.in_doubt |= (loss.detour.end_ns - loss.detour.start_ns) % 30 == 0;
    DetourLedger& ledger = cpus_[cpu].ledger.divide(judged, of);
    ledger.hardware_ns = ledger.hypervisor_ns / 2;  // of both kinds, as recordings may be
    ledger.hypervisor_ns -= ledger.hardware_ns;
    cpus_[cpu].counter.count(ledger);
    most_entries = std::max(most_entries, ledger.entries.size());
    if (account_ && chosen_(loss.pid)) account_->lost(judged, ledger);
    const auto describe = [&](const DetourLedger&, std::size_t index, FeedDetour& to) {
      if (index % 2 == 0) to.add_detail(DetailKey::pid, judged.detour.start_ns % 1'000);
    };
    FeedDetour shown;
    to_feed(cpu == 0 ? 1 : 3, ledger, sources, describe, shown);
    shown.victim = loss.name;
    shown.victim_pid = loss.pid;
    shown.loss = loss.kind;
    detours.push_back(views::to_json(to_view(shown, sources)));
    if (sink_ != nullptr) sink_->loss(cpu, judged, ledger, shown);
  }
  void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) override {
    ++runs;
    if (account_ && chosen_(run.pid)) account_->ran(run, facts);
    if (sink_ != nullptr) sink_->ran(cpu, run, facts);
  }

  std::mt19937_64 random_;  // NOLINT(cert-msc51-cpp): the same every time
  std::array<Cpu, 2> cpus_;
  TaskWatch watch_{2, *this};
  std::map<std::uint32_t, Task> tasks_;
  std::optional<WatchAccount> account_;
  std::function<bool(std::uint32_t)> chosen_;
  PipelineSink* sink_ = nullptr;
  std::uint64_t now_ns_ = 0;
};

/// Records so many drains of a run, and its end, to a new file.
inline void record_watched(WatchedRun& run, const std::string& path, int drains) {
  Recorder recorder(run.sources, run.status, run.description, 4096);
  auto file = create_recording(path);
  REQUIRE(file);
  REQUIRE(recorder.open());
  recorder.after_drain(run);
  for (int i = 0; i < drains; ++i) {
    run.drain(&recorder, 40);
    write_blocks(recorder, file.value());
  }
  Snapshot snapshot;
  run.fill(snapshot);
  recorder.finish(snapshot);
  write_blocks(recorder, file.value());
}

}  // namespace noised::test
