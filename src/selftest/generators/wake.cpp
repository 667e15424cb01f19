// SPDX-License-Identifier: Apache-2.0
// wake: a thread that sleeps on the CPU until another one, on another CPU, wakes it.
#include "selftest/generators/wake.h"

#include <semaphore.h>
#include <algorithm>
#include <cerrno>
#include <vector>

#include "selftest/generator.h"
#include "selftest/generator_threads.h"

namespace noised::selftest {

std::uint64_t wake_cost_ns(GeneratorOptions options) {
  options.work_ns = 0;
  options.period_ns = 2'000'000;
  options.duration_ns = 100'000'000;
  const Result<Truth> truth = generate_wake(options);
  if (!truth) return 0;
  std::vector<std::uint64_t> costs;
  for (const Occurrence& each : truth.value().occurrences) {
    if (each.charged_ns > each.cpu_ns) costs.push_back(each.charged_ns - each.cpu_ns);
  }
  std::ranges::sort(costs);
  return costs.empty() ? 0 : costs[costs.size() * 9 / 10];
}

namespace {

constexpr std::uint64_t kWakePeriod = 20'000'000;
constexpr const char* kWakeName = "noised-wake";
constexpr const char* kWaker = "noised-waker";

// Its waker has let go of it when the sleeper runs. An eventfd's holds a lock, for which the sleeper of a PREEMPT_RT
// kernel has to sleep once more.
class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void post() { sem_post(&semaphore_); }
  void wait() {
    while (sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }

 private:
  sem_t semaphore_;
};

void sleep_and_work(Semaphore& wakeup, std::uint64_t work_ns, std::vector<Occurrence>& out) {
  const unsigned pid = thread_id();
  std::uint64_t woke_cpu_ns = 0;
  std::uint64_t preempted = preemptions();
  Occurrence* previous = nullptr;
  for (Occurrence& activation : out) {
    wakeup.wait();
    charge(woke_cpu_ns, previous);
    const std::uint64_t on_the_way = preemptions() - preempted;
    activation = work_for(work_ns);
    activation.pid = pid;
    activation.preempted = on_the_way;
    preempted = preemptions();
    previous = &activation;
  }
}

void wake(Semaphore& wakeup, std::uint64_t period, std::size_t times, const Window& window) {
  for (std::size_t i = 0; i < times; ++i) {
    sleep_until(window.start_ns + i * period);
    wakeup.post();
  }
}

}  // namespace

Result<Truth> generate_wake(const GeneratorOptions& options) {
  Semaphore wakeup;  // it counts: a sleeper that the host holds up misses no wakeup
  Truth truth;
  truth.shape = Shape::activations;
  truth.how = std::string(kWakeName) + " woken by " + kWaker;
  truth.sources = {{"task", kWakeName}};
  truth.waker = kWaker;
  const std::uint64_t period = options.period_ns.value_or(std::max(kWakePeriod, 5 * options.work_ns));
  truth.occurrences.resize(options.duration_ns / period);
  GeneratorThreads threads;
  threads.add(on_cpu(options, kWakeName),
              [&](const Window&) { sleep_and_work(wakeup, options.work_ns, truth.occurrences); });
  threads.add(elsewhere(options, kWaker),
              [&](const Window& window) { wake(wakeup, period, truth.occurrences.size(), window); });
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  if (!window) return window.error();
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
