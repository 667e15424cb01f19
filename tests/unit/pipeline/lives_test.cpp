// SPDX-License-Identifier: Apache-2.0
// A million short tasks that share a hundred pids, on two CPUs of which one is watched: through the real pipeline, as
// the records of a kernel that hands them over.
#include <malloc.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "pipeline/task_pipeline.h"
#include "system/services.h"
#include "unit/pipeline/quiet_kernel.h"

using namespace noised;
using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::system;

namespace {

constexpr std::uint8_t kGroup = 3;

// The ring of CPU 0.
class OneRing : public test::QuietKernel {
 public:
  std::vector<noised_run_record> records;

  std::size_t drain(std::size_t /*index*/, std::size_t /*limit*/, const RecordSink& sink) override {
    for (const noised_run_record& record : records) hand_over(&record, sizeof(record), sink);
    const std::size_t drained = records.size();
    records.clear();
    return drained;
  }
};

struct Truth {
  std::uint64_t lives = 0;  // that ran on CPU 0
  std::uint64_t runs = 0;   // there
  std::uint64_t voluntary = 0;
  std::uint64_t involuntary = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t wait_ns = 0;
};

// What Linux does with pids and places for tasks: a pid is used again once all others were, a place first that was free
// last, after a grace period.
class Machine {
 public:
  static constexpr std::uint32_t kFirstPid = 301;
  static constexpr std::uint32_t kPids = 100;
  static constexpr std::size_t kLive = 8;
  static constexpr std::size_t kGrace = 30;

  explicit Machine(OneRing& ring) : ring_(ring), pid_used_(kPids) {
    while (tasks_.size() < kLive) tasks_.push_back(born());
  }

  // One run of one of them, which may be its last.
  void step() {
    Task& task = tasks_[random_() % tasks_.size()];
    const std::uint64_t start_ns = now_ns_ + 500;
    now_ns_ = start_ns + 1'000 + random_() % 100'000;
    const std::uint64_t wait_ns = std::min<std::uint64_t>(random_() % 20'000, start_ns - task.end_ns);
    const bool watched = random_() % 2 == 0;
    const bool ends = random_() % 3 == 0;
    const bool preempted = !ends && random_() % 3 == 0;
    const auto faults = static_cast<noised_u32>(random_() % 20);
    task.counts.runs += 1;
    task.counts.wait_ns += wait_ns;
    (preempted ? task.counts.involuntary : task.counts.voluntary) += 1;
    task.counts.minor_faults += faults;
    truth.wait_ns += wait_ns;
    (preempted ? truth.involuntary : truth.voluntary) += 1;
    truth.minor_faults += faults;
    task.end_ns = now_ns_;
    if (watched) tell(task, start_ns, preempted, ends);
    if (!ends) return;
    pid_used_[task.pid - kFirstPid] = false;
    grace_.push_back(task.slot);
    if (grace_.size() > kGrace) {
      free_slots_.push_back(grace_.front());
      grace_.pop_front();
    }
    task = born();
  }

  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }

  Truth truth;
  std::uint64_t born_lives = 0;

 private:
  struct Task {
    std::uint32_t pid = 0;
    std::uint32_t slot = 0;
    std::uint64_t born_ns = 0;
    std::uint64_t end_ns = 0;
    bool told = false;
    TaskCounts counts;
  };

  Task born() {
    do next_pid_ = (next_pid_ + 1) % kPids;
    while (pid_used_[next_pid_]);
    pid_used_[next_pid_] = true;
    Task task;
    task.pid = kFirstPid + next_pid_;
    task.slot = free_slots_.empty() ? ++slots_ : free_slots_.back();
    if (!free_slots_.empty()) free_slots_.pop_back();
    task.born_ns = task.end_ns = now_ns_;
    ++born_lives;
    return task;
  }

  void tell(Task& task, std::uint64_t start_ns, bool preempted, bool ends) {
    truth.lives += task.told ? 0 : 1;
    task.told = true;
    ++truth.runs;
    noised_run_record run{};
    noised_record& record = run.task.record;
    record.start_ns = start_ns;
    record.duration_ns = now_ns_ - start_ns;
    record.id = task.pid | std::uint64_t{task.slot} << 32U;
    record.kind = NOISED_KIND_TASK;
    record.flags = static_cast<noised_u8>((preempted ? NOISED_FLAG_PREEMPTED : 0) | (ends ? NOISED_FLAG_ENDED : 0));
    record.group = kGroup;
    record.watched = NOISED_WATCH_TASKS;
    record.birth = static_cast<noised_u8>(task.born_ns >> NOISED_BIRTH_SHIFT);
    std::memcpy(run.task.comm, "short", sizeof("short"));
    run.wait_ns = task.counts.wait_ns;
    run.runs = task.counts.runs;
    run.voluntary = task.counts.voluntary;
    run.involuntary = task.counts.involuntary;
    run.minor_faults = task.counts.minor_faults;
    run.tgid = task.pid;
    ring_.records.push_back(run);
  }

  OneRing& ring_;
  std::minstd_rand random_{1};
  std::vector<bool> pid_used_;
  std::uint32_t next_pid_ = 0;
  std::uint32_t slots_ = 0;
  std::vector<std::uint32_t> free_slots_;
  std::deque<std::uint32_t> grace_;
  std::vector<Task> tasks_;
  std::uint64_t now_ns_ = 1'000'000'000;
};

}  // namespace

TEST_CASE("a million lives of a hundred pids: no count above the truth, and memory is flat", "[watch]") {
  constexpr std::uint64_t kLives = 1'000'000;
  OneRing ring;
  Machine machine(ring);
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  DrainClock clock{[&] { return machine.now_ns(); }};
  Services services;
  Chains chains{names, sources, services};
  DetourFeed feed;
  TaskPipeline pipeline({{ring, names, clock}, sources, chains, feed}, {{0}, Kind::hypervisor, {}, false},
                        machine.now_ns());
  pipeline.begin_account(kGroup, false, false, machine.now_ns());
  std::size_t before = 0;  // bytes in use at most, in the first half
  std::size_t after = 0;   // and in the second one
  while (machine.born_lives < kLives) {
    for (int i = 0; i < 200; ++i) machine.step();
    pipeline.read();
    pipeline.join(machine.now_ns(), MissedRuns{}, false);
    std::size_t& most = machine.born_lives < kLives / 2 ? before : after;
    most = std::max(most, mallinfo2().uordblks);
  }
  WatchReport report;
  pipeline.report(kGroup, machine.now_ns(), report);
  const Truth& truth = machine.truth;
  CHECK(report.counts.runs == truth.runs);
  CHECK(report.counts.voluntary <= truth.voluntary);
  CHECK(report.counts.involuntary <= truth.involuntary);
  CHECK(report.counts.minor_faults <= truth.minor_faults);
  CHECK(report.counts.queued_ns + report.counts.preempted_ns + report.counts.unseen_wait_ns <= truth.wait_ns);
  CHECK(report.counts.runs + report.counts.unseen_runs <= truth.voluntary + truth.involuntary);
  // What happened before the first run that was seen of a life is not known, nor what did after the last one.
  CHECK(report.counts.voluntary > truth.voluntary / 2);
  // Of lives with the same pid, place and 8 bits of birth, two may be taken for one.
  CHECK(report.tasks_seen <= truth.lives);
  CHECK(report.tasks_seen > truth.lives - truth.lives / 5'000);
  CHECK(report.lost.events == 0);
  CHECK(after <= before + 65'536);
}

// A recording tells it, and whoever plays that one takes a task that left before it came for a damaged file.
TEST_CASE("a task that came while its CPU was drained has it no shorter than until it came", "[watch]") {
  constexpr std::uint64_t kDrainNs = 2'000'000'000;
  OneRing ring;
  ring.state(0).watched = NOISED_WATCH_TASKS;
  ring.state(0).current_pid = 700;
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  DrainClock clock{[] { return kDrainNs; }};
  Services services;
  Chains chains{names, sources, services};
  DetourFeed feed;
  TaskPipeline pipeline({{ring, names, clock}, sources, chains, feed}, {{0}, Kind::hypervisor, {}},
                        kDrainNs - 1'000'000'000);
  for (const std::uint64_t start_ns : {kDrainNs - 5'000, kDrainNs, kDrainNs + 5'000}) {
    ring.state(0).task_start_ns = start_ns;
    pipeline.read();
    pipeline.join(kDrainNs, MissedRuns{}, false);
    Snapshot snapshot;
    snapshot.cpus.resize(1);
    pipeline.fill(snapshot);
    REQUIRE(snapshot.cpus[0].current.has_value());
    CHECK(snapshot.cpus[0].current->start_ns == start_ns);
    CHECK(snapshot.cpus[0].current_until_ns == std::max(kDrainNs, start_ns));
  }
}

// What is written there then is the pid of the task that comes, beside the time of the one that leaves.
TEST_CASE("nobody is told to have a CPU while it switches", "[watch]") {
  constexpr std::uint64_t kDrainNs = 2'000'000'000;
  OneRing ring;
  noised_cpu& state = ring.state(0);
  state.watched = NOISED_WATCH_TASKS;
  state.current_pid = 700;
  state.task_start_ns = kDrainNs - 50'000'000;
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  DrainClock clock{[] { return kDrainNs; }};
  Services services;
  Chains chains{names, sources, services};
  DetourFeed feed;
  TaskPipeline pipeline({{ring, names, clock}, sources, chains, feed}, {{0}, Kind::hypervisor, {}, false},
                        kDrainNs - 1'000'000'000);
  pipeline.begin_account(kGroup, true, true, kDrainNs - 1'000'000'000);
  LossBatch batch;
  const auto drain = [&] {
    pipeline.read();
    pipeline.join(kDrainNs, MissedRuns{}, false);
    pipeline.take_losses(kGroup, batch);
  };
  state.current_is_kernel = NOISED_SWITCHING;
  drain();
  CHECK(pipeline.current_pid(0) == 0);
  CHECK(batch.running.empty());
  CHECK(batch.settled_ns == 0);  // nor is it idle: what the task that leaves has lost comes with its record
  state.current_is_kernel = 1;
  drain();
  CHECK(pipeline.current_pid(0) == 0);
  CHECK(batch.settled_ns > 0);
}

TEST_CASE("a CPU that nobody watches, or that a loop has, keeps no loss of others from being told", "[watch]") {
  constexpr std::uint64_t kDrainNs = 2'000'000'000;
  // What it is when its ring begins to be read, and after.
  const auto settled_ns = [](noised_u16 before, noised_u16 after) {
    OneRing ring;
    noised_cpu& state = ring.state(0);
    SourceTable sources;
    Names names{sources, Kallsyms::parse("")};
    DrainClock clock{[] { return kDrainNs; }};
    Services services;
    Chains chains{names, sources, services};
    DetourFeed feed;
    TaskPipeline pipeline({{ring, names, clock}, sources, chains, feed}, {{0}, Kind::hypervisor, {}, false},
                          kDrainNs - 1'000'000'000);
    pipeline.begin_account(kGroup, true, true, kDrainNs - 1'000'000'000);
    state.watched = before;
    pipeline.begin_read(0);
    state.watched = after;
    pipeline.end_read(0);
    pipeline.join(kDrainNs, MissedRuns{}, false);
    LossBatch batch;
    pipeline.take_losses(kGroup, batch);
    return batch.settled_ns;
  };
  for (const noised_u16 nobody : {noised_u16{NOISED_WATCH_NOTHING}, noised_u16{NOISED_WATCH_LOOP}}) {
    CHECK(settled_ns(nobody, nobody) > 0);
    // It came from its tasks while its ring was read: what they lost comes with the next drain.
    CHECK(settled_ns(NOISED_WATCH_TASKS, nobody) == 0);
  }
}
