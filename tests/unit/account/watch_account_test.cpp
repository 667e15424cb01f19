// SPDX-License-Identifier: Apache-2.0
// Which tasks a watch's account tells.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "account/task_run.h"
#include "account/watch_account.h"

using namespace noised;
using namespace noised::account;

namespace {

struct Watched {
  SourceTable sources;
  SourceId name = sources.intern(Kind::task, "rank");
  SourceId timer = sources.intern(Kind::vector, "local_timer");
  WatchAccount account{sources, 1'000};
  LossLedger ledger;

  void interrupt(std::uint32_t pid, std::uint64_t at_ns) {
    const Loss loss{{at_ns, at_ns + 10, false}, pid, name, 1, LossKind::interrupted, 0, pid};
    const Interval interval{at_ns, at_ns + 10, timer, Kind::vector, 0, 236, 0};
    account.lost(loss, ledger.divide(loss, std::span(&interval, 1)));
  }
  void run(std::uint32_t pid, std::uint64_t start_ns, std::uint64_t end_ns, bool ended = false,
           std::uint64_t life = 0) {
    RunFacts facts;
    facts.life = life == 0 ? pid : life;
    account.ran({start_ns, end_ns, pid, pid, name, 1, false, ended, {}, {}}, facts);
  }
  [[nodiscard]] WatchReport report(std::initializer_list<std::uint32_t> running = {}) const {
    WatchReport report;
    account.fill(report);
    for (const std::uint32_t pid : running) account.add_current({pid, name, 1, 1'500, pid, pid}, 2'000, report);
    return report;
  }
};

}  // namespace

TEST_CASE("a task that never leaves its CPU is one that ran", "[watch]") {
  Watched watched;
  CHECK(watched.report().tasks_seen == 0);
  CHECK(watched.report({5}).tasks_seen == 1);
  CHECK(watched.report({5, 6}).tasks_seen == 2);
  CHECK(watched.report({5}).counts.run_ns == 500);
  watched.interrupt(5, 1'600);
  CHECK(watched.report({5}).tasks_seen == 1);
  CHECK(watched.report({5, 6}).tasks_seen == 2);
  REQUIRE(watched.report({5}).tasks.size() == 1);
  CHECK(watched.report({5}).tasks[0].counts.run_ns == 500);
  CHECK(watched.report({5}).tasks[0].stolen_ns == 10);
  watched.run(5, 1'500, 1'700);
  CHECK(watched.report().tasks_seen == 1);
}

TEST_CASE("a pid's lives are tasks of their own", "[watch]") {
  Watched watched;
  watched.run(5, 1'100, 1'200, true);
  watched.run(5, 1'300, 1'400);
  watched.run(6, 900, 1'000);  // before the watching began
  CHECK(watched.report().tasks_seen == 2);
  CHECK(watched.report({5}).tasks_seen == 2);
  CHECK(watched.report().tasks.size() == 2);
}

TEST_CASE("a task whose end nobody saw has ended once its pid is another one's, or once it is gone", "[watch]") {
  Watched watched;
  watched.run(5, 1'100, 1'200, false, 1);
  watched.run(6, 1'100, 1'200, false, 2);
  watched.run(5, 1'300, 1'400, false, 3);
  watched.account.gone(2);
  const WatchReport report = watched.report();
  CHECK(report.tasks_seen == 3);
  REQUIRE(report.tasks.size() == 3);
  for (const WatchTask& task : report.tasks)
    if (task.pid == 6) CHECK(task.ended);
  CHECK(std::ranges::count(report.tasks, false, &WatchTask::ended) == 1);
}

TEST_CASE("more tasks than can be kept, none of which was seen to end: those that run lately are shown", "[watch]") {
  Watched watched;
  constexpr std::uint32_t kMany = 3 * WatchAccount::kTasks;
  for (std::uint32_t life = 1; life <= kMany; ++life) watched.run(life, 1'000 + life, 1'001 + life, false, life);
  watched.interrupt(kMany, 2'000 + kMany);
  CHECK(watched.report().tasks_seen == kMany);
  REQUIRE_FALSE(watched.report().tasks.empty());
  CHECK(watched.report().tasks[0].pid == kMany);
  watched.run(7, 9'000'000, 9'000'010, false, 7);  // forgotten, and here again: no new one
  CHECK(watched.report().tasks_seen == kMany);
}
