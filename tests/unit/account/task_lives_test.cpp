// SPDX-License-Identifier: Apache-2.0
// Whose runs these are: pids and places that are used again, ends that nobody saw, threads that become leaders.
#include <catch2/catch_test_macros.hpp>

#include "account/task_lives.h"
#include "account/task_watch.h"

using namespace noised;
using namespace noised::account;

namespace {

TaskRun run_of(std::uint32_t pid, std::uint32_t tgid, TaskId id, std::uint64_t start_ns, bool ended = false) {
  TaskRun run;
  run.start_ns = start_ns;
  run.end_ns = start_ns + 10;
  run.pid = pid;
  run.tgid = tgid;
  run.ended = ended;
  run.id = id;
  return run;
}

class Sums : public WatchSink {
 public:
  void lost(std::size_t /*cpu*/, const Loss& loss, std::span<const Interval> /*intervals*/) override {
    lives_lost.push_back(loss.life);
  }
  void ran(std::size_t /*cpu*/, const TaskRun& /*run*/, const RunFacts& facts) override { ran_facts.push_back(facts); }
  void gone(std::uint64_t life) override { gone_lives.push_back(life); }

  std::vector<RunFacts> ran_facts;
  std::vector<std::uint64_t> lives_lost;
  std::vector<std::uint64_t> gone_lives;
};

struct LivesScene {
  void run(std::size_t cpu, TaskRun run, TaskCounts counts) {
    run.counts = counts;
    watch.add(cpu, run, {run.start_ns, run.end_ns, 1, Kind::task, 0, run.pid, 0});
  }
  [[nodiscard]] const RunFacts& facts(std::size_t at) const { return sums.ran_facts.at(at); }

  Sums sums;
  TaskWatch watch{2, sums};
};

constexpr TaskId kLeader{1'000, 7};
constexpr TaskId kThread{2'000, 9};

}  // namespace

TEST_CASE("lives: who is found at a task's place later shows that it has ended") {
  TaskLives lives;
  const std::uint64_t first = lives.number_of(run_of(5, 5, {10, 1}, 100));
  CHECK(lives.number_of(run_of(5, 5, {10, 1}, 200)) == first);
  const std::uint64_t other = lives.number_of(run_of(5, 5, {11, 2}, 300));  // the pid, at another place
  CHECK(other != first);
  const std::uint64_t next = lives.number_of(run_of(6, 6, {10, 3}, 400));  // the place
  CHECK(next != first);
  lives.settle(399);
  CHECK(lives.gone().empty());
  CHECK(lives.last_run(10, first) != nullptr);
  lives.settle(400);
  CHECK(lives.gone() == std::vector{first});
  CHECK(lives.last_run(10, first) == nullptr);
  CHECK(lives.number_of(run_of(6, 6, {10, 4}, 500)) != next);  // pid and place: born later
  CHECK(lives.size() == 3);
}

TEST_CASE("lives: runs that are read after those of the task that came to the same place are still the old one's") {
  TaskLives lives;
  const std::uint64_t first = lives.number_of(run_of(5, 5, {10, 1}, 100));
  const std::uint64_t second = lives.number_of(run_of(6, 6, {10, 2}, 400));
  CHECK(lives.number_of(run_of(5, 5, {10, 1}, 200)) == first);
  CHECK(lives.number_of(run_of(6, 6, {10, 2}, 500)) == second);
  const std::uint64_t unknown = lives.number_of(run_of(4, 4, {10, 0}, 50));
  CHECK(unknown != first);
  CHECK(unknown != second);
  CHECK(lives.number_of(run_of(5, 5, {10, 1}, 300, true)) == first);
  lives.end(10, first);
  CHECK(lives.last_run(10, first) == nullptr);
  CHECK(lives.number_of(run_of(6, 6, {10, 2}, 600)) == second);
  lives.settle(1'000);
  CHECK(lives.gone() == std::vector{unknown});  // the end of the first was seen
}

TEST_CASE("lives: a task that has the CPU is known by what ran before, or from its first run on") {
  TaskLives lives;
  const CurrentTask current{5, kNoName, 0, 100, 10};
  CHECK(lives.find(current) == 0);
  const std::uint64_t number = lives.number_of(current);
  CHECK(lives.find(current) == number);
  CHECK(lives.number_of(run_of(5, 5, {10, 1}, 100)) == number);
  CHECK(lives.number_of(run_of(5, 5, {10, 1}, 200)) == number);
  CHECK(lives.find({6, kNoName, 0, 300, 10}) == 0);
  CHECK(lives.number_of(CurrentTask{6, kNoName, 0, 300, 10}) != number);
}

TEST_CASE("lives: a table that is full forgets those that have not run for longest") {
  TaskLives lives;
  for (std::uint32_t i = 0; i < 4 * TaskLives::kTasks; ++i) {
    lives.number_of(run_of(i, i, {i, 0}, 100 + i));
    REQUIRE(lives.size() <= TaskLives::kTasks);
  }
  CHECK(lives.has_forgotten());
  CHECK(lives.gone().size() + lives.size() == 4 * TaskLives::kTasks);
  CHECK(lives.find({4 * TaskLives::kTasks - 1, kNoName, 0, 0, 4 * TaskLives::kTasks - 1}) != 0);
}

TEST_CASE("watch: a thread that execs is one life under its leader's pid, and the leader another one") {
  LivesScene scene;
  scene.run(0, run_of(100, 100, kLeader, 1'000), {0, 50, 50, 0, 500, 0});
  scene.run(1, run_of(101, 100, kThread, 1'000), {0, 7, 7, 0, 70, 0});
  scene.watch.settle(2'000);
  // The exec: the thread has its leader's pid and time of birth; the leader's last switch comes with the thread's pid.
  scene.run(0, run_of(100, 100, {kThread.slot, kLeader.birth}, 3'020), {0, 9, 9, 0, 90, 0});
  scene.run(1, run_of(101, 100, kThread, 3'000), {0, 8, 8, 0, 80, 0});  // before it, and read later
  scene.run(1, run_of(101, 100, kLeader, 3'030, true), {0, 51, 51, 0, 510, 0});
  scene.run(1, run_of(100, 100, {kThread.slot, kLeader.birth}, 3'100), {0, 10, 10, 0, 100, 0});
  scene.watch.settle(4'000);
  REQUIRE(scene.sums.ran_facts.size() == 6);
  const std::uint64_t leader = scene.facts(0).life;
  const std::uint64_t thread = scene.facts(1).life;
  CHECK(leader != thread);
  for (const std::size_t at : {2U, 3U, 5U}) {
    INFO(at);
    CHECK(scene.facts(at).life == thread);
    CHECK(scene.facts(at).known);
    CHECK(scene.facts(at).voluntary == 1);
    CHECK(scene.facts(at).minor_faults == 10);
    CHECK(scene.facts(at).unseen_runs == 0);
  }
  CHECK(scene.facts(4).life == leader);
  CHECK(scene.facts(4).voluntary == 1);
  CHECK(scene.facts(4).minor_faults == 10);
  CHECK(scene.watch.followed() == 1);
  CHECK(scene.sums.gone_lives.empty());
}

TEST_CASE("watch: a thread that execs in the run in which it was first seen, while that went on, is one life") {
  LivesScene scene;
  scene.watch.add(0, {1'500, 1'600, 2, Kind::vector, 0, 0, 0});
  scene.watch.add(0, {101, kNoName, 1, 1'000, kThread.slot}, 4'000);
  TaskRun run = run_of(100, 100, {kThread.slot, kLeader.birth}, 1'000);
  run.end_ns = 5'000;
  scene.run(0, run, {0, 1, 1, 0, 10, 0});
  scene.watch.settle(6'000);
  REQUIRE(scene.sums.lives_lost.size() == 1);
  REQUIRE(scene.sums.ran_facts.size() == 1);
  CHECK(scene.sums.lives_lost[0] == scene.facts(0).life);
}

TEST_CASE("watch: a new life at the same pid begins with its own first counts") {
  LivesScene scene;
  scene.run(0, run_of(5, 5, {10, 1}, 100), {1'000, 30, 20, 10, 300, 3});
  scene.run(0, run_of(5, 5, {11, 2}, 200), {0, 1, 1, 0, 12, 0});          // just born
  scene.run(0, run_of(5, 5, {12, 3}, 300), {9'000, 80, 70, 10, 900, 9});  // it ran elsewhere before
  scene.watch.settle(1'000);
  REQUIRE(scene.sums.ran_facts.size() == 3);
  CHECK(scene.facts(1).known);
  CHECK(scene.facts(1).voluntary == 1);
  CHECK(scene.facts(1).minor_faults == 12);
  CHECK_FALSE(scene.facts(2).known);
  CHECK(scene.facts(2).voluntary == 1);
  CHECK(scene.facts(2).minor_faults == 0);
  CHECK(scene.facts(2).unseen_runs == 0);
  CHECK(scene.facts(2).unseen_wait_ns == 0);
}

TEST_CASE("watch: counts that wrap go on, counts that fall are another task's") {
  LivesScene scene;
  constexpr std::uint32_t kLast = UINT32_MAX;
  scene.run(0, run_of(5, 5, {10, 1}, 100), {0, kLast - 1, kLast, 7, kLast - 3, 0});
  scene.run(0, run_of(5, 5, {10, 1}, 200), {0, kLast, 0, 7, 6, 0});
  scene.run(0, run_of(5, 5, {10, 1}, 300), {0, 9, 2, 6, 2, 0});  // neither pid nor place nor birth tells
  scene.watch.settle(1'000);
  REQUIRE(scene.sums.ran_facts.size() == 3);
  CHECK(scene.facts(1).known);
  CHECK(scene.facts(1).voluntary == 1);
  CHECK(scene.facts(1).minor_faults == 10);
  CHECK_FALSE(scene.facts(2).known);
  CHECK(scene.facts(2).voluntary == 1);
  CHECK(scene.facts(2).involuntary == 0);
  CHECK(scene.facts(2).minor_faults == 0);
}
