// SPDX-License-Identifier: Apache-2.0
// A CPU that idles until a task is woken there: from the kernel's records to the ledger of the wait.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <vector>

#include "pipeline/task_pipeline.h"
#include "unit/pipeline/quiet_kernel.h"

using namespace noised;
using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::system;

namespace {

constexpr unsigned kIdleCpu = 1;
constexpr std::uint32_t kSleeper = 4321;
constexpr std::uint64_t kBegin = 1'000'000'000;

// A kernel of one CPU, which hands over what it was given.
class OneCpu : public test::QuietKernel {
 public:
  void interval(noised_kind kind, noised_watch watched, std::uint64_t id, std::uint64_t start_ns, std::uint64_t end_ns,
                unsigned flags = 0) {
    noised_run_record record{};
    record.task.record.start_ns = kBegin + start_ns;
    record.task.record.duration_ns = end_ns - start_ns;
    record.task.record.id = id;
    record.task.record.kind = static_cast<noised_u8>(kind);
    record.task.record.watched = static_cast<noised_u8>(watched);
    record.task.record.flags = static_cast<noised_u8>(flags);
    record.task.record.size = sizeof(noised_record);
    records_.push_back(record);
  }
  void run(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t runs, std::uint64_t wait_ns,
           noised_watch watched = NOISED_WATCH_TASKS) {
    interval(NOISED_KIND_TASK, watched, kSleeper, start_ns, end_ns);
    noised_run_record& record = records_.back();
    std::strncpy(record.task.comm, "receiver", sizeof(record.task.comm) - 1);
    record.task.record.size = sizeof(record);
    record.runs = record.voluntary = runs;
    record.wait_ns = wait_ns;
  }

  std::size_t drain(std::size_t /*index*/, std::size_t /*limit*/, const RecordSink& sink) override {
    for (const noised_run_record& record : records_) hand_over(&record, record.task.record.size, sink);
    const std::size_t drained = records_.size();
    records_.clear();
    return drained;
  }

 private:
  std::vector<noised_run_record> records_;
};

struct Told {
  Loss loss;
  DetourLedger ledger;
};

class Notes : public PipelineSink {
 public:
  void begins(std::size_t /*cpu*/, std::uint64_t /*first_ns*/) override {}
  void interval(std::size_t /*cpu*/, const Interval& interval) override { intervals.push_back(interval); }
  void waits(std::size_t /*cpu*/, const Interval& /*interval*/) override {}
  void detour(std::size_t /*cpu*/, const DetourLedger& /*ledger*/, std::uint64_t /*tolerance_ns*/,
              const FeedDetour& /*shown*/) override {}
  void gap(std::size_t /*cpu*/, probe::GapKind /*kind*/, const Detour& /*gap*/) override {}
  void sample(std::size_t /*cpu*/, std::uint64_t /*end_ns*/, std::uint64_t /*iterations*/) override {}
  void stolen(std::size_t /*cpu*/, const StealWindow& /*window*/) override {}
  void loss(std::size_t /*cpu*/, const Loss& loss, const DetourLedger& ledger, const FeedDetour& /*shown*/) override {
    losses.push_back({loss, ledger});
  }
  void ran(std::size_t /*cpu*/, const TaskRun& /*run*/, const RunFacts& /*facts*/) override { ++runs; }

  unsigned runs = 0;
  std::vector<Interval> intervals;
  std::vector<Told> losses;
};

struct IdleScene {
  IdleScene() { tasks.record_to(&notes); }

  void drain(std::uint64_t at_ns) {
    now_ns = kBegin + at_ns;
    tasks.read();
    tasks.join(now_ns, MissedRuns{}, false);
  }

  std::uint64_t now_ns = kBegin;
  OneCpu kernel;
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  Services services;
  Chains chains{names, sources, services};
  DetourFeed feed{16};
  DrainClock clock{[this] { return now_ns; }};
  Notes notes;
  TaskPipeline tasks{{{kernel, names, clock}, sources, chains, feed}, {{kIdleCpu}, Kind::hardware, {}, false}, now_ns};
};

}  // namespace

TEST_CASE("a wait on an idle CPU: leaving idle, what the CPU did before the switch, and overhead", "[pipeline]") {
  IdleScene scene;
  scene.kernel.run(1'000, 2'000, 1, 0);
  scene.kernel.interval(NOISED_KIND_TASK, NOISED_WATCH_IDLE, kSleeper, 50'000, 80'000, NOISED_FLAG_IDLE);
  scene.kernel.interval(NOISED_KIND_VECTOR, NOISED_WATCH_IDLE, NOISED_VECTOR_CALL_FUNCTION_SINGLE, 80'100, 83'100);
  scene.kernel.interval(NOISED_KIND_SOFTIRQ, NOISED_WATCH_IDLE, 3, 83'200, 123'200);
  scene.kernel.interval(NOISED_KIND_TASK, NOISED_WATCH_IDLE, 0, 124'000, 128'000, NOISED_FLAG_IDLE);
  scene.kernel.run(128'000, 130'000, 2, 46'000);
  scene.drain(10'000'000);
  REQUIRE(scene.notes.losses.size() == 1);  // nothing interrupted the runs
  const auto& [loss, ledger] = scene.notes.losses[0];
  CHECK(loss.kind == LossKind::queued);
  CHECK(loss.detour.start_ns == kBegin + 50'000);
  CHECK(loss.waited_ns == 78'000);
  REQUIRE(ledger.entries.size() == 4);
  const Source& first = scene.sources.at(ledger.entries[0].source);
  CHECK(first.kind == Kind::task);
  CHECK(first.name == kLeavingIdle);
  CHECK(first.category == Category::scheduling);
  CHECK(ledger.entries[0].id == 0);  // the idle task's
  CHECK(ledger.entries[0].self_ns == 30'000);
  CHECK(ledger.entries[1].self_ns == 3'000);
  CHECK(scene.sources.at(ledger.entries[2].source).name == "NET_RX");
  CHECK(ledger.entries[2].self_ns == 40'000);
  CHECK(ledger.entries[3].source == ledger.entries[0].source);
  CHECK(ledger.entries[3].self_ns == 4'000);
  CHECK(ledger.overhead_ns == 1'000);
  CHECK(scene.notes.intervals.size() == 6);
}

TEST_CASE("a task that came to an idle CPU unseen has its run, and so have those after it", "[pipeline]") {
  IdleScene scene;
  scene.kernel.run(1'000, 2'000, 1, 0);
  scene.kernel.run(50'000, 50'000, 2, 500, NOISED_WATCH_IDLE);
  scene.kernel.run(60'000, 61'000, 3, 1'500);
  scene.drain(10'000'000);
  CHECK(scene.notes.runs == 3);
}

TEST_CASE("what an idle CPU did has no causes: what others do to it is not told", "[pipeline]") {
  IdleScene scene;
  scene.kernel.run(1'000, 50'000, 1, 0);
  noised_origin send{};
  send.kind = NOISED_ORIGIN_RESCHEDULE;
  send.targets = 1ULL << kIdleCpu;
  send.time_ns = kBegin + 49'000;  // answered when it idled, and nobody waited
  scene.kernel.interval(NOISED_KIND_VECTOR, NOISED_WATCH_IDLE, NOISED_VECTOR_RESCHEDULE, 60'000, 61'000);
  scene.kernel.run(62'000, 63'000, 2, 1'500);
  scene.now_ns = kBegin + 10'000'000;
  scene.tasks.read();
  scene.tasks.take(send);
  scene.tasks.join(scene.now_ns, MissedRuns{}, false);
  REQUIRE(scene.notes.intervals.size() == 3);
  CHECK(scene.notes.intervals[1].kind == Kind::vector);
  CHECK(scene.notes.intervals[1].cause == 0);
}
