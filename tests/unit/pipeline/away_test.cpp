// SPDX-License-Identifier: Apache-2.0
// A loop that stepped aside, and could not come back because its CPU was offline: what was meant to be is no loss, what
// was not is blind.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "account/report_builder.h"
#include "pipeline/pipeline.h"
#include "unit/pipeline/quiet_kernel.h"

using namespace noised;
using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::probe;
using namespace noised::system;

namespace {

constexpr unsigned kLoopCpu = 1;
constexpr std::uint32_t kLoopPid = 77;
constexpr std::uint64_t kAwayBegin = 1'000'000'000;
constexpr std::uint64_t kMs = 1'000'000;

// A kernel of one CPU, which hands over what it was given.
class AwayCpu : public test::QuietKernel {
 public:
  AwayCpu() {
    state_.watched = NOISED_WATCH_LOOP;
    state_.probe_pid = state_.current_pid = kLoopPid;
  }
  // The loop had its CPU while that was its tasks'.
  void loop_ran(std::uint64_t start_ns, std::uint64_t end_ns) {
    noised_task_record record{};
    record.record.start_ns = kAwayBegin + start_ns;
    record.record.duration_ns = end_ns - start_ns;
    record.record.id = kLoopPid;
    record.record.kind = NOISED_KIND_TASK;
    record.record.watched = NOISED_WATCH_TASKS;
    record.record.size = sizeof(record);
    std::strncpy(record.comm, "noised/1", sizeof(record.comm) - 1);
    records_.push_back(record);
  }

  std::function<void()> meanwhile;  ///< happens once, in the next drain, when the loop's ring has been read

  std::size_t drain(std::size_t /*index*/, std::size_t /*limit*/, const RecordSink& sink) override {
    for (const noised_task_record& record : records_) sink(record.record, record.comm, nullptr);
    const std::size_t drained = records_.size();
    records_.clear();
    if (meanwhile) std::exchange(meanwhile, {})();
    return drained;
  }

 private:
  std::vector<noised_task_record> records_;
};

// A tick of its counter is a nanosecond.
class Loop : public MeasuringLoop {
 public:
  [[nodiscard]] unsigned cpu() const override { return kLoopCpu; }
  [[nodiscard]] DetourRing& ring() override { return ring_; }
  [[nodiscard]] const LoopProgress& progress() const override { return progress_; }
  [[nodiscard]] bool is_away() const override { return away; }
  [[nodiscard]] bool is_aside() const override { return aside; }
  [[nodiscard]] bool is_running() const override { return true; }
  [[nodiscard]] std::optional<std::uint64_t> switches() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint64_t> smi_count() const override { return std::nullopt; }

  void reach(std::uint64_t ns) { progress_.last_ticks.store(kAwayBegin + ns); }
  void gap(std::uint64_t start_ns, std::uint64_t end_ns, GapKind kind) {
    REQUIRE(ring_.push({kAwayBegin + start_ns, kAwayBegin + end_ns, kind}));
    reach(end_ns);
  }

  bool away = false;
  bool aside = false;

 private:
  friend struct AwayScene;
  DetourRing ring_{64};
  LoopProgress progress_;
};

struct AwayScene {
  AwayScene() {
    loop.progress_.first_ticks.store(kAwayBegin);
    PipelineOptions options;
    options.threshold_ns = 200;
    options.watched_cpus = {kLoopCpu};
    options.clocks = {[this] { return now_ns; }, [this] { return ClockSample{now_ns, now_ns, reading_ns}; }};
    clock.add({kAwayBegin - 20 * kMs, kAwayBegin - 20 * kMs, 1});
    clock.add({kAwayBegin - 10 * kMs, kAwayBegin - 10 * kMs, 1});
    pipeline.emplace(kernel, loops, clock, sources, names, options);
  }
  ReportCpu drain(std::uint64_t at_ns) {
    now_ns = kAwayBegin + at_ns;
    pipeline->drain();
    return report().cpus.at(0);
  }
  // The loop begins then, on a CPU that was offline so far; 0: it is still.
  void begin_at(std::uint64_t ns) {
    loop.away = ns == 0;
    loop.progress_.first_ticks.store(ns == 0 ? 0 : kAwayBegin + ns);
  }
  [[nodiscard]] Report report() const {
    Snapshot snapshot;
    pipeline->fill(snapshot);
    return build_report(snapshot, sources, RunDescription());
  }

  std::uint64_t now_ns = kAwayBegin;
  std::uint64_t reading_ns = 1;  // how long it took to read both clocks, half of it
  AwayCpu kernel;
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  ClockMap clock;
  Loop loop;
  std::vector<MeasuringLoop*> loops{&loop};
  std::optional<Pipeline> pipeline;
};

}  // namespace

TEST_CASE("what a loop was aside before its CPU went offline is not blind, and what it sees after is its own") {
  AwayScene scene;
  Loop& loop = scene.loop;
  loop.reach(10 * kMs);
  CHECK(scene.drain(10 * kMs).observed_ns == 10 * kMs);
  loop.aside = true;
  CHECK(scene.drain(90 * kMs).blind_ns == 0);
  // It is to come back and cannot.
  loop.aside = false;
  scene.kernel.meanwhile = [&] {
    loop.gap(10 * kMs, 100 * kMs, GapKind::rested);
    loop.away = true;
  };
  CHECK(scene.drain(101 * kMs).blind_ns == 1 * kMs);
  CHECK(scene.drain(120 * kMs).blind_ns == 20 * kMs);
  CHECK(scene.drain(140 * kMs).blind_ns == 40 * kMs);
  // Back on its CPU, it was preempted before it measured: by nobody that took anything from it.
  scene.kernel.loop_ran(149 * kMs, 150 * kMs);
  loop.away = false;
  loop.gap(100 * kMs, 151 * kMs, GapKind::moved);
  loop.gap(160 * kMs, 161 * kMs, GapKind::detour);
  loop.reach(170 * kMs);
  ReportCpu cpu = scene.drain(171 * kMs);
  CHECK(cpu.blind_ns == 51 * kMs);
  CHECK(cpu.observed_ns == 29 * kMs);
  CHECK(cpu.detours == 1);
  CHECK(cpu.detour_ns == kMs);
  const Report report = scene.report();
  REQUIRE(report.lost.by.size() == 1);
  CHECK(report.lost.by[0].reason == "loop_moved");
  CHECK(report.lost.by[0].count == 1);
}

TEST_CASE("a clock source that changes is counted among what was lost", "[pipeline]") {
  AwayScene scene;
  CHECK(scene.report().lost.by.empty());
  scene.pipeline->note_clock_source();
  const Report report = scene.report();
  REQUIRE(report.lost.by.size() == 1);
  CHECK(report.lost.by[0].reason == "clock_source");
  CHECK_FALSE(report.lost.by[0].cpu.has_value());
}

TEST_CASE("a detour whose causes cannot be found because of the clocks is incomplete, and counted with the reason") {
  AwayScene scene;
  const bool read_well = GENERATE(true, false);
  scene.reading_ns = read_well ? 1 : 20'000;
  scene.loop.gap(10 * kMs, 11 * kMs, GapKind::detour);
  scene.loop.reach(12 * kMs);
  scene.drain(12 * kMs);
  const ReportLost lost = scene.report().lost;
  CHECK(lost.incomplete_detours == (read_well ? 0 : 1));
  REQUIRE(lost.by.size() == (read_well ? 0 : 1));
  if (read_well) return;
  CHECK(lost.by[0].reason == "clock_uncertain");
  CHECK(lost.by[0].cpu == kLoopCpu);
  CHECK(lost.by[0].count == 1);
}

TEST_CASE("time before a CPU was there is blind, from the start until its loop began") {
  AwayScene scene;
  scene.begin_at(0);
  CHECK(scene.drain(10 * kMs).blind_ns == 10 * kMs);
  const ReportCpu before = scene.drain(20 * kMs);
  CHECK(before.blind_ns == 20 * kMs);
  CHECK(before.observed_ns == 0);
  scene.begin_at(25 * kMs);
  scene.loop.reach(30 * kMs);
  const ReportCpu there = scene.drain(30 * kMs);
  CHECK(there.blind_ns == 25 * kMs);
  CHECK(there.observed_ns == 5 * kMs);
  scene.loop.gap(30 * kMs, 40 * kMs, GapKind::moved);
  scene.loop.reach(50 * kMs);
  const ReportCpu after = scene.drain(50 * kMs);
  CHECK(after.blind_ns == 35 * kMs);
  CHECK(after.observed_ns == 15 * kMs);
}
