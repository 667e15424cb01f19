// SPDX-License-Identifier: Apache-2.0
// When a report is made: after a drain that began after somebody asked.
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "noised/api/watch_sessions.h"
#include "system/services.h"
#include "unit/pipeline/quiet_kernel.h"

using namespace noised;
using namespace noised::account;
using namespace noised::daemon;
using namespace noised::pipeline;
using namespace noised::system;

namespace {

constexpr std::uint64_t kWatchBegin = 1'000'000'000;

// A task of group 1 runs once and ends in each drain, and another pid does so in the next.
class ShortTasks : public test::QuietKernel {
 public:
  std::size_t drain(std::size_t /*index*/, std::size_t /*limit*/, const RecordSink& sink) override {
    noised_run_record record{};
    record.task.record.start_ns = kWatchBegin + 1'000 * ++made;
    record.task.record.duration_ns = 500;
    record.task.record.id = made << 32U | (100 + made);
    record.task.record.kind = NOISED_KIND_TASK;
    record.task.record.watched = NOISED_WATCH_TASKS;
    record.task.record.flags = NOISED_FLAG_ENDED;
    record.task.record.group = 1;
    record.task.record.size = sizeof(record);
    record.tgid = static_cast<noised_u32>(100 + made);
    record.runs = record.voluntary = 1;
    hand_over(&record, sizeof(record), sink);
    return 1;
  }

  std::uint64_t made = 0;
};

struct SessionsScene {
  void step() { sessions.step(tasks, now_ns); }
  void drain() {
    now_ns += 1'000'000;
    tasks.read();
    tasks.join(now_ns, MissedRuns{}, false);
  }

  std::uint64_t now_ns = kWatchBegin;
  ShortTasks kernel;
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  Services services;
  Chains chains{names, sources, services};
  DetourFeed feed{16};
  DrainClock clock{[this] { return now_ns; }};
  TaskPipeline tasks{{{kernel, names, clock}, sources, chains, feed}, {{0}, Kind::hardware, {}, false}, now_ns};
  WatchSessions sessions;
};

}  // namespace

TEST_CASE("a report has what happened before it was asked for, also where a drain went on then", "[watch]") {
  SessionsScene scene;
  const std::optional<std::size_t> group = scene.sessions.open(false, false);
  REQUIRE(group == 1);
  scene.step();
  REQUIRE(scene.sessions.is_open(1));

  // Asked before a drain: it answers.
  scene.sessions.ask(1);
  CHECK(scene.sessions.take_asked());
  scene.drain();
  scene.step();
  const auto first = scene.sessions.take(1);
  REQUIRE(first);
  CHECK(first->tasks_seen == 1);
  CHECK_FALSE(scene.sessions.wanted());

  // Asked while one goes on, which has read the rings: the task of the next was there when it was asked for.
  CHECK_FALSE(scene.sessions.take_asked());
  scene.drain();
  scene.sessions.ask(1);
  scene.step();
  CHECK_FALSE(scene.sessions.take(1));
  CHECK(scene.sessions.wanted());
  CHECK(scene.sessions.take_asked());
  scene.drain();
  scene.step();
  const auto second = scene.sessions.take(1);
  REQUIRE(second);
  CHECK(second->tasks_seen == 3);
  CHECK_FALSE(scene.sessions.wanted());

  // A session that ends meanwhile leaves nothing for the next of its group.
  scene.sessions.ask(1);
  CHECK(scene.sessions.take_asked());
  scene.sessions.close(1);
  scene.drain();
  scene.step();
  CHECK_FALSE(scene.sessions.take(1));
  CHECK_FALSE(scene.sessions.take_asked());
}
