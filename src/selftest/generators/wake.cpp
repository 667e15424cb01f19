// SPDX-License-Identifier: Apache-2.0
// wake: a thread that sleeps on the CPU until another one, on another CPU, wakes it.
#include <semaphore.h>

#include <algorithm>
#include <cerrno>

#include "selftest/crew.h"
#include "selftest/generator.h"
#include "selftest/work_for.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kPeriod = 20'000'000;
constexpr const char* kName = "noised-wake";
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
  truth.how = std::string(kName) + " woken by " + kWaker;
  truth.sources = {{"task", kName}};
  truth.waker = kWaker;
  const std::uint64_t period = options.period_ns.value_or(std::max(kPeriod, 5 * options.work_ns));
  truth.occurrences.resize(options.duration_ns / period);
  Crew crew;
  crew.add(on_cpu(options, kName), [&](const Window&) { sleep_and_work(wakeup, options.work_ns, truth.occurrences); });
  crew.add(elsewhere(options, kWaker),
           [&](const Window& window) { wake(wakeup, period, truth.occurrences.size(), window); });
  const Result<Window> window = crew.run(options.duration_ns, options.slower);
  if (!window) return window.error();
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
