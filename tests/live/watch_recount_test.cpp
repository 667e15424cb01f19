// SPDX-License-Identifier: Apache-2.0
// The runs, waits and interruptions of watched tasks, recorded by ftrace and put together again: every one as often,
// and as long. Run by name only (tests/run recount): in one of three runs of the helpers, one tick of 183 was told of
// another of their threads than ftrace saw it strike, and it is not known which of both is right.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/cpus.h"
#include "base/files.h"
#include "ftrace.h"
#include "measurement.h"
#include "task_comparison.h"
#include "task_recount.h"
#include "told_tasks.h"
#include "watched_task.h"
#include "watching_daemon.h"

using namespace noised;
using namespace noised::live;

namespace {

// A process on these CPUs that exists, and sleeps until it is let go.
class GatedProcess {
 public:
  GatedProcess(const std::vector<unsigned>& cpus, const std::function<void()>& body) {
    int gate[2];
    REQUIRE(pipe2(gate, O_CLOEXEC) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const CpuSet there(cpus);
      sched_setaffinity(0, there.bytes(), there.get());
      close(gate[1]);
      char go = 0;
      if (read(gate[0], &go, 1) == 1) body();
      _exit(0);
    }
    close(gate[0]);
    gate_ = Descriptor(gate[1]);
    REQUIRE(eventually([&] {
      const auto stat = read_file("/proc/" + std::to_string(pid_) + "/stat");
      return stat && stat.value().substr(stat.value().rfind(')')).starts_with(") S");
    }));
  }
  ~GatedProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  GatedProcess(const GatedProcess&) = delete;
  GatedProcess& operator=(const GatedProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void let_go() const { REQUIRE(write(gate_.get(), "", 1) == 1); }

 private:
  Descriptor gate_;
  pid_t pid_ = -1;
};

// Keeps a CPU from idling, at the lowest priority that there is. On some virtual machines the idle task runs kernel
// text from before the tracepoints were switched on (quiet_cpu.h): neither ftrace nor perf saw one of 1,160 switches
// from it.
class Filler {
 public:
  explicit Filler(unsigned cpu)
      : process_({cpu}, [] {
          const sched_param none{};
          sched_setscheduler(0, SCHED_IDLE, &none);
          for (volatile bool forever = true; forever;) {
          }
        }) {
    process_.let_go();
  }

 private:
  GatedProcess process_;
};

void compute(std::uint64_t ns) {
  timespec time{};
  const auto spent_ns = [&] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
  };
  for (const std::uint64_t end_ns = spent_ns() + ns; spent_ns() < end_ns;) {
  }
}

void compute_in_threads() {
  const auto part = [] {
    for (int piece = 0; piece < 15; ++piece) {
      compute(10'000'000);
      sched_yield();
    }
  };
  std::jthread first(part);
  std::jthread second(part);
  part();
}

void sleep_in_threads() {
  const auto nap = [](unsigned count, long nap_ns, std::uint64_t work_ns) {
    const timespec time{0, nap_ns};
    for (unsigned at = 0; at < count; ++at) {
      nanosleep(&time, nullptr);
      compute(work_ns);
    }
  };
  std::jthread other([&] { nap(500, 1'500'000, 200'000); });
  nap(700, 1'000'000, 100'000);
}

void work_anywhere() {
  const auto part = [] {
    const timespec nap{0, 700'000};
    for (int piece = 0; piece < 60; ++piece) {
      compute(4'000'000);
      nanosleep(&nap, nullptr);
    }
  };
  std::jthread first(part);
  std::jthread second(part);
  part();
}

// A byte there and back again, between two processes.
void talk_over_pipes() {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  if (pipe(there.data()) != 0 || pipe(back.data()) != 0) _exit(1);
  const pid_t other = fork();
  if (other < 0) _exit(1);
  const int in = other == 0 ? there[0] : back[0];
  const int out = other == 0 ? back[1] : there[1];
  char byte = 0;
  for (unsigned at = 0; at < 20'000; ++at) {
    if (other == 0 && read(in, &byte, 1) != 1) _exit(1);
    if (write(out, &byte, 1) != 1) _exit(1);
    if (other != 0 && read(in, &byte, 1) != 1) _exit(1);
  }
  if (other == 0) _exit(0);
  waitpid(other, nullptr, 0);
}

// The body of a process that becomes another program, which says nothing.
std::function<void()> program(std::vector<std::string> words) {
  return [words = std::move(words)] {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
    execvp(arguments[0], arguments.data());
    _exit(127);
  };
}

bool is_installed(const std::string& name) { return run({"sh", "-c", "command -v " + name}).exit_code == 0; }

// All that both saw of one program.
struct TaskPair {
  int root = 0;
  std::uint64_t from_ticks = 0;
  std::vector<TraceEvent> events;
  ToldTasks told;
  TickClock clock;
};

// ftrace is switched on first: at a tracepoint it then comes before noised's programs. `beside` runs meanwhile.
TaskPair watch_twice(const std::function<void()>& body, const std::function<void()>& beside = {},
                     const std::vector<unsigned>& cpus = {probed_cpu()}) {
  TaskPair both;
  Ftrace ftrace(online_cpus().value(), recounted_task_events());  // a task is woken from any CPU
  const WatchingDaemon daemon(format_cpu_list(cpus));
  std::deque<Filler> fillers;
  for (const unsigned cpu : cpus) fillers.emplace_back(cpu);
  const GatedProcess process(cpus, body);
  ToldSession session(daemon, process.pid());
  both.root = process.pid();
  both.clock.read();
  both.from_ticks = both.clock.moments().front().ticks;
  {
    const std::jthread company([&] {
      if (beside) beside();
    });
    const std::jthread moments([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        both.clock.read();
      }
    });
    process.let_go();
    session.wait();
  }
  both.clock.read();
  both.events = ftrace.stop();
  both.told = session.tell();
  return both;
}

TaskComparison compare_pair(const TaskPair& both, const ToldTasks& told, const std::vector<TraceEvent>& events) {
  std::vector<TraceEvent> own;
  for (const TraceEvent& event : both.events) {
    if (event.cpu == probed_cpu()) own.push_back(event);
  }
  const auto end_ticks = end_cost_ticks(own, both.from_ticks);
  REQUIRE(end_ticks.has_value());
  const std::int64_t end_ns = both.clock.to_ns(both.from_ticks + *end_ticks) - both.clock.to_ns(both.from_ticks);
  return compare_tasks(told, recount_tasks(events, both.root, both.from_ticks), both.clock, end_ns);
}

void print_recount(const char* what, const Compared& compared) {
  std::printf("  %s %llu, %.3f ms, %+.3f us in all, one %.3f us", what, static_cast<unsigned long long>(compared.count),
              static_cast<double>(compared.recounted_ns) / 1e6,
              static_cast<double>(compared.told_ns - compared.recounted_ns) / 1e3,
              static_cast<double>(compared.largest_ns) / 1e3);
}

void print_recount(const std::string& what, const TaskPair& both, const TaskComparison& comparison) {
  const ReportLost& lost = both.told.report.lost;
  const Exceptions& exceptions = comparison.exceptions;
  std::printf(
      "%s: by task, how often, how long by ftrace, how much more by noised, and the largest difference of one\n"
      "  (%llu yields; %llu lost, of %llu that noised told; waits: %llu not counted, of %.3f ms, "
      "%llu handed over late, %llu moved; %llu switches after a signal; clocks %lld ns)\n",
      what.c_str(), static_cast<unsigned long long>(comparison.yields),
      static_cast<unsigned long long>(exceptions.lost),
      static_cast<unsigned long long>(lost.events + lost.unpaired + lost.missed_runs),
      static_cast<unsigned long long>(exceptions.uncounted), static_cast<double>(exceptions.uncounted_ns) / 1e6,
      static_cast<unsigned long long>(exceptions.handed_over_late), static_cast<unsigned long long>(exceptions.moved),
      static_cast<unsigned long long>(exceptions.signalled), static_cast<long long>(both.clock.doubt_ns()));
  constexpr std::size_t kPrinted = 10;  // those that lost most come first
  for (std::size_t at = 0; at < std::min(kPrinted, comparison.tasks.size()); ++at) {
    const ComparedTask& task = comparison.tasks[at];
    std::printf("  %-15s %7d:", task.name.c_str(), task.pid);
    print_recount("runs", task.runs);
    print_recount("waits", task.waits);
    print_recount("interruptions", task.interruptions);
    std::printf("\n");
  }
  std::fflush(stdout);
}

std::size_t find_event(const TaskPair& both, const std::string& name, const std::string& key) {
  const std::string text = key + std::to_string(both.root) + " ";
  for (std::size_t at = 0; at < both.events.size(); ++at) {
    const TraceEvent& event = both.events[at];
    if (event.ticks > both.from_ticks && event.name == name && (event.text + " ").find(text) != std::string::npos)
      return at;
  }
  FAIL("no " << name << " of the program");
  return 0;
}

// A comparison that cannot fail tells nothing: none of these may go unnoticed.
void check_that_it_can_fail(const TaskPair& both) {
  const auto finds_missing = [&](std::size_t at) {
    std::vector<TraceEvent> events = both.events;
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(at));
    return !compare_pair(both, both.told, events).disagreements.empty();
  };
  CHECK(finds_missing(find_event(both, "sched_switch", " prev_pid=")));
  CHECK(finds_missing(find_event(both, "sched_switch", " next_pid=")));
  CHECK(finds_missing(find_event(both, "sched_wakeup", " pid=")));
  const auto finds_halved = [&](std::uint64_t ToldRun::* time) {
    ToldTasks told = both.told;
    ToldRun& longest = *std::ranges::max_element(told.tasks.at(both.root).runs, {}, time);
    longest.*time /= 2;
    return !compare_pair(both, told, both.events).disagreements.empty();
  };
  CHECK(finds_halved(&ToldRun::duration_ns));
  CHECK(finds_halved(&ToldRun::waited_ns));
}

void check_recount(const std::string& what, const TaskPair& both, std::size_t least_tasks) {
  const TaskComparison comparison = compare_pair(both, both.told, both.events);
  print_recount(what, both, comparison);
  constexpr std::size_t kShown = 20;
  for (std::size_t at = 0; at < std::min(kShown, comparison.disagreements.size()); ++at)
    FAIL_CHECK(what << ": " << comparison.disagreements[at]);
  INFO(what << ": " << comparison.disagreements.size() << " disagreements");
  CHECK(comparison.disagreements.empty());
  CHECK(comparison.tasks.size() >= least_tasks);
}

Arguments stress(const Arguments& options) {
  Arguments words{"stress-ng", "--quiet", "--timeout", "1s"};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

// Of tests/real; those that are not installed are left out.
void check_real(const std::vector<std::pair<std::string, Arguments>>& programs) {
  if (is_emulated()) SKIP("emulated: a program of a second does next to nothing");
  bool any = false;
  for (const auto& [name, words] : programs) {
    if (!is_installed(words.front())) continue;
    any = true;
    check_recount(name, watch_twice(program(words)), 2);
  }
  if (!any) SKIP(programs.front().second.front() + " is not installed");
}

}  // namespace

TEST_CASE("watch recount: threads that compute beside a rival", "[.recount]") {
  WatchedTask rival(probed_cpu());
  const TaskPair both = watch_twice(compute_in_threads, [&] { rival.work({.busy_ns = 300'000'000, .naps = 20}); });
  check_recount("threads", both, 3);
  check_that_it_can_fail(both);
}

TEST_CASE("watch recount: threads that sleep and wake", "[.recount]") {
  check_recount("sleepers", watch_twice(sleep_in_threads), 2);
}

TEST_CASE("watch recount: two processes that talk over pipes on one CPU", "[.recount]") {
  check_recount("pipes", watch_twice(talk_over_pipes), 2);
}

TEST_CASE("watch recount: threads that move from CPU to CPU", "[.recount]") {
  check_recount("movers", watch_twice(work_anywhere, {}, online_cpus().value()), 3);
}

TEST_CASE("watch recount: real programs that compute and take memory", "[.recount]") {
  check_real({{"cpu", stress({"--cpu", "2"})}, {"vm", stress({"--vm", "1", "--vm-bytes", "32m"})}});
}

TEST_CASE("watch recount: real programs that switch", "[.recount]") {
  check_real({{"switch", stress({"--switch", "1", "--switch-freq", "5000"})},
              {"pipe", stress({"--pipe", "1", "--pipe-ops", "20000"})}});
}

TEST_CASE("watch recount: real programs that use sockets and timers", "[.recount]") {
  check_real({{"sock", stress({"--sock", "1", "--sock-ops", "300"})},
              {"timer", stress({"--timer", "1", "--timer-freq", "3000"})}});
}

TEST_CASE("watch recount: real programs that have helpers", "[.recount]") {
  check_real({{"helpers", {"python3", "-B", kTree + "/tests/real/work.py", "helpers", "1"}}});
}
