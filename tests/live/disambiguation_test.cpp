// SPDX-License-Identifier: Apache-2.0
// Morari et al.'s disambiguation: events of equal length are told apart, and so are two unrelated ones in one detour.
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "base/files.h"
#include "measurement.h"
#include "recount.h"
#include "views/views.h"

using namespace noised;
using namespace noised::live;

namespace {

constexpr std::uint64_t kPeriodNs = 10'000'000;
constexpr unsigned kTimers = 128;  // expire together: the interrupt of fewer is shorter than any task
constexpr std::size_t kPage = 4096;
constexpr char kComm[] = "noised-faults";

// What the task did, by its own clock and the kernel's count of its faults.
struct Turn {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t faults = 0;
  bool struck =
      false;  // the host stopped the machine: it may be in several detours, its timers reset before they expire
};

struct Turns {
  std::uint64_t ready_ns = 0;  // the task waits for its first turn
  std::uint64_t over_ns = 0;   // it had its last
  std::vector<Turn> activations;
  std::vector<std::uint64_t> due_ns;  // when timers were
  std::uint64_t put_off = 0;          // timers that were set anew before they had expired: a turn came late
};

std::uint64_t faults_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

// The task on the probed CPU: at each turn it touches three fresh pages and goes on until the time that it is told.
class Faulter {
 public:
  Faulter(unsigned cpu, Turns& truth) : truth_(truth), thread_([this, cpu] { run(cpu); }) {}
  ~Faulter() { turn(0); }
  Faulter(const Faulter&) = delete;
  Faulter& operator=(const Faulter&) = delete;

  /// Woken from here, not by a timer of its own. `due_ns`: for when to set the timers, if not 0. 0: the last turn.
  void turn(std::uint64_t until_ns, std::uint64_t due_ns = 0) {
    until_ns_.store(until_ns);
    due_ns_.store(due_ns);
    eventfd_write(turns_.get(), 1);
  }
  void wait_until_ready() { ready_.wait(false); }

 private:
  void run(unsigned cpu) {
    prctl(PR_SET_NAME, kComm);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    const sched_param priority{2};
    void* pages = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool good = pages != MAP_FAILED && madvise(pages, 3 * kPage, MADV_NOHUGEPAGE) == 0 &&
                sched_setaffinity(0, sizeof(set), &set) == 0 && sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    // A kind of timer that hardly anyone else uses: those of others may expire here, too. Its signal is blocked, for
    // one that is ignored would wake the task.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    sigevent blocked{};
    blocked.sigev_notify = SIGEV_THREAD_ID;
    blocked._sigev_un._tid = gettid();
    blocked.sigev_signo = SIGRTMIN;
    for (timer_t& timer : timers_) good &= timer_create(CLOCK_MONOTONIC, &blocked, &timer) == 0;
    faults_ = faults_of_this_thread();
    truth_.ready_ns = monotonic_ns();
    ready_.store(true);
    ready_.notify_one();
    for (eventfd_t turn = 0; good && eventfd_read(turns_.get(), &turn) == 0;) {
      const std::uint64_t until_ns = until_ns_.load();
      if (until_ns == 0) break;
      act(static_cast<volatile char*>(pages), until_ns);
    }
    truth_.over_ns = monotonic_ns();
    for (const timer_t timer : timers_) timer_delete(timer);
    munmap(pages, 3 * kPage);
  }

  void act(volatile char* pages, std::uint64_t until_ns) {
    Turn activation;
    activation.start_ns = monotonic_ns();
    for (std::size_t page = 0; page < 3; ++page) pages[page * kPage] = 1;
    madvise(const_cast<char*>(pages), 3 * kPage, MADV_DONTNEED);
    if (const std::uint64_t due_ns = due_ns_.load(); due_ns != 0) set_timers(due_ns);
    do {
      activation.end_ns = monotonic_ns();
    } while (activation.end_ns < until_ns);
    activation.struck = activation.end_ns > std::max(until_ns, activation.start_ns) + 1'000'000;
    truth_.activations.push_back(activation);
    // Last, for what is written above may fault, too.
    const std::uint64_t faults = faults_of_this_thread();
    truth_.activations.back().faults = faults - faults_;
    faults_ = faults;
  }

  // On the CPU that sets them they expire.
  void set_timers(std::uint64_t due_ns) {
    const itimerspec once{{}, to_timespec(due_ns)};
    for (const timer_t timer : timers_) {
      itimerspec before{};
      timer_settime(timer, TIMER_ABSTIME, &once, &before);
      if (before.it_value.tv_sec != 0 || before.it_value.tv_nsec != 0) ++truth_.put_off;
    }
    truth_.due_ns.push_back(due_ns);
  }

  Turns& truth_;
  std::array<timer_t, kTimers> timers_{};
  std::uint64_t faults_ = 0;  // when the last turn ended
  std::atomic<std::uint64_t> until_ns_{0};
  std::atomic<std::uint64_t> due_ns_{0};
  // A wakeup by futex may come late, when the turn that it announces was seen already: the task would run for nothing.
  Descriptor turns_{eventfd(0, EFD_SEMAPHORE)};
  std::atomic<bool> ready_{false};
  std::jthread thread_;
};

// Lengths of turns in 2% steps from 10 to 240 us: how long the timers of other periods take is the host's affair, and
// whatever it is, there is a turn as long.
std::uint64_t turn_ns(std::uint64_t number) {
  return static_cast<std::uint64_t>(10'000 * std::pow(1.02, number % 160));
}

// In every period: a turn, mostly as short as the timers alone; a turn that sets the timers, which takes longer; both
// are over before they are due; and every other period, a turn that they strike.
void drive(unsigned cpu, std::uint64_t milliseconds, Turns& truth) {
  Faulter faulter(cpu, truth);
  faulter.wait_until_ready();
  const std::uint64_t begin_ns = monotonic_ns() + kPeriodNs;
  for (std::uint64_t number = 0; number < milliseconds * 1'000'000 / kPeriodNs; ++number) {
    const std::uint64_t due_ns = begin_ns + number * kPeriodNs;
    const timespec alone = to_timespec(due_ns - kPeriodNs * 3 / 4);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &alone, nullptr);
    faulter.turn(monotonic_ns() + turn_ns(number));
    const timespec apart = to_timespec(due_ns - kPeriodNs / 2);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &apart, nullptr);
    faulter.turn(monotonic_ns(), due_ns);
    if (number % 2 == 0) continue;
    const timespec across = to_timespec(due_ns - 400'000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &across, nullptr);
    faulter.turn(due_ns + 30'000);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::uint64_t count_of(const DetourView& detour, const std::string& kind, const std::string& name) {
  std::uint64_t count = 0;
  for (const DetourEntryView& entry : detour.entries) {
    if (entry.kind != kind || entry.name != name) continue;
    std::uint64_t intervals = 1;
    for (const auto& [key, value] : entry.detail) {
      if (key == "intervals") intervals = std::stoull(value);
    }
    count += intervals;
  }
  return count;
}

std::uint64_t self_of(const DetourView& detour, const std::string& kind, const std::string& name) {
  std::uint64_t sum = 0;
  for (const DetourEntryView& entry : detour.entries) {
    if (entry.kind == kind && entry.name == name) sum += entry.self_ns;
  }
  return sum;
}

// What the truth says of a detour.
struct Judged {
  const DetourView* detour = nullptr;
  std::uint64_t task_ns = 0;  // of activations in it, by the task's own clock
  std::uint64_t faults = 0;
  bool struck = false;
};

std::vector<Judged> judge(const Turns& truth, const std::vector<DetourView>& detours) {
  std::vector<Judged> all;
  for (const DetourView& detour : detours) {
    if (detour.start_ns <= truth.ready_ns || end_of(detour) >= truth.over_ns) continue;
    Judged one;
    one.detour = &detour;
    for (const Turn& activation : truth.activations) {
      if (activation.end_ns < detour.start_ns || activation.start_ns > end_of(detour)) continue;
      one.task_ns += activation.end_ns - activation.start_ns;
      one.faults += activation.faults;
      one.struck |= activation.struck;
    }
    if (!one.struck) all.push_back(one);
  }
  return all;
}

// What others had of the CPU, interrupts and tasks: the task's own clock goes on meanwhile.
std::uint64_t others_ns(const DetourView& detour) {
  std::uint64_t sum = 0;
  for (const DetourEntryView& entry : detour.entries) {
    const bool own = entry.kind == "task" && entry.name == kComm;
    if (!own && entry.kind != "hypervisor" && entry.kind != "unexplained") sum += entry.self_ns;
  }
  return sum;
}

// For how many of the first there is one of the second that is as long, to 2%.
std::size_t pairs_of_equal_length(const std::vector<Judged>& first, const std::vector<Judged>& second) {
  return static_cast<std::size_t>(std::count_if(first.begin(), first.end(), [&](const Judged& one) {
    return std::any_of(second.begin(), second.end(), [&](const Judged& other) {
      const std::uint64_t a = one.detour->duration_ns;
      const std::uint64_t b = other.detour->duration_ns;
      return std::max(a, b) - std::min(a, b) <= std::min(a, b) / 50;
    });
  }));
}

// Detours by what is in them.
struct Sorted {
  std::vector<Judged> faulted, struck, both;
  std::uint64_t expired = 0;
  std::uint64_t uneven = 0;  // detours with some of the timers that expire together
};

// Each detour tells what the truth says, neither more nor less.
void check_and_sort(const Judged& one, Sorted& sorted) {
  const DetourView& detour = *one.detour;
  INFO(views::to_text(detour) << "; by the task's own account " << one.faults << " faults, " << one.task_ns << " ns");
  const std::uint64_t expired = count_of(detour, "hrtimer", "posix_timer_fn");
  sorted.expired += expired;
  CHECK(count_of(detour, "page_fault", "user") + count_of(detour, "page_fault", "kernel") == one.faults);
  CHECK((self_of(detour, "task", kComm) != 0) == (one.task_ns != 0));
  if (expired % kTimers != 0) ++sorted.uneven;
  if (expired != 0) {
    (one.task_ns != 0 ? sorted.both : sorted.struck).push_back(one);
  } else if (one.task_ns != 0) {
    sorted.faulted.push_back(one);
  }
}

// In one detour, each has the time that it has alone, and together they have the task's, whose clock went on.
void check_times(const Sorted& sorted) {
  std::vector<std::uint64_t> alone, in_task;
  for (const Judged& one : sorted.struck) alone.push_back(self_of(*one.detour, "hrtimer", "posix_timer_fn"));
  for (const Judged& one : sorted.both) {
    in_task.push_back(self_of(*one.detour, "hrtimer", "posix_timer_fn"));
    INFO(views::to_text(*one.detour) << "; by the task's own clock " << one.task_ns << " ns");
    CHECK(others_ns(*one.detour) + self_of(*one.detour, "task", kComm) + 1'000 >= one.task_ns);
  }
  REQUIRE_FALSE(alone.empty());
  REQUIRE_FALSE(in_task.empty());
  INFO("timers alone " << quantile(alone, 50) << " ns, in the task " << quantile(in_task, 50) << " ns");
  CHECK(quantile(in_task, 50) <= 2 * quantile(alone, 50));
  CHECK(quantile(alone, 50) <= 2 * quantile(in_task, 50));
}

void check_expired(const Turns& truth, const Sorted& sorted, const Report& report) {
  const std::uint64_t expired = kTimers * truth.due_ns.size() - truth.put_off;
  const auto struck = static_cast<std::size_t>(std::count_if(truth.activations.begin(), truth.activations.end(),
                                                             [](const Turn& activation) { return activation.struck; }));
  CHECK(seen(report, "hrtimer", "posix_timer_fn").count == expired);
  CHECK(sorted.expired <= expired);  // detours that the host stretched are not among the sorted
  if (struck == 0) CHECK(sorted.expired == expired);
  if (truth.put_off == 0) CHECK(sorted.uneven == 0);
  if (is_emulated() && struck > truth.activations.size() / 10)
    SKIP("emulated: " << struck << " of " << truth.activations.size() << " were struck");
  CHECK(struck <= truth.activations.size() / 10);
}

}  // namespace

TEST_CASE("disambiguation: faults and timers of equal length, and both in one detour") {
  const unsigned cpu = probed_cpu();
  Turns truth;
  truth.activations.resize(2000);  // so that its memory is there: a fault of its own must not be among those counted
  truth.due_ns.resize(2000);
  truth.activations.clear();
  truth.due_ns.clear();
  Measurement measurement(cpu);
  measurement.begin();
  measurement.run(5000, [&] { drive(cpu, 4500, truth); });
  measurement.end();
  const Report report = measurement.report();
  CHECK(report.lost.events == 0);
  REQUIRE(measurement.feed_lost() == 0);  // or not every detour could be judged
  REQUIRE(truth.activations.size() > 300);

  Sorted sorted;
  for (const Judged& one : judge(truth, measurement.detours())) check_and_sort(one, sorted);
  check_expired(truth, sorted, report);
  INFO("detours with faults " << sorted.faulted.size() << ", with timers " << sorted.struck.size() << ", with both "
                              << sorted.both.size());
  CHECK(sorted.struck.size() >= 10);  // enough to compare; how many there are is up to who wakes the task in time
  CHECK(sorted.both.size() >= 10);
  CHECK(pairs_of_equal_length(sorted.faulted, sorted.struck) >= 1);
  check_times(sorted);
}
