// SPDX-License-Identifier: Apache-2.0
// Loops on some CPUs, and watched tasks on the others, in one pipeline: each is told as what it is.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "account/report_builder.h"
#include "pipeline/pipeline.h"
#include "unit/pipeline/node_cpu.h"

using namespace noised;
using namespace noised::account;
using namespace noised::pipeline;
using namespace noised::system;

namespace {

constexpr std::uint64_t kMixedBegin = 1'000'000'000;

// What takes time differs from CPU to CPU, so that no two can be mistaken for each other.
std::uint64_t taken_ns(unsigned cpu) { return 2'000 + 20 * std::uint64_t{cpu}; }
std::string thief_of(unsigned cpu) { return "thief" + std::to_string(cpu); }

class MixedKernel : public KernelEvents {
 public:
  explicit MixedKernel(const std::vector<unsigned>& cpus) {
    for (const unsigned cpu : cpus) nodes.emplace_back(cpu);
  }
  [[nodiscard]] test::NodeCpu& node(unsigned cpu) {
    return *std::ranges::find_if(nodes, [cpu](const test::NodeCpu& each) { return each.cpu() == cpu; });
  }
  [[nodiscard]] noised_cpu& state(unsigned cpu) override { return node(cpu).state; }
  [[nodiscard]] std::span<volatile std::uint8_t> groups() override { return {}; }
  std::size_t drain(std::size_t index, std::size_t limit, const RecordSink& sink) override {
    drained.push_back(index);
    return nodes[index].reader.drain(limit, sink);
  }
  [[nodiscard]] bool drain_origins(const OriginSink& /*sink*/) override { return true; }
  [[nodiscard]] double take_fullness() override { return 0; }
  [[nodiscard]] LostCounters lost(unsigned /*cpu*/) const override { return {}; }
  [[nodiscard]] std::uint64_t lost_origins() const override { return 0; }
  [[nodiscard]] bool attached(std::string_view /*tracepoint*/) const override { return true; }
  [[nodiscard]] MissedRuns missed_runs() const override { return {}; }
  [[nodiscard]] std::vector<ProgramView> programs() const override { return {}; }

  std::deque<test::NodeCpu> nodes;
  std::vector<std::size_t> drained;  // places, in the order in which they were
};

noised_run_record task_record(noised_watch watched, std::uint32_t pid, const std::string& name, std::uint64_t start_ns,
                              std::uint64_t end_ns) {
  noised_run_record run{};
  noised_record& record = run.task.record;
  record.start_ns = kMixedBegin + start_ns;
  record.duration_ns = end_ns - start_ns;
  record.id = pid;
  record.kind = NOISED_KIND_TASK;
  record.watched = static_cast<noised_u8>(watched);
  std::strncpy(run.task.comm, name.c_str(), sizeof(run.task.comm) - 1);
  run.runs = 1;
  run.tgid = pid;
  return run;
}

struct MixedScene {
  explicit MixedScene(std::vector<unsigned> all, unsigned every) : cpus(std::move(all)), kernel(cpus) {
    for (test::NodeCpu& node : kernel.nodes) {
      if (node.cpu() % every == 0) {
        loops.push_back(&node);
        node.loop_progress.first_ticks.store(test::ticks_of(kMixedBegin));
      } else {
        node.state.watched = NOISED_WATCH_TASKS;
        node.state.probe_pid = 0;
        node.state.current_pid = 0;
      }
    }
    PipelineOptions options;
    options.threshold_ns = 200;
    options.watched_cpus = cpus;
    options.clocks = {[this] { return now_ns; }, [this] { return ClockSample{test::ticks_of(now_ns), now_ns, 1}; }};
    for (const std::uint64_t before_ns : {20'000'000U, 10'000'000U})
      clock.add({test::ticks_of(kMixedBegin - before_ns), kMixedBegin - before_ns, 1});
    pipeline.emplace(kernel, loops, clock, sources, names, options);
  }
  [[nodiscard]] bool has_loop(unsigned cpu) const {
    return std::ranges::any_of(loops, [cpu](const probe::MeasuringLoop* loop) { return loop->cpu() == cpu; });
  }

  // A task of its own takes time from each loop; on each other CPU, a softirq takes some from a task that runs for 1
  // ms.
  void happen() {
    for (test::NodeCpu& node : kernel.nodes) {
      const std::uint64_t ns = taken_ns(node.cpu());
      if (has_loop(node.cpu())) {
        const auto thief =
            task_record(NOISED_WATCH_LOOP, 1'000 + node.cpu(), thief_of(node.cpu()), 1'000'000, 1'000'000 + ns);
        REQUIRE(node.put(thief.task));
        REQUIRE(node.own_ring.push({test::ticks_of(kMixedBegin + 1'000'000),
                                    test::ticks_of(kMixedBegin + 1'000'000 + ns), probe::GapKind::detour}));
        node.loop_progress.last_ticks.store(test::ticks_of(kMixedBegin + 5'000'000));
        continue;
      }
      noised_record softirq{};
      softirq.start_ns = kMixedBegin + 1'500'000;
      softirq.duration_ns = ns;
      softirq.id = 3;
      softirq.kind = NOISED_KIND_SOFTIRQ;
      softirq.watched = NOISED_WATCH_TASKS;
      REQUIRE(node.put(softirq));
      REQUIRE(node.put(task_record(NOISED_WATCH_TASKS, 1'000 + node.cpu(), "victim", 1'000'000, 2'000'000)));
    }
    now_ns = kMixedBegin + 6'000'000;
    pipeline->drain();
    now_ns += 10'000'000;
    pipeline->drain();
  }
  [[nodiscard]] Report report() const {
    Snapshot snapshot;
    pipeline->fill(snapshot);
    return build_report(snapshot, sources, RunDescription());
  }

  std::uint64_t now_ns = kMixedBegin;
  std::vector<unsigned> cpus;
  MixedKernel kernel;
  SourceTable sources;
  Names names{sources, Kallsyms::parse("")};
  ClockMap clock;
  std::vector<probe::MeasuringLoop*> loops;
  std::optional<Pipeline> pipeline;
};

std::vector<unsigned> mixed_cpus(unsigned count) {
  std::vector<unsigned> cpus;
  for (unsigned i = 0; i < count; ++i) cpus.push_back(i < 3 ? i : 2 * i + 1);  // holes
  return cpus;
}

}  // namespace

TEST_CASE("beside loops, the tasks of other CPUs are watched, and each CPU is told as what it is", "[pipeline]") {
  const unsigned count = GENERATE(2U, 5U, 64U, 256U);
  const unsigned every = GENERATE(1U, 2U, 3U);  // a loop on each CPU, on even ones, on those that 3 divides
  INFO(count << " CPUs, a loop on every " << every << ".");
  MixedScene scene(mixed_cpus(count), every);
  scene.happen();
  const Report report = scene.report();
  REQUIRE(report.cpus.size() == count);
  CHECK(report.lost.by.empty());
  for (std::size_t place = 0; place < count; ++place) {
    const unsigned cpu = scene.cpus[place];
    INFO("CPU " << cpu);
    const ReportCpu& told = report.cpus[place];
    REQUIRE(told.cpu == cpu);
    CHECK(told.mode == (scene.has_loop(cpu) ? "auto" : "watch"));
    CHECK(told.detours == 1);
    CHECK(told.detour_ns == taken_ns(cpu));
    CHECK(told.explained_ns == taken_ns(cpu));
    CHECK(told.observed_ns == (scene.has_loop(cpu) ? 5'000'000 : 1'000'000));
    const auto source = std::ranges::find(report.sources, cpu, &ReportSource::cpu);
    REQUIRE(source != report.sources.end());
    CHECK(source->kind == (scene.has_loop(cpu) ? "task" : "softirq"));
    if (scene.has_loop(cpu)) CHECK(source->name == thief_of(cpu));
    CHECK(source->total_ns == taken_ns(cpu));
    CHECK(std::ranges::count(report.sources, cpu, &ReportSource::cpu) == 1);
  }
  // Each ring once a drain, whoever reads it.
  REQUIRE(scene.kernel.drained.size() == 2 * count);
  std::vector<std::size_t> first(scene.kernel.drained.begin(), scene.kernel.drained.begin() + count);
  std::ranges::sort(first);
  for (std::size_t place = 0; place < count; ++place) CHECK(first[place] == place);
}

TEST_CASE("who has a CPU, and until when, is asked of that CPU, not of a place among the loops", "[pipeline]") {
  MixedScene scene({0, 1, 4, 5}, 5);  // loops on 0 and 5
  scene.kernel.node(5).state.watched = NOISED_WATCH_TASKS;
  scene.kernel.node(5).state.current_pid = 4711;
  scene.kernel.node(5).state.task_start_ns = kMixedBegin + 2'000'000;
  scene.happen();
  const TaskPipeline& tasks = *scene.pipeline->tasks();
  CHECK(tasks.current_pid(5) == 4711);
  CHECK(tasks.busy_until_ns(5) == kMixedBegin + 2'000'000);
  CHECK(tasks.current_pid(1) == 0);
  CHECK(tasks.busy_until_ns(1) == kMixedBegin + 2'000'000);
  CHECK(tasks.busy_until_ns(0) == 0);
}
