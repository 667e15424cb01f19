// SPDX-License-Identifier: Apache-2.0
// The chain behind each interval: who woke the task, of which service, who sent the interrupt, for which function.
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/files.h"
#include "command.h"
#include "kernel_counters.h"
#include "loads.h"
#include "measurement.h"
#include "system/services.h"
#include "views/detour.h"

using namespace noised;
using namespace noised::system;
using namespace noised::live;

namespace {

constexpr std::uint64_t kRunMs = 1500;
constexpr int kTimes = 100;
constexpr std::chrono::milliseconds kPause{10};

void become_named(const char* name, unsigned cpu) {
  prctl(PR_SET_NAME, name);
  const CpuSet own({cpu});
  sched_setaffinity(0, own.bytes(), own.get());
}

std::string detail(const DetourEntryView& entry, const std::string& key) {
  for (const auto& [name, value] : entry.detail) {
    if (name == key) return value;
  }
  return {};
}

// Every entry of a kind and name in the detours drained.
std::vector<DetourEntryView> entries_of(const Measurement& measurement, const std::string& kind,
                                        const std::string& name) {
  std::vector<DetourEntryView> found;
  for (const DetourView& detour : measurement.detours()) {
    for (const DetourEntryView& entry : detour.entries) {
      if (entry.kind == kind && entry.name == name) found.push_back(entry);
    }
  }
  return found;
}

// The different details and their numbers, for messages.
std::string summary(const std::vector<DetourEntryView>& entries) {
  std::map<std::string, int> counts;
  for (const DetourEntryView& entry : entries) ++counts[views::chain_text(entry)];
  std::string text;
  for (const auto& [chain, count] : counts) text += std::to_string(count) + " x " + chain + "\n";
  return text;
}

std::size_t count_with(const std::vector<DetourEntryView>& entries, const std::string& key, const std::string& value) {
  return static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [&](const auto& entry) { return detail(entry, key) == value; }));
}

unsigned other_cpu(unsigned cpu) {
  for (const unsigned online : online_cpus().value()) {
    if (online != cpu) return online;
  }
  return cpu;
}

void write_one(const Descriptor& event) {
  const std::uint64_t one = 1;
  if (write(event.get(), &one, sizeof(one)) != sizeof(one)) FAIL("eventfd");
}

bool read_one(const Descriptor& event) {
  std::uint64_t value = 0;
  return read(event.get(), &value, sizeof(value)) == sizeof(value) && value != 0;
}

// A process of its own in a cgroup of its own, asleep on a CPU until somebody writes; it ends with its descriptor's
// second value.
class ServiceProcess {
 public:
  ServiceProcess(const char* name, unsigned cpu) : event_(eventfd(0, EFD_SEMAPHORE)), done_(eventfd(0, EFD_SEMAPHORE)) {
    const std::string mount = cgroup2_mount();
    if (mount.empty()) SKIP("no cgroup2 hierarchy is mounted");
    directory_ = mount + "/noised_test.service";
    std::error_code error;
    std::filesystem::create_directory(directory_, error);
    if (error) SKIP("cgroup2 cannot be written: " + error.message());
    pid_ = fork();
    if (pid_ != 0) {
      read_one(done_);
      return;
    }
    // It joins, and only then has its name and is awaited: what it does under this name, it does in this cgroup.
    std::ofstream(directory_ + "/cgroup.procs") << getpid() << std::flush;
    become_named(name, cpu);
    do {
      const std::uint64_t one = 1;
      if (write(done_.get(), &one, sizeof(one)) != sizeof(one)) break;
    } while (read_one(event_));
    _exit(0);
  }
  ~ServiceProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    // The kernel takes a moment to see that the cgroup is empty.
    REQUIRE(eventually([&] { return rmdir(directory_.c_str()) == 0; }));
  }
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  void wake() {
    write_one(event_);
    read_one(done_);
  }

 private:
  Descriptor event_;
  Descriptor done_;
  std::string directory_;
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("chains: a task names its waker and its service", "[core]") {
  const unsigned cpu = probed_cpu();
  ServiceProcess service("chain-service", cpu);
  Measurement measurement(cpu);
  measurement.begin();
  measurement.run(kRunMs, [&] {
    become_named("chain-waker", other_cpu(cpu));
    for (int time = 0; time < kTimes; ++time) {
      service.wake();
      std::this_thread::sleep_for(kPause);
    }
  });
  measurement.end();
  const Report report = measurement.report();
  auto tasks = entries_of(measurement, "task", "chain-service");
  std::erase_if(tasks, [](const auto& each) { return !detail(each, "intervals").empty(); });  // summed with others
  INFO(tasks.size() << " activations seen, " << report.lost.missed_runs << " runs missed\n" << summary(tasks));
  CHECK(seen(report, "task", "chain-service").count >= kTimes);
  CHECK(tasks.size() >= kTimes / 2);  // the feed may miss some, the report none
  CHECK(count_with(tasks, "service", "/noised_test.service") == tasks.size());
  // After a loss, the waker of some may not be known; another is never named.
  const auto unknown = static_cast<std::size_t>(std::count_if(tasks.begin(), tasks.end(), [](const auto& each) {
    return detail(each, "waker").empty() && detail(each, "waker_context").empty();
  }));
  CHECK(unknown <= (report.lost.by.empty() ? 0 : tasks.size() / 20));
  CHECK(count_with(tasks, "waker", "chain-waker") + unknown == tasks.size());
  CHECK(count_with(tasks, "waker_cpu", std::to_string(other_cpu(cpu))) + unknown == tasks.size());
}

TEST_CASE("chains: a task woken by an interrupt elsewhere blames the interrupt, not the task it struck") {
  const unsigned cpu = probed_cpu();
  const Descriptor timer(timerfd_create(CLOCK_MONOTONIC, 0));
  Measurement measurement(cpu);
  measurement.begin();
  measurement.run(kRunMs, [&] {
    become_named("chain-struck", other_cpu(cpu));
    std::atomic<bool> over{false};
    std::jthread sleeper([&] {
      become_named("chain-sleeper", cpu);
      while (!over) read_one(timer);
    });
    // Armed here each time, so it expires here (a periodic one is armed again where it is read); this thread spins
    // meanwhile, and is the one that the interrupt strikes.
    const itimerspec once{{0, 0}, {0, 5'000'000}};
    for (int time = 0; time < kTimes; ++time) {
      timerfd_settime(timer.get(), 0, &once, nullptr);
      const auto end = std::chrono::steady_clock::now() + kPause;
      while (std::chrono::steady_clock::now() < end) {
      }
    }
    over = true;
    const itimerspec at_once{{0, 0}, {0, 1}};
    timerfd_settime(timer.get(), 0, &at_once, nullptr);
  });
  measurement.end();
  const Report report = measurement.report();
  auto tasks = entries_of(measurement, "task", "chain-sleeper");
  std::erase_if(tasks, [](const auto& each) { return !detail(each, "intervals").empty(); });  // summed with others
  const std::size_t by_timer = count_with(tasks, "waker_context", "hrtimer timerfd_tmrproc");
  INFO(tasks.size() << " activations, " << by_timer << " woken by the timer\n" << summary(tasks));
  CHECK(by_timer >= kTimes / 2);  // two expirations that the host merged are one activation
  // What runs stale text over there (quiet_cpu.h) shows no wakeup: unknown then, but never another.
  const auto unknown = static_cast<std::size_t>(std::count_if(tasks.begin(), tasks.end(), [](const auto& each) {
    return detail(each, "waker").empty() && detail(each, "waker_context").empty();
  }));
  CHECK(by_timer + unknown + 2 >= tasks.size());  // the first was woken to start, another to end
  CHECK(unknown <= tasks.size() / 20);
  CHECK(count_with(tasks, "waker_context", "this CPU") == 0);
  CHECK(count_with(tasks, "waker", "chain-struck") + by_timer <= tasks.size());
  CHECK(count_with(tasks, "waker", "chain-struck") <= 2);
}

TEST_CASE("chains: a task that wakes up by its own CPU's timer was woken here, and the timer is named") {
  const unsigned cpu = probed_cpu();
  Measurement measurement(cpu);
  measurement.begin();
  measurement.run(kRunMs, [&] {
    become_named("chain-napper", other_cpu(cpu));
    sleep_on(cpu, kRunMs - 300);
  });
  measurement.end();
  (void)measurement.report();
  const auto tasks = entries_of(measurement, "task", "chain-napper");
  const std::size_t here = count_with(tasks, "waker_context", "this CPU");
  INFO(tasks.size() << " activations, " << here << " woken here\n" << summary(tasks));
  CHECK(tasks.size() >= 20);
  CHECK(here + 4 >= tasks.size());  // it was started, and moved, from elsewhere
  CHECK(entries_of(measurement, "hrtimer", "hrtimer_wakeup").size() + 4 >= here);
}

namespace {

// Detours with an interrupt that nobody sent, and when after the first.
std::string from_nobody(const Measurement& measurement) {
  std::string text;
  for (const DetourView& each : measurement.detours()) {
    const bool found = std::ranges::any_of(each.entries, [](const DetourEntryView& entry) {
      return entry.kind == "vector" && entry.name.starts_with("call_function") && detail(entry, "sender_cpu").empty();
    });
    if (found)
      text += fmt::format("from nobody, after {} us: {}\n",
                          (each.start_ns - measurement.detours().front().start_ns) / 1000, views::to_text(each));
  }
  return text;
}

}  // namespace

TEST_CASE("chains: an IPI storm names its sender and its function", "[core]") {
  const unsigned cpu = probed_cpu();
  Measurement measurement(cpu);
  if (!measurement.tracer().attached("ipi_send_cpumask") || !measurement.tracer().attached("csd_queue_cpu")) {
    SKIP("this kernel has no tracepoints where interrupts are sent");
  }
  measurement.begin();
  measurement.run(kRunMs, [&] {
    become_named("chain-sender", other_cpu(cpu));
    unmap_shared_memory(kRunMs - 300);
  });
  measurement.end();
  const Report report = measurement.report();
  auto interrupts = entries_of(measurement, "vector", "call_function_single");
  for (const auto& entry : entries_of(measurement, "vector", "call_function")) interrupts.push_back(entry);
  const std::size_t sent = count_with(interrupts, "sender", "chain-sender");
  INFO(interrupts.size() << " interrupts, " << sent << " sent by the storm\n" << summary(interrupts));
  CHECK(sent >= 20);
  // Nothing else runs that could send: what has no sender at all was not matched. After a loss nothing is, that was
  // under way then.
  INFO(from_nobody(measurement));
  if (report.lost.by.empty()) CHECK(count_with(interrupts, "sender_cpu", "") == 0);
  for (const DetourEntryView& entry : interrupts) {
    // From the storm's CPU, its own and one of an interrupt there: nothing of the time before the loop was here, when
    // some ten were sent.
    const std::string sends = detail(entry, "sends");
    if (!sends.empty()) CHECK(std::stoul(sends) <= 4);
    if (detail(entry, "sender") != "chain-sender") continue;
    CHECK(detail(entry, "sender_cpu") == std::to_string(other_cpu(cpu)));
    CHECK(detail(entry, "function") == "flush_tlb_func");
  }
  const auto functions = entries_of(measurement, "csd", "flush_tlb_func");
  CHECK(functions.size() >= sent);
  CHECK(count_with(functions, "sender", "chain-sender") >= sent);
}

TEST_CASE("chains: a kworker names its function", "[core]") {
  const unsigned cpu = probed_cpu();
  constexpr const char* kRefresh = "/proc/sys/vm/stat_refresh";
  if (access(kRefresh, R_OK) != 0) SKIP("this kernel has no vm.stat_refresh, which queues work on every CPU");
  Measurement measurement(cpu);
  measurement.begin();
  int refreshed = 0;
  measurement.run(kRunMs, [&] {
    become_named("chain-queuer", other_cpu(cpu));
    for (int time = 0; time < kTimes; ++time) {
      std::ifstream file(kRefresh);
      std::string nothing;
      std::getline(file, nothing);
      ++refreshed;
      std::this_thread::sleep_for(kPause);
    }
  });
  measurement.end();
  const Report report = measurement.report();
  std::size_t named = 0;
  std::size_t woken = 0;
  for (const DetourView& detour : measurement.detours()) {
    for (const DetourEntryView& entry : detour.entries) {
      if (entry.kind != "task" || detail(entry, "work") != "refresh_vm_stats") continue;
      CHECK(entry.name.starts_with("kworker/" + std::to_string(cpu) + ":"));
      ++named;
      woken += detail(entry, "waker") == "chain-queuer" ? 1 : 0;
    }
  }
  INFO(refreshed << " times queued, " << named << " times named, " << woken << " times woken by the one who queued");
  CHECK(seen(report, "work", "refresh_vm_stats").count >= static_cast<std::uint64_t>(refreshed));
  CHECK(named >= static_cast<std::size_t>(refreshed) /
                     2);  // the feed may miss some; one that runs other work as well names that
  CHECK(woken >= named * 9 / 10);
}

TEST_CASE("chains: a timer names its callback", "[core]") {
  const unsigned cpu = probed_cpu();
  Measurement measurement(cpu);
  measurement.begin();
  std::uint64_t waits = 0;
  const std::uint64_t before = read_kernel_counters(cpu).softirqs.at("TIMER");
  measurement.run(kRunMs, [&] {
    std::jthread([&] {
      become_named("chain-poller", cpu);
      // A receive timeout is a timer of the wheel: process_timeout.
      const Descriptor socket_of_mine(socket(AF_UNIX, SOCK_DGRAM, 0));
      const timeval limit{0, 10'000};
      setsockopt(socket_of_mine.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
      char byte = 0;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kRunMs - 300);
      for (; std::chrono::steady_clock::now() < end; ++waits) {
        if (recv(socket_of_mine.get(), &byte, 1, 0) >= 0) break;
      }
    }).join();
  });
  measurement.end();
  const std::uint64_t softirqs = read_kernel_counters(cpu).softirqs.at("TIMER") - before;
  const Report report = measurement.report();
  INFO(waits << " waits, " << softirqs << " timer softirqs");
  CHECK(waits >= 20);
  if (softirqs < waits / 2 && !has_tick(cpu)) SKIP("this kernel runs the timers of a nohz_full CPU elsewhere");
  CHECK(seen(report, "timer", "process_timeout").count >= waits);
}
