// SPDX-License-Identifier: Apache-2.0
// The instrument does not disturb what it measures.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "command.h"
#include "daemon.h"
#include "kernel_counters.h"
#include "measurement.h"
#include "report_checks.h"

using namespace noised;
using namespace noised::live;

namespace {

// "voluntary_ctxt_switches:  12" of a thread of this process.
std::uint64_t own_status_field(int tid, const std::string& field) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stoull(line.substr(field.size() + 1));
  }
  FAIL("no " << field << " for thread " << tid);
  return 0;
}

// Of a thread of this process: the tenth word of its stat, the eighth after its name.
std::uint64_t page_faults(int tid) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int i = 0; i < 8; ++i) words >> word;
  return std::stoull(word);
}

// By the name of a thread, its nice value: the 19th word of its stat, the 17th after the name.
std::map<std::string, long> nice_values(pid_t process) {
  std::map<std::string, long> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    std::string text;
    std::getline(std::ifstream(task.path() / "stat"), text);
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    std::istringstream words(text.substr(close + 1));
    std::string word;
    for (int i = 0; i < 17; ++i) words >> word;
    found[text.substr(open + 1, close - open - 1)] = std::stol(word);
  }
  return found;
}

struct Disturbed {
  std::uint64_t calls = 0;
  std::uint64_t irq_work = 0;
};

Disturbed difference(const KernelCounters& before, const KernelCounters& after) {
  return {after.interrupts.at("CAL") - before.interrupts.at("CAL"),
          after.interrupts.at("IWI") - before.interrupts.at("IWI")};
}

}  // namespace

TEST_CASE("low noise: the loop neither sleeps nor yields, nor waits for a page") {
  Measurement measurement(probed_cpu());
  measurement.begin();
  const std::uint64_t before = own_status_field(measurement.probe_tid(), "voluntary_ctxt_switches");
  const std::uint64_t faults = page_faults(measurement.probe_tid());
  measurement.run(2000);
  CHECK(own_status_field(measurement.probe_tid(), "voluntary_ctxt_switches") == before);
  CHECK(page_faults(measurement.probe_tid()) == faults);
  // Whether khugepaged comes in these two seconds is chance.
  CHECK(own_status_field(measurement.probe_tid(), "THP_enabled") == 0);
  measurement.end();
  CHECK(measurement.report().cpus.at(0).iterations > 1000);
}

TEST_CASE("low noise: the loop makes no system call") {
  Measurement measurement(probed_cpu());
  measurement.begin();
  const std::string tid = std::to_string(measurement.probe_tid());
  // strace attaches to the loop's thread alone and sees every system call it makes in a second.
  const Outcome traced = run({"timeout", "-s", "INT", "1", "strace", "-qq", "-p", tid});
  INFO("strace printed: " << traced.err);
  CHECK(traced.err.find('(') == std::string::npos);
  // The same trace of a thread that does make one, or the check above says nothing.
  const Outcome control = run({"strace", "-qq", "sleep", "0.1"});
  CHECK(control.err.find("nanosleep(") != std::string::npos);
  measurement.end();
}

TEST_CASE("low noise: only the thread that drains comes before others") {
  for (const long nice : {-10L, 0L}) {
    Daemon daemon("[service]\nnice = " + std::to_string(nice) + "\n");
    const auto values = nice_values(daemon.process().pid());
    std::string all;
    for (const auto& [name, value] : values) all += name + " " + std::to_string(value) + "; ";
    INFO(all);
    const std::string loop = "noised/" + std::to_string(daemon.cpu());
    REQUIRE(values.contains("noised"));
    REQUIRE(values.contains("noised/http"));
    REQUIRE(values.contains(loop));
    for (const auto& [name, value] : values) CHECK(value == (name == "noised" ? nice : 0));
  }
}

TEST_CASE("low noise: only the thread that drains is a real-time one") {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_RTPRIO, &limit) == 0);
  limit.rlim_max = std::max<rlim_t>(limit.rlim_max, 3);
  if (setrlimit(RLIMIT_RTPRIO, &limit) != 0) SKIP("the limit of real-time priority cannot be raised here");
  Daemon daemon("[service]\nrealtime = 3\n");
  if (!object_in(run(daemon.command({"status", "--json"})).out).contains("realtime"))
    SKIP("the control group has no real-time priority to give");
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(daemon.process().pid()) + "/task")) {
    const pid_t tid = std::stoi(task.path().filename());
    const bool drains = tid == daemon.process().pid();
    sched_param parameter{};
    REQUIRE(sched_getparam(tid, &parameter) == 0);
    const int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
    INFO(tid << ": policy " << policy << ", priority " << parameter.sched_priority);
    CHECK(policy == (drains ? SCHED_FIFO : SCHED_OTHER));
    CHECK(parameter.sched_priority == (drains ? 3 : 0));
  }
  CHECK(object_in(run(daemon.command({"status", "--json"})).out).at("realtime").at("priority") == 3);
}

TEST_CASE("low noise: draining interrupts the measured CPU no more than not draining") {
  const unsigned cpu = probed_cpu();
  Measurement measurement(cpu);
  measurement.begin();
  Disturbed draining;
  Disturbed resting;
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    const KernelCounters start = read_kernel_counters(cpu);
    Measurement::rest(1000);
    const KernelCounters middle = read_kernel_counters(cpu);
    measurement.run(1000);
    const Disturbed quiet = difference(start, middle);
    const Disturbed busy = difference(middle, read_kernel_counters(cpu));
    resting.calls += quiet.calls;
    resting.irq_work += quiet.irq_work;
    draining.calls += busy.calls;
    draining.irq_work += busy.irq_work;
  }
  measurement.end();
  std::string functions;
  for (const ReportSource& source : measurement.report().sources) {
    if (source.kind == "csd") functions += " " + source.name + " " + std::to_string(source.count);
  }
  INFO("functions called there:" << functions);
  INFO("in " << kRounds << " s each: draining CAL " << draining.calls << " IWI " << draining.irq_work
             << ", resting CAL " << resting.calls << " IWI " << resting.irq_work);
  // One interrupt a drain would be 40 a second; what other processes cause is there in both.
  CHECK(draining.calls <= resting.calls + 40);
  CHECK(draining.irq_work <= resting.irq_work + 40);
}
