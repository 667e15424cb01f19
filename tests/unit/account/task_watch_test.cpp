// SPDX-License-Identifier: Apache-2.0
// What tasks lose: interruptions while they had the CPU, waits for one, and who had it then.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "account/task_run.h"
#include "account/task_watch.h"

using namespace noised;
using namespace noised::account;

namespace {

struct Told {
  std::size_t cpu;
  Loss loss;
  std::vector<Interval> intervals;
};

struct Ran {
  std::size_t cpu;
  TaskRun run;
  RunFacts facts;
};

class Notes : public WatchSink {
 public:
  void lost(std::size_t cpu, const Loss& loss, std::span<const Interval> intervals) override {
    losses.push_back({cpu, loss, {intervals.begin(), intervals.end()}});
  }
  void ran(std::size_t cpu, const TaskRun& run, const RunFacts& facts) override { runs.push_back({cpu, run, facts}); }

  std::vector<Told> losses;
  std::vector<Ran> runs;
};

Interval interval(Kind kind, std::uint64_t start_ns, std::uint64_t end_ns, std::uint64_t id = 0) {
  return {start_ns, end_ns, static_cast<SourceId>(kind), kind, 0, id, 0};
}

// A machine whose kernel counts as Linux does.
struct Scene {
  explicit Scene(std::size_t cpus = 2) : watch(cpus, notes) {}

  void run(std::size_t cpu, std::uint32_t pid, std::uint64_t start_ns, std::uint64_t end_ns, TaskCounts counts,
           bool ended = false) {
    const TaskRun run{start_ns, end_ns, pid, pid, pid, 1, false, ended, counts, {pid, 0}};
    watch.add(cpu, run, interval(Kind::task, start_ns, end_ns, pid));
  }
  void kernel_thread(std::size_t cpu, std::uint32_t pid, std::uint64_t start_ns, std::uint64_t end_ns) {
    watch.add(cpu, interval(Kind::task, start_ns, end_ns, pid));
  }

  Notes notes;
  TaskWatch watch;
};

TaskCounts counts_of(std::uint32_t runs, std::uint64_t wait_ns, std::uint32_t voluntary, std::uint32_t involuntary) {
  return {wait_ns, runs, voluntary, involuntary, 10 * runs, 0};
}

}  // namespace

TEST_CASE("watch: what strikes a task that has the CPU is its interruption, nested and adjoining ones are one") {
  Scene scene;
  scene.watch.add(0, interval(Kind::hrtimer, 1'100, 1'500));
  scene.watch.add(0, interval(Kind::vector, 1'000, 2'000));
  scene.watch.add(0, interval(Kind::softirq, 2'000 + kJoinNs, 3'000));  // without a return to the task
  scene.watch.add(0, interval(Kind::vector, 9'000, 9'500));
  scene.run(0, 7, 500, 20'000, counts_of(1, 0, 1, 0));
  scene.watch.settle(20'000);
  REQUIRE(scene.notes.losses.size() == 2);
  const Told& first = scene.notes.losses[0];
  CHECK(first.loss.kind == LossKind::interrupted);
  CHECK(first.loss.pid == 7);
  CHECK(first.loss.detour.start_ns == 1'000);
  CHECK(first.loss.detour.end_ns == 3'000);
  CHECK(first.intervals.size() == 3);
  CHECK(scene.notes.losses[1].loss.detour.start_ns == 9'000);
  REQUIRE(scene.notes.runs.size() == 1);
  CHECK(scene.notes.runs[0].facts.known);
  CHECK(scene.notes.runs[0].facts.voluntary == 1);
  CHECK(scene.notes.runs[0].facts.minor_faults == 10);
}

TEST_CASE("watch: who had the CPU while a task waited is told, with what interrupted them") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(1, 0, 0, 1));
  scene.kernel_thread(0, 50, 2'000, 3'000);
  scene.watch.add(0, interval(Kind::vector, 3'200, 3'300));
  scene.run(0, 8, 3'000, 4'000, counts_of(1, 0, 1, 0));
  scene.run(0, 7, 4'000, 5'000, counts_of(2, 2'000, 1, 1));
  scene.watch.settle(5'000);
  REQUIRE(scene.notes.losses.size() == 2);
  CHECK(scene.notes.losses[0].loss.pid == 8);  // the vector's victim
  const Told& wait = scene.notes.losses[1];
  CHECK(wait.loss.pid == 7);
  CHECK(wait.loss.kind == LossKind::preempted);
  CHECK(wait.loss.detour.start_ns == 2'000);
  CHECK(wait.loss.detour.end_ns == 4'000);
  CHECK_FALSE(wait.loss.detour.in_doubt);
  LossLedger ledgers;
  const DetourLedger& ledger = ledgers.divide(wait.loss, wait.intervals);
  CHECK(ledger.explained_ns == 2'000);
  REQUIRE(ledger.entries.size() == 3);
  CHECK(ledger.entries[0].self_ns == 1'000);
  CHECK(ledger.entries[1].self_ns == 900);  // less the vector in it
  CHECK(ledger.entries[2].self_ns == 100);
}

TEST_CASE("watch: a task that sleeps loses nothing, one that is woken waits in a queue") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(1, 0, 1, 0));
  scene.run(0, 7, 900'000, 901'000, counts_of(2, 0, 2, 0));
  scene.watch.settle(901'000);
  CHECK(scene.notes.losses.empty());
  scene.run(0, 7, 1'900'000, 1'901'000, counts_of(3, 4'000, 3, 0));
  scene.watch.settle(1'901'000);
  REQUIRE(scene.notes.losses.size() == 1);
  CHECK(scene.notes.losses[0].loss.kind == LossKind::queued);
  CHECK(scene.notes.losses[0].loss.detour.start_ns == 1'896'000);
  CHECK(scene.notes.losses[0].intervals.empty());
}

TEST_CASE("watch: runs of one task on two CPUs are put in order, whichever CPU is read first") {
  Scene scene;
  scene.run(0, 7, 3'000, 4'000, counts_of(2, 0, 2, 0));
  scene.watch.settle(2'500);  // the other CPU's ring may still have something older
  CHECK(scene.notes.runs.empty());
  scene.run(1, 7, 1'000, 2'000, counts_of(1, 0, 1, 0));
  scene.watch.settle(5'000);
  REQUIRE(scene.notes.runs.size() == 2);
  CHECK(scene.notes.runs[0].cpu == 1);
  CHECK_FALSE(scene.notes.runs[0].facts.migrated);
  CHECK(scene.notes.runs[1].facts.migrated);
  CHECK(scene.notes.runs[1].facts.unseen_runs == 0);
}

TEST_CASE("watch: runs that nobody saw are counted, and their waits are not guessed") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(5, 100, 5, 0));
  scene.run(0, 7, 9'000, 10'000, counts_of(8, 5'100, 7, 1));
  scene.watch.settle(10'000);
  REQUIRE(scene.notes.runs.size() == 2);
  CHECK_FALSE(scene.notes.runs[0].facts.known);
  CHECK(scene.notes.runs[1].facts.unseen_runs == 2);
  CHECK(scene.notes.runs[1].facts.unseen_wait_ns == 5'000);
  CHECK(scene.notes.runs[1].facts.voluntary == 2);
  CHECK(scene.notes.runs[1].facts.involuntary == 1);
  CHECK(scene.notes.losses.empty());
}

TEST_CASE("watch: a run that the kernel did not count hides none") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, {0, 5, 3, 6, 0, 0});
  scene.run(0, 7, 2'010, 3'000, {0, 5, 4, 6, 0, 0});
  scene.watch.settle(10'000);
  REQUIRE(scene.notes.runs.size() == 2);
  CHECK(scene.notes.runs[1].facts.unseen_runs == 0);
  CHECK(scene.notes.runs[1].facts.unseen_wait_ns == 0);
  CHECK(scene.notes.runs[1].facts.voluntary == 1);
}

TEST_CASE("watch: a run whose begin nobody saw has its counts, and neither time nor wait nor interruptions") {
  Scene scene;
  scene.watch.add(0, interval(Kind::vector, 1'500, 1'600));
  scene.run(0, 7, 2'000, 2'000, counts_of(1, 500, 0, 1), true);  // its first, and its last
  scene.run(0, 8, 2'000, 3'000, counts_of(1, 0, 1, 0));
  scene.run(0, 8, 5'000, 5'000, counts_of(2, 700, 2, 0));
  scene.watch.settle(5'000);
  CHECK(scene.notes.losses.empty());
  REQUIRE(scene.notes.runs.size() == 3);
  CHECK(scene.notes.runs[0].facts.known);
  CHECK(scene.notes.runs[0].facts.minor_faults == 10);
  CHECK(scene.notes.runs[2].facts.minor_faults == 10);
  CHECK(scene.notes.runs[2].facts.unseen_runs == 0);
  CHECK(scene.notes.runs[2].facts.unseen_wait_ns == 700);
}

TEST_CASE("watch: a task that keeps the CPU is told its interruptions meanwhile") {
  Scene scene;
  scene.run(0, 8, 0, 1'000, counts_of(1, 0, 1, 0));
  scene.watch.add(0, interval(Kind::vector, 1'500, 1'600));
  scene.watch.add(0, interval(Kind::vector, 5'000, 5'100));
  scene.watch.add(0, {7, 70, 1, 1'000, 7}, 4'000);
  REQUIRE(scene.notes.losses.size() == 1);  // the second may be a part of one that is still open
  CHECK(scene.notes.losses[0].loss.pid == 7);
  scene.watch.add(0, {7, 70, 1, 5'050, 7}, 9'000);  // another run: what came before it has a record to come
  CHECK(scene.notes.losses.size() == 1);
  scene.watch.add(0, {7, 70, 1, 1'000, 7}, 9'000);
  CHECK(scene.notes.losses.size() == 2);
  scene.run(0, 7, 1'000, 10'000, counts_of(1, 0, 1, 0));
  CHECK(scene.notes.losses.size() == 2);  // each once
}

TEST_CASE("watch: a wait longer than what is remembered of its CPU is in doubt") {
  Scene scene;
  scene.run(0, 7, 0, 10, counts_of(1, 0, 0, 1));
  for (std::uint64_t at = 0; at < 3 * TaskWatch::kTimeline; ++at) {
    scene.kernel_thread(0, 50, 10 + at, 11 + at);
  }
  const std::uint64_t end_ns = 10 + 3 * TaskWatch::kTimeline;
  scene.run(0, 7, end_ns, end_ns + 5, counts_of(2, end_ns - 10, 1, 1));
  scene.watch.settle(end_ns + 5);
  REQUIRE(scene.notes.losses.size() == 1);
  CHECK(scene.notes.losses[0].loss.detour.in_doubt);
}

namespace {

Interval while_idle(Interval interval) {
  interval.flags |= NOISED_FLAG_IDLE;
  return interval;
}

}  // namespace

TEST_CASE("watch: what an idle CPU does after a wakeup is in the wait of the task, and interrupts nobody") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(1, 0, 1, 0));
  scene.watch.add(0, while_idle(interval(Kind::vector, 50'000, 53'000)));
  scene.watch.add(0, while_idle(interval(Kind::softirq, 53'000, 90'000)));
  scene.run(0, 7, 91'000, 95'000, counts_of(2, 31'000, 2, 0));  // woken inside the softirq
  scene.watch.settle(95'000);
  REQUIRE(scene.notes.losses.size() == 1);
  const Told& wait = scene.notes.losses[0];
  CHECK(wait.loss.kind == LossKind::queued);
  CHECK(wait.loss.detour.start_ns == 60'000);
  CHECK(wait.loss.detour.end_ns == 91'000);
  LossLedger ledgers;
  const DetourLedger& ledger = ledgers.divide(wait.loss, wait.intervals);
  REQUIRE(ledger.entries.size() == 1);
  CHECK(ledger.entries[0].kind == Kind::softirq);
  CHECK(ledger.entries[0].self_ns == 30'000);
  CHECK(ledger.overhead_ns == 1'000);
}

TEST_CASE("watch: a wait on an idle CPU begins with the wakeup, and leaving idle is its first part") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(1, 0, 1, 0));
  scene.watch.add_idle_exit(0, 7, while_idle(interval(Kind::task, 50'000, 80'000)));
  scene.watch.add(0, while_idle(interval(Kind::vector, 80'100, 82'100)));
  scene.run(0, 7, 83'100, 95'000, counts_of(2, 2'000, 2, 0));  // put on the queue by the vector
  scene.watch.settle(95'000);
  REQUIRE(scene.notes.losses.size() == 1);
  const Told& wait = scene.notes.losses[0];
  CHECK(wait.loss.detour.start_ns == 50'000);
  CHECK(wait.loss.waited_ns == 33'100);
  CHECK(scene.notes.runs[1].facts.waited_ns == 33'100);
  LossLedger ledgers;
  const DetourLedger& ledger = ledgers.divide(wait.loss, wait.intervals);
  REQUIRE(ledger.entries.size() == 2);
  CHECK(ledger.entries[0].kind == Kind::task);
  CHECK(ledger.entries[0].self_ns == 30'000);
  CHECK(ledger.entries[1].self_ns == 2'000);
  CHECK(ledger.overhead_ns == 1'100);
}

TEST_CASE("watch: a wait on an idle CPU that the kernel does not count is told, unless it is not known whose it was") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(1, 0, 1, 0));
  scene.watch.add_idle_exit(0, 7, while_idle(interval(Kind::task, 50'000, 80'000)));
  scene.run(0, 7, 83'000, 84'000, counts_of(2, 0, 2, 0));
  scene.watch.add_idle_exit(0, 7, while_idle(interval(Kind::task, 90'000, 91'000)));
  scene.run(0, 7, 93'000, 94'000, counts_of(5, 0, 5, 0));  // and two runs between that nobody saw
  scene.watch.settle(95'000);
  REQUIRE(scene.notes.losses.size() == 1);
  CHECK(scene.notes.losses[0].loss.detour.start_ns == 50'000);
  CHECK(scene.notes.losses[0].loss.detour.end_ns == 83'000);
}

TEST_CASE("watch: the wakeup of one task lengthens no other's wait, and none twice") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(1, 0, 1, 0));
  scene.run(0, 8, 2'000, 3'000, counts_of(1, 0, 1, 0));
  scene.watch.add_idle_exit(0, 7, while_idle(interval(Kind::task, 50'000, 80'000)));
  scene.run(0, 8, 83'000, 84'000, counts_of(2, 2'000, 2, 0));
  scene.run(0, 7, 84'000, 85'000, counts_of(2, 3'000, 2, 0));
  scene.run(0, 7, 95'000, 96'000, counts_of(3, 4'000, 3, 0));
  scene.watch.settle(96'000);
  REQUIRE(scene.notes.losses.size() == 3);
  CHECK(scene.notes.losses[0].loss.detour.start_ns == 81'000);
  CHECK(scene.notes.losses[1].loss.detour.start_ns == 50'000);
  CHECK(scene.notes.losses[2].loss.detour.start_ns == 94'000);
}

TEST_CASE("watch: a wakeup that led a task to another CPU does not lengthen its next wait here") {
  Scene scene;
  scene.run(0, 7, 1'000, 2'000, counts_of(1, 0, 1, 0));
  scene.watch.add_idle_exit(0, 7, while_idle(interval(Kind::task, 50'000, 80'000)));
  scene.run(1, 7, 83'000, 84'000, counts_of(2, 2'000, 2, 0));
  scene.run(0, 7, 94'000, 95'000, counts_of(3, 5'000, 3, 0));
  scene.watch.settle(95'000);
  REQUIRE(scene.notes.losses.size() == 2);
  CHECK(scene.notes.losses[1].loss.detour.start_ns == 91'000);
}

// Tasks that run, sleep and are preempted on two CPUs, with interrupts in between: whatever happens, every nanosecond
// that the kernel says a task waited is told once, and so is every interrupt that struck one.
TEST_CASE("watch: everything that happened is told once") {
  std::minstd_rand random(7);
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  for (int round = 0; round < 50; ++round) {
    Scene scene(2);
    std::array<std::uint64_t, 2> now_ns{1'000, 1'000};
    std::vector<TaskCounts> tasks(6);
    std::vector<std::uint64_t> free_ns(6, 500);  // when it ran last
    std::vector<bool> preempted(6, false);
    std::uint64_t waited_ns = 0;
    std::uint64_t struck_ns = 0;
    for (int step = 0; step < 400; ++step) {
      const std::size_t cpu = now_ns[0] <= now_ns[1] ? 0 : 1;
      const std::size_t task = random() % tasks.size();
      TaskCounts& counts = tasks[task];
      const std::uint64_t start_ns = std::max(now_ns[cpu], free_ns[task]) + between(0, 500);
      const std::uint64_t wait_ns = preempted[task]
                                        ? start_ns - free_ns[task]
                                        : between(0, std::min<std::uint64_t>(300, start_ns - free_ns[task]));
      std::uint64_t at_ns = start_ns;
      for (std::uint64_t strikes = random() % 3; strikes != 0; --strikes) {
        const std::uint64_t from_ns = at_ns + between(kJoinNs + 1, 2'000);
        at_ns = from_ns + between(1, 900);
        scene.watch.add(cpu, interval(Kind::vector, from_ns, at_ns));
        struck_ns += at_ns - from_ns;
      }
      const std::uint64_t end_ns = at_ns + between(kJoinNs + 1, 1'000);
      preempted[task] = random() % 2 == 0;
      counts.runs += 1;
      counts.wait_ns += wait_ns;
      (preempted[task] ? counts.involuntary : counts.voluntary) += 1;
      waited_ns += wait_ns;
      scene.run(cpu, static_cast<std::uint32_t>(task) + 100, start_ns, end_ns, counts);
      free_ns[task] = now_ns[cpu] = end_ns;
      if (random() % 10 == 0) scene.watch.settle(std::min(now_ns[0], now_ns[1]));
    }
    scene.watch.settle(UINT64_MAX);
    std::uint64_t told_waits_ns = 0;
    std::uint64_t told_strikes_ns = 0;
    LossLedger ledgers;
    for (const Told& told : scene.notes.losses) {
      const std::uint64_t ns = told.loss.detour.end_ns - told.loss.detour.start_ns;
      (told.loss.kind == LossKind::interrupted ? told_strikes_ns : told_waits_ns) += ns;
      const DetourLedger& ledger = ledgers.divide(told.loss, told.intervals);
      CHECK(ledger.explained_ns + ledger.overhead_ns + ledger.outside_ns() + ledger.unexplained_ns == ns);
      for (const Interval& each : told.intervals) {
        CHECK_FALSE((each.kind == Kind::task && each.id == told.loss.pid));
      }
    }
    CHECK(told_waits_ns == waited_ns);
    CHECK(told_strikes_ns == struck_ns);
    CHECK(scene.notes.runs.size() == 400);
    for (const Ran& ran : scene.notes.runs) CHECK(ran.facts.unseen_runs == 0);
  }
}

TEST_CASE("watch: what a task gives away by sched_yield is counted, and stolen by nobody") {
  Scene scene;
  const auto yielding = [&](std::uint64_t start_ns, std::uint64_t end_ns, TaskCounts counts, bool yielded) {
    const TaskRun run{start_ns, end_ns, 7, 7, 7, 1, true, false, counts, {7, 0}, yielded};
    scene.watch.add(0, run, interval(Kind::task, start_ns, end_ns, 7));
  };
  yielding(1'000, 2'000, counts_of(1, 0, 0, 1), true);
  scene.run(0, 8, 2'000, 4'000, counts_of(1, 0, 1, 0));
  yielding(4'000, 5'000, counts_of(2, 2'000, 0, 2), false);
  scene.run(0, 8, 5'000, 8'000, counts_of(2, 0, 2, 0));
  yielding(8'000, 9'000, counts_of(3, 5'000, 0, 3), true);
  scene.watch.settle(9'000);
  REQUIRE(scene.notes.losses.size() == 1);  // of the second wait: the first was a present
  CHECK(scene.notes.losses[0].loss.kind == LossKind::preempted);
  CHECK(scene.notes.losses[0].loss.detour.start_ns == 5'000);
  std::vector<RunFacts> facts;
  for (const Ran& each : scene.notes.runs) {
    if (each.run.pid == 7) facts.push_back(each.facts);
  }
  REQUIRE(facts.size() == 3);
  CHECK(facts[0].yielded);
  CHECK(facts[1].yielded_ns == 2'000);
  CHECK(facts[1].waited_ns == 0);
  CHECK_FALSE(facts[1].yielded);
  CHECK(facts[2].yielded_ns == 0);
  CHECK(facts[2].waited_ns == 3'000);
}

TEST_CASE("watch: a switch that the kernel counts as voluntary was no yield") {
  Scene scene;
  // Woken on its way to sleep, it looked runnable.
  const TaskRun run{1'000, 2'000, 7, 7, 7, 1, true, false, counts_of(1, 0, 1, 0), {7, 0}, true};
  scene.watch.add(0, run, interval(Kind::task, 1'000, 2'000, 7));
  scene.run(0, 8, 2'000, 4'000, counts_of(1, 0, 1, 0));
  scene.run(0, 7, 4'000, 5'000, counts_of(2, 500, 2, 0));
  scene.watch.settle(5'000);
  REQUIRE(scene.notes.losses.size() == 1);
  CHECK(scene.notes.losses[0].loss.kind == LossKind::queued);
}
