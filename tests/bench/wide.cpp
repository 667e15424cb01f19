// SPDX-License-Identifier: Apache-2.0
// What a node of many CPUs takes: memory and the time of a drain, by the number of CPUs. Records are written to rings
// as the BPF programs do it, by nobody that costs anything; all behind them is the daemon's own pipeline.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"
#include "scenes.h"
#include "unit/pipeline/node_cpu.h"

using namespace noised;
using namespace noised::pipeline;
using noised::test::NodeCpu;
using noised::test::ticks_of;

namespace {

// No machine has it: the gauge of what entries cost (pipeline/entry_gauge.h) stays away.
constexpr unsigned kFirstCpu = 4'096;
constexpr std::uint64_t kBegin = 1'000'000'000'000;
constexpr std::uint64_t kDrainNs = 25'000'000;
constexpr std::uint32_t kSegments = (2U << 20U) / NOISED_SEGMENT_BYTES;  // trace.buffer_size, by default
constexpr std::size_t kLoopRing = 1U << 16U;                             // probe.h
constexpr std::size_t kShownPerCpu = 16;
constexpr unsigned kTasks = 8;  // on each CPU, by turns
constexpr std::uint64_t kRunNs = 3'900;
constexpr std::uint64_t kSwitchNs = 4'000;  // 250,000 a second

// What happens on every CPU in one drain: intervals in detours, or tasks that take turns.
struct Scene {
  std::vector<noised_task_record> records;
  std::vector<Detour> detours;
  unsigned runs = 0;

  [[nodiscard]] std::size_t events() const { return records.size() + runs; }
};

// Detours with 20 us to `longest_gap_ns` between them.
Scene interrupted(std::uint64_t longest_gap_ns) {
  bench::SceneWriter writer(longest_gap_ns);
  bench::Stream stream = writer.write(std::size_t{1} << 18U);
  Scene scene;
  scene.detours = std::move(stream.detours);
  std::erase_if(scene.detours, [](const Detour& each) { return each.end_ns + 10'000 > kDrainNs; });
  scene.records = std::move(stream.records);
  std::erase_if(scene.records, [&](const noised_task_record& each) {
    return scene.detours.empty() || each.record.start_ns + each.record.duration_ns > scene.detours.back().end_ns;
  });
  return scene;
}

class WideKernel : public system::KernelEvents {
 public:
  explicit WideKernel(unsigned count) {
    for (unsigned place = 0; place < count; ++place) cpus.emplace_back(kFirstCpu + place, kSegments, kLoopRing);
  }

  [[nodiscard]] noised_cpu& state(unsigned cpu) override { return cpus[cpu - kFirstCpu].state; }
  [[nodiscard]] std::span<volatile std::uint8_t> groups() override { return {groups_.data(), groups_.size()}; }
  std::size_t drain(std::size_t index, std::size_t limit, const system::RecordSink& sink) override {
    return cpus[index].reader.drain(limit, sink);
  }
  [[nodiscard]] bool drain_origins(const system::OriginSink& /*sink*/) override { return true; }
  [[nodiscard]] double take_fullness() override { return 0; }
  [[nodiscard]] system::LostCounters lost(unsigned cpu) const override {
    return {cpus[cpu - kFirstCpu].state.lost_full};
  }
  [[nodiscard]] std::uint64_t lost_origins() const override { return 0; }
  [[nodiscard]] bool attached(std::string_view /*tracepoint*/) const override { return true; }
  [[nodiscard]] system::MissedRuns missed_runs() const override { return {}; }
  [[nodiscard]] std::vector<ProgramView> programs() const override { return {}; }

  std::deque<NodeCpu> cpus;

 private:
  std::vector<std::uint8_t> groups_ = std::vector<std::uint8_t>(1U << 16U);
};

class WideNode {
 public:
  WideNode(unsigned count, bool tasks) : kernel_(count) {
    now_ns_ = kBegin - 50'000'000;
    clock_.add(sample());
    now_ns_ = kBegin - 10'000'000;
    (void)clock_.add(sample());
    PipelineOptions options;
    options.threshold_ns = 200;
    options.feed_size = std::max(account::DetourFeed::kStaged, kShownPerCpu * count);
    options.clocks = {[this] { return now_ns_; }, [this] { return sample(); }};
    std::vector<probe::MeasuringLoop*> loops;
    for (NodeCpu& cpu : kernel_.cpus) {
      if (tasks) options.watched_cpus.push_back(cpu.cpu());
      if (!tasks) loops.push_back(&cpu);
      cpu.state.watched = tasks ? NOISED_WATCH_TASKS : NOISED_WATCH_LOOP;
    }
    pipeline_ = std::make_unique<Pipeline>(kernel_, loops, clock_, sources_, names_, options);
  }

  /// Writes the scene on each CPU and drains; the nanoseconds that the drain took.
  double drain(const Scene& scene) {
    const std::uint64_t since_ns = now_ns_;
    now_ns_ += kDrainNs;
    for (NodeCpu& cpu : kernel_.cpus) write(cpu, scene, since_ns);
    const auto begin = std::chrono::steady_clock::now();
    pipeline_->drain();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }

  [[nodiscard]] std::uint64_t lost() const {
    account::Snapshot snapshot;
    pipeline_->fill(snapshot);
    return snapshot.lost.events + snapshot.lost.detours + snapshot.lost.unpaired + snapshot.lost.incomplete_detours;
  }

  /// Detours and waits that were attributed, on all CPUs.
  [[nodiscard]] std::uint64_t counted() const {
    account::Snapshot snapshot;
    pipeline_->fill(snapshot);
    std::uint64_t counted = 0;
    for (const account::CpuSnapshot& cpu : snapshot.cpus) counted += cpu.statistics.totals().detours;
    return counted;
  }

 private:
  [[nodiscard]] system::ClockSample sample() const { return {ticks_of(now_ns_), now_ns_, 20}; }

  void write(NodeCpu& cpu, const Scene& scene, std::uint64_t since_ns) {
    for (noised_task_record record : scene.records) {
      record.record.start_ns += since_ns;
      record.record.watched = NOISED_WATCH_LOOP;
      const bool is_task = record.record.kind == NOISED_KIND_TASK;
      cpu.put(record, is_task ? sizeof(noised_task_record) : sizeof(noised_record));
    }
    for (unsigned number = 0; number < scene.runs; ++number) put_run(cpu, number, since_ns + number * kSwitchNs);
    for (const Detour& detour : scene.detours)
      (void)cpu.own_ring.push({ticks_of(detour.start_ns + since_ns), ticks_of(detour.end_ns + since_ns), {}});
    if (cpu.loop_progress.first_ticks.load() == 0) cpu.loop_progress.first_ticks.store(ticks_of(since_ns));
    cpu.loop_progress.iterations.store(now_ns_ / 10);
    cpu.loop_progress.last_ticks.store(ticks_of(now_ns_ - 1'000));
  }

  // Tasks that sleep after each run, and wait for 500 ns when they are woken.
  void put_run(NodeCpu& cpu, unsigned number, std::uint64_t start_ns) {
    noised_run_record run{};
    noised_record& record = run.task.record;
    const std::uint32_t pid = 1'000 + (cpu.cpu() - kFirstCpu) * kTasks + number % kTasks;
    if (runs_of_.size() <= pid) runs_of_.resize(pid + 1);
    record.start_ns = start_ns;
    record.duration_ns = kRunNs;
    record.id = pid | std::uint64_t{pid} << 32U;
    record.kind = NOISED_KIND_TASK;
    record.watched = NOISED_WATCH_TASKS;
    run.tgid = pid;
    run.runs = ++runs_of_[pid];
    run.voluntary = run.runs;
    run.wait_ns = std::uint64_t{run.runs} * 500;
    run.task.comm[0] = static_cast<char>('a' + number % kTasks);
    cpu.put(run);
  }

  std::uint64_t now_ns_ = 0;
  system::ClockMap clock_;
  SourceTable sources_;
  system::Names names_{sources_, system::Kallsyms::parse("")};
  WideKernel kernel_;
  std::vector<std::uint32_t> runs_of_;  // by pid
  std::unique_ptr<Pipeline> pipeline_;
};

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct Measured {
  double median_ns = 0;  // of a drain
  double longest_ns = 0;
  std::uint64_t lost = 0;
  std::uint64_t bytes = 0;  // that this process has more than before there was a node
};

Measured measure(unsigned count, bool tasks, const Scene& scene, int drains) {
  const std::uint64_t before = resident_bytes();
  WideNode node(count, tasks);
  std::vector<double> times;
  for (int number = 0; number < 2; ++number) node.drain(scene);  // every source is seen
  for (int number = 0; number < drains; ++number) times.push_back(node.drain(scene));
  std::sort(times.begin(), times.end());
  const std::uint64_t after = resident_bytes();
  const std::uint64_t all = std::uint64_t{count} * (scene.detours.size() + scene.runs) * (times.size() + 2);
  if (node.lost() == 0 && node.counted() != all) {
    fmt::print(stderr, "bench_wide: {} detours and waits were counted of {}\n", node.counted(), all);
    std::exit(1);
  }
  return {times[times.size() / 2], times.back(), node.lost(), after - std::min(after, before)};
}

}  // namespace

// Usage: bench_wide CPUS TASKS SCENE, one measurement a process since memory is given back late; TASKS is loops or
// tasks, SCENE idle (nothing happens), quiet (250 detours a second, of loops) or busy. Prints JSON.
int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const unsigned count = arguments.size() == 3 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 0;
  if (count == 0 || count > 4'096) {
    fmt::print(stderr, "bench_wide: give a number of CPUs, loops or tasks, and idle, quiet or busy\n");
    return 2;
  }
  const bool tasks = arguments[1] == "tasks";
  Scene scene;
  if (arguments[2] == "quiet" && !tasks) scene = interrupted(8'000'000);
  if (arguments[2] == "busy" && !tasks) scene = interrupted(20'001);
  if (arguments[2] == "busy" && tasks) scene.runs = kDrainNs / kSwitchNs / kTasks * kTasks;
  const int drains = arguments[2] == "busy" ? 12 : 100;
  const Measured measured = measure(count, tasks, scene, drains);
  fmt::print(
      "{{\"cpus\": {}, \"what\": \"{}\", \"scene\": \"{}\", \"events_a_drain\": {}, \"median_ns\": {:.0f}, "
      "\"longest_ns\": {:.0f}, \"lost\": {}, \"bytes\": {}}}\n",
      count, arguments[1], arguments[2], scene.events() * count, measured.median_ns, measured.longest_ns, measured.lost,
      measured.bytes);
  return 0;
}
