// SPDX-License-Identifier: Apache-2.0
// task: daemons that wake up at regular times and work for a while.
#include <algorithm>

#include "base/clocks.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kTaskPeriod = 20'000'000;
constexpr std::size_t kLongestName = 15;

struct Task {
  std::uint64_t phase_ns;
  std::uint64_t period_ns;
  std::uint64_t work_ns;
  unsigned source;
  std::vector<Occurrence> activations;
};

void run(Task& task, const Window& window) {
  const unsigned pid = thread_id();
  std::size_t done = 0;
  std::uint64_t woke_cpu_ns = 0;
  std::uint64_t preempted = preemptions();
  for (std::uint64_t next = window.start_ns + task.phase_ns; next < window.end_ns && done + 1 < task.activations.size();
       next += task.period_ns) {
    const bool slept = monotonic_ns() < next;
    sleep_until(next);
    charge(woke_cpu_ns, done == 0 ? nullptr : &task.activations[done - 1]);
    Occurrence& activation = task.activations[done++];
    const std::uint64_t on_the_way = preemptions() - preempted;
    activation = work_for(task.work_ns);
    activation.preempted = on_the_way;
    preempted = preemptions();
    activation.slept = slept;
    activation.source = task.source;
    activation.pid = pid;
  }
  const bool slept = monotonic_ns() < window.end_ns;
  sleep_until(window.end_ns);
  charge(woke_cpu_ns, done == 0 ? nullptr : &task.activations[done - 1]);
  if (slept) {  // which wakes it up once more
    Occurrence& last = task.activations[done++];
    last.start_ns = last.end_ns = monotonic_ns();
    last.slept = true;
    last.source = task.source;
    last.pid = pid;
    last.preempted = preemptions() - preempted;
  }
  task.activations.resize(done);
}

}  // namespace

Result<Truth> generate_task(const GeneratorOptions& options) {
  const std::uint64_t period = options.period_ns.value_or(std::max(kTaskPeriod, 5 * options.work_ns));
  const std::string base = options.name.empty() ? "noised-task" : options.name;
  Truth truth;
  truth.shape = Shape::activations;
  truth.how = std::to_string(options.count) + " of " + base;
  std::vector<Task> tasks;
  tasks.reserve(options.count);
  GeneratorThreads threads;
  for (unsigned i = 0; i < options.count; ++i) {
    const std::string suffix = options.count == 1 ? "" : "-" + std::to_string(i);
    const std::string name = base.substr(0, kLongestName - suffix.size()) + suffix;
    truth.sources.push_back({"task", name});
    // Allocated and touched now, so that no page fault of its own disturbs the CPU later.
    Task& task = tasks.emplace_back(Task{options.offset_ns * i, period, options.work_ns, i, {}});
    task.activations.resize(options.duration_ns / period + 2);
    threads.add(on_cpu(options, name), [&task](const Window& window) { run(task, window); });
  }
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  if (!window) return window.error();
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  for (const Task& task : tasks)
    truth.occurrences.insert(truth.occurrences.end(), task.activations.begin(), task.activations.end());
  return truth;
}

}  // namespace noised::selftest
