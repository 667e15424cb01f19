// SPDX-License-Identifier: Apache-2.0
// A node of as many measured CPUs as wanted, without a kernel: what happens on each is written down beforehand, its
// records go through real rings into the real pipeline, and faults can be planted on the way.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "account/report_builder.h"
#include "pipeline/pipeline.h"
#include "unit/base/temporary_directory.h"
#include "unit/pipeline/node_cpu.h"
#include "views/views.h"

namespace noised::test {

using namespace noised::account;
using namespace noised::kernel;
using namespace noised::pipeline;
using namespace noised::probe;
using namespace noised::system;

/// What one CPU went through in one drain.
struct CpuRound {
  std::vector<noised_task_record> records;  ///< in the order in which they ended; comm is used for tasks
  std::vector<TickDetour> detours;
  std::uint64_t interrupts = 0;  ///< so many of them does the kernel count
  std::uint64_t task_ns = 0;     ///< of its own task
  std::uint64_t tasks = 0;       ///< activations of it
  std::uint64_t detour_ns = 0;
};

/// What is wrong with a node. CPUs are told by their place.
struct Faults {
  /// The ring of which this place's loop is read; no value: of none.
  std::function<std::optional<std::size_t>(std::size_t place, std::size_t round)> loop_ring;
  /// The same for the kernel's records.
  std::function<std::optional<std::size_t>(std::size_t place, std::size_t round)> kernel_ring;
  /// True drops the record.
  std::function<bool(std::size_t place, std::size_t number)> drop;
  /// True begins the record and never finishes it.
  std::function<bool(std::size_t place, std::size_t number)> unfinished;
  /// Added to the time of what the loop says, in ns, and to that of records.
  std::function<std::int64_t(std::size_t place)> loop_shift;
  std::function<std::int64_t(std::size_t place)> kernel_shift;
};

/// What happens on each CPU; the same for the same number, whatever other CPUs there are.
class Story {
 public:
  static constexpr std::uint64_t kBegin = 1'000'000'000'000;
  static constexpr std::uint64_t kRound = 10'000'000;
  static constexpr std::size_t kRounds = 24;

  explicit Story(unsigned cpu) : cpu_(cpu), random_(cpu + 1) {
    for (std::size_t round = 0; round < kRounds; ++round) rounds_.push_back(make(kBegin + round * kRound));
  }
  [[nodiscard]] const CpuRound& round(std::size_t number) const { return rounds_[number]; }
  [[nodiscard]] static std::string task_of(unsigned cpu) { return "task" + std::to_string(cpu); }
  [[nodiscard]] static std::uint32_t pid_of(unsigned cpu) { return 1'000 + cpu; }

 private:
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + 2 * (random_() % ((high - low) / 2 + 1));
  }

  static void add(CpuRound& round, noised_kind kind, std::uint64_t id, std::uint64_t start, std::uint64_t end,
                  const std::string& comm = "") {
    noised_task_record record{};
    record.record.start_ns = start;
    record.record.duration_ns = end - start;
    record.record.id = id;
    record.record.kind = static_cast<noised_u8>(kind);
    record.record.watched = NOISED_WATCH_LOOP;
    std::strncpy(record.comm, comm.c_str(), sizeof(record.comm) - 1);
    round.records.push_back(record);
  }

  // A tick with its callback, sometimes a softirq and the CPU's own task behind it; or the host alone.
  CpuRound make(std::uint64_t begin) {
    CpuRound round;
    std::uint64_t at = begin + between(10'000, 400'000);
    while (at + 900'000 < begin + kRound) {
      const std::uint64_t start = at;
      if (random_() % 6 == 0) {
        at += between(300, 20'000);
      } else {
        const std::uint64_t vector = at + between(200, 800);
        const std::uint64_t callback = vector + between(100, 600);
        const std::uint64_t called = callback + between(300, 3'000);
        at = called + between(100, 600);
        add(round, NOISED_KIND_HRTIMER, 0xffffffff81000000U, callback, called);
        add(round, NOISED_KIND_VECTOR, NOISED_VECTOR_LOCAL_TIMER, vector, at);
        ++round.interrupts;
        if (random_() % 3 == 0) {
          const std::uint64_t softirq = at + between(20, 200);
          at = softirq + between(400, 5'000);
          add(round, NOISED_KIND_SOFTIRQ, random_() % 10, softirq, at);
        }
        if (random_() % 4 == 0) {
          const std::uint64_t task = at + between(200, 900);
          at = task + between(20'000, 60'000);
          add(round, NOISED_KIND_TASK, pid_of(cpu_), task, at, task_of(cpu_));
          round.task_ns += at - task;
          ++round.tasks;
        }
        at += between(200, 900);
      }
      round.detours.push_back({ticks_of(start), ticks_of(at), GapKind::detour});
      round.detour_ns += at - start;
      at += between(20'000, 800'000);
    }
    return round;
  }

  unsigned cpu_;
  std::mt19937_64 random_;
  std::vector<CpuRound> rounds_;
};

/// Origins between the CPUs: each one's task is woken by the CPU that measures next to it, over there in `from`.
struct Waking {
  unsigned from = 0;
  unsigned to = 0;
};

class Node : public KernelEvents {
 public:
  explicit Node(const std::vector<unsigned>& cpus, Faults faults = {}) : faults_(std::move(faults)) {
    for (const unsigned cpu : cpus) {
      cpus_.emplace_back(cpu);
      stories_.emplace_back(cpu);
    }
    now_ns_ = Story::kBegin - 50'000'000;
    clock_.add(sample());
    now_ns_ = Story::kBegin - 10'000'000;
    REQUIRE(clock_.add(sample()));
    write_interrupts();
    auto interrupts = InterruptCounts::open(seen_rows(*this), directory_.path("interrupts"));
    REQUIRE(interrupts);
    interrupts_.emplace(std::move(interrupts).value());
    PipelineOptions options;
    options.threshold_ns = 200;
    options.interrupts = &*interrupts_;
    options.feed_size = 64 * cpus.size();
    options.names_services = true;
    write_stat(0);
    auto steal_clock = StealClock::open(directory_.path("stat"));
    REQUIRE(steal_clock);
    steal_clock_.emplace(std::move(steal_clock).value());
    options.steal_clock = &*steal_clock_;
    options.clocks = {[this] { return now_ns_ + passed_ns_; }, [this] { return sample(); }};
    std::vector<MeasuringLoop*> loops;
    for (NodeCpu& cpu : cpus_) loops.push_back(&cpu);
    pipeline_ = std::make_unique<Pipeline>(*this, loops, clock_, sources_, names_, options);
  }

  /// Who wakes whose task; before the first round.
  void wake(std::vector<Waking> wakings) { wakings_ = std::move(wakings); }

  /// The next drain comes so much later, and what happens meanwhile is no later for that.
  void pass(std::uint64_t ns) { passed_ns_ += ns; }

  /// What the host says it stole from each CPU: so many steps of 10 ms, times its number.
  void write_stat(std::uint64_t steps) {
    std::ofstream stat(directory_.path("stat"));
    for (const NodeCpu& cpu : cpus_) stat << "cpu" << cpu.cpu() << " 1 2 3 4 5 6 7 " << cpu.cpu() * steps << '\n';
  }

  /// Plays all rounds, a drain each; `after_drain` after each of them.
  void play(const std::function<void()>& after_drain = {}) {
    for (round_ = 0; round_ < Story::kRounds; ++round_) {
      now_ns_ = Story::kBegin + round_ * Story::kRound + 10;
      for (std::size_t place = 0; place < cpus_.size(); ++place) write(place);
      now_ns_ = Story::kBegin + (round_ + 1) * Story::kRound;
      for (std::size_t place = 0; place < cpus_.size(); ++place) publish(place);
      write_interrupts();
      if (round_ % 8 == 7) pipeline_->want_sight();
      drain();
      if (after_drain) after_drain();
    }
    round_ = Story::kRounds - 1;
    now_ns_ += 1'000'000;
    for (std::size_t place = 0; place < cpus_.size(); ++place) publish(place);
    for (NodeCpu& cpu : cpus_) cpu.running = false;
    select_rings();
    pipeline_->finish();
    collect();
  }

  [[nodiscard]] Report report() const {
    Snapshot snapshot;
    pipeline_->fill(snapshot);
    return build_report(snapshot, sources_, RunDescription{"node", "6.1", "2026-01-01T00:00:00Z", {}});
  }
  [[nodiscard]] Report recent() const {
    Snapshot snapshot;
    snapshot.detail = SnapshotDetail::recent;
    pipeline_->fill(snapshot);
    return build_recent(snapshot, sources_, RunDescription{"node", "6.1", "2026-01-01T00:00:00Z", {}});
  }
  [[nodiscard]] HistogramView histograms() const {
    Snapshot snapshot;
    pipeline_->fill(snapshot);
    return build_histograms(snapshot, sources_);
  }
  [[nodiscard]] const Story& story(std::size_t place) const { return stories_[place]; }
  [[nodiscard]] Pipeline& pipeline() { return *pipeline_; }
  [[nodiscard]] const SourceTable& sources() const { return sources_; }
  [[nodiscard]] Names& names() { return names_; }
  /// The detours of each CPU by its number, in order.
  [[nodiscard]] const std::vector<DetourView>& detours(unsigned cpu) { return detours_[cpu]; }
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }
  MissedRuns missed;  ///< what the kernel counts next

  // What the pipeline asks of the kernel.
  [[nodiscard]] noised_cpu& state(unsigned cpu) override {
    return std::ranges::find_if(cpus_, [&](const NodeCpu& each) { return each.cpu() == cpu; })->state;
  }
  [[nodiscard]] std::span<volatile std::uint8_t> groups() override { return {}; }
  std::size_t drain(std::size_t index, std::size_t limit, const RecordSink& sink) override {
    const auto from = faults_.kernel_ring ? faults_.kernel_ring(index, round_) : std::optional(index);
    if (!from) return 0;
    MappedRing& ring = cpus_[*from].reader;
    const std::size_t drained = ring.drain(limit, sink);
    if (ring.waits()) ring.give_up_late(now_ns_, sink);
    return drained;
  }
  [[nodiscard]] bool drain_origins(const OriginSink& sink) override {
    for (const noised_origin& origin : std::exchange(origins_, {})) sink(origin);
    return true;
  }
  [[nodiscard]] double take_fullness() override { return 0; }
  [[nodiscard]] LostCounters lost(unsigned cpu) const override {
    const auto found = std::ranges::find_if(cpus_, [&](const NodeCpu& each) { return each.cpu() == cpu; });
    return {found->state.lost_full, 0, 0, 0, 0, found->reader.unfinished()};
  }
  [[nodiscard]] std::uint64_t lost_origins() const override { return 0; }
  [[nodiscard]] bool attached(std::string_view /*tracepoint*/) const override { return true; }
  [[nodiscard]] MissedRuns missed_runs() const override { return missed; }
  [[nodiscard]] std::vector<ProgramView> programs() const override { return {}; }

 private:
  [[nodiscard]] ClockSample sample() const { return {ticks_of(now_ns_), now_ns_, 20}; }

  void write(std::size_t place) {
    NodeCpu& cpu = cpus_[place];
    const CpuRound& round = stories_[place].round(round_);
    const std::int64_t loop_shift = faults_.loop_shift ? faults_.loop_shift(place) : 0;
    const std::int64_t kernel_shift = faults_.kernel_shift ? faults_.kernel_shift(place) : 0;
    for (noised_task_record record : round.records) {
      const std::size_t number = written_[place]++;
      if (faults_.drop && faults_.drop(place, number)) continue;
      record.record.start_ns += static_cast<std::uint64_t>(kernel_shift);
      if (record.record.kind == NOISED_KIND_TASK) tell_waker(cpu.cpu(), record.record.start_ns);
      const bool is_task = record.record.kind == NOISED_KIND_TASK;
      cpu.put(record, is_task ? sizeof(noised_task_record) : sizeof(noised_record),
              !faults_.unfinished || !faults_.unfinished(place, number));
    }
    const auto shift = static_cast<std::uint64_t>(loop_shift / 2 * 5);
    for (TickDetour detour : round.detours) {
      detour.start_ticks += shift;
      detour.end_ticks += shift;
      (void)cpu.own_ring.push(detour);
    }
    interrupts_of_[cpu.cpu()] += round.interrupts;
  }

  void tell_waker(unsigned cpu, std::uint64_t task_ns) {
    for (const Waking& waking : wakings_) {
      if (waking.to != cpu) continue;
      noised_origin origin{};
      origin.time_ns = task_ns - 300;
      origin.targets = 1ULL << (cpu % 64);
      origin.word = static_cast<noised_u8>(cpu / 64);
      origin.kind = NOISED_ORIGIN_WAKE;
      origin.task = Story::pid_of(cpu);
      origin.pid = Story::pid_of(waking.from);
      origin.cpu = static_cast<noised_u16>(waking.from);
      std::strncpy(origin.comm, Story::task_of(waking.from).c_str(), sizeof(origin.comm) - 1);
      origins_.push_back(origin);
    }
  }

  void publish(std::size_t place) {
    LoopProgress& progress = cpus_[place].loop_progress;
    if (progress.first_ticks.load() == 0) progress.first_ticks.store(ticks_of(Story::kBegin));
    progress.iterations.store(now_ns_ / 10);
    progress.last_ticks.store(ticks_of(now_ns_));
  }

  void select_rings() {
    for (std::size_t place = 0; place < cpus_.size(); ++place) {
      const auto from = faults_.loop_ring ? faults_.loop_ring(place, round_) : std::optional(place);
      cpus_[place].read = from ? &cpus_[*from].own_ring : &nothing_;
    }
  }

  void drain() {
    select_rings();
    pipeline_->drain();
    collect();
  }

  void collect() {
    const DetourFeed::Batch batch = pipeline_->feed().read(next_detour_, 1U << 20U);
    next_detour_ = batch.next;
    REQUIRE(batch.lost == 0);
    for (const FeedDetour& detour : batch.detours) detours_[detour.cpu].push_back(to_view(detour, sources_));
  }

  // As /proc/interrupts, with CPUs that nobody measures in between.
  void write_interrupts() {
    std::ofstream file(directory_.path("interrupts"));
    for (const NodeCpu& cpu : cpus_) file << " CPU" << cpu.cpu();
    file << "\n  1:";
    for (std::size_t i = 0; i < cpus_.size(); ++i) file << " 12345";
    file << "   IO-APIC   1-edge      i8042\nLOC:";
    for (const NodeCpu& cpu : cpus_) file << ' ' << interrupts_of_[cpu.cpu()];
    file << "   Local timer interrupts\nRES:";
    for (std::size_t i = 0; i < cpus_.size(); ++i) file << " 7";
    file << "   Rescheduling interrupts\n";
  }

  Faults faults_;
  TemporaryDirectory directory_;
  std::deque<NodeCpu> cpus_;
  std::deque<Story> stories_;
  std::map<std::size_t, std::size_t> written_;
  std::map<unsigned, std::uint64_t> interrupts_of_;
  std::vector<Waking> wakings_;
  std::vector<noised_origin> origins_;
  DetourRing nothing_{2};
  std::uint64_t now_ns_ = 0;
  std::uint64_t passed_ns_ = 0;
  std::size_t round_ = 0;
  ClockMap clock_;
  SourceTable sources_;
  Names names_{sources_, Kallsyms::parse("")};
  std::optional<InterruptCounts> interrupts_;
  std::optional<StealClock> steal_clock_;
  std::unique_ptr<Pipeline> pipeline_;
  std::map<unsigned, std::vector<DetourView>> detours_;
  std::uint64_t next_detour_ = 0;
};

}  // namespace noised::test
