// SPDX-License-Identifier: Apache-2.0
// What noised counts on a CPU is what the kernel itself counts there.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <thread>
#include <vector>

#include "kernel_counters.h"
#include "loads.h"
#include "measurement.h"

using namespace noised;
using namespace noised::live;

namespace {

// The kernel's counters around both edges of the measurement: what happened between the inner ones must have been
// seen, and nothing can have been seen that is not between the outer ones. No tolerance is needed.
struct Window {
  KernelCounters before_begin, after_begin, before_end, after_end;
};

using Table = std::map<std::string, std::uint64_t> KernelCounters::*;

void check_counters(const Window& window, Table table, const std::string& label, std::uint64_t counted,
                    std::uint64_t orphans) {
  const auto value = [&](const KernelCounters& counters) {
    const auto found = (counters.*table).find(label);
    return found == (counters.*table).end() ? 0 : found->second;
  };
  const std::uint64_t least = value(window.before_end) - value(window.after_begin);
  const std::uint64_t most = value(window.after_end) - value(window.before_begin);
  INFO(label << ": kernel " << least << " to " << most << ", noised " << counted << ", outside detours " << orphans);
  CHECK(counted + orphans >= least);
  CHECK(counted <= most);
  // The edges are short, or the comparison says nothing.
  CHECK(most - least <= 20 + least / 10);
}

struct Counted {
  Report report;
  Window window;
  std::uint64_t orphans = 0;
  std::vector<ProgramView> programs_before;  // the report was made
  std::vector<ProgramView> programs;         // and after it
};

Counted measure_counts(unsigned cpu, std::uint64_t milliseconds, const std::function<void()>& load,
                       const MeasurementOptions& options = {}) {
  Counted outcome;
  Measurement measurement(cpu, options);
  outcome.window.before_begin = read_kernel_counters(cpu);
  measurement.begin();
  outcome.window.after_begin = read_kernel_counters(cpu);
  measurement.run(milliseconds, load);
  outcome.window.before_end = read_kernel_counters(cpu);
  measurement.end();
  outcome.window.after_end = read_kernel_counters(cpu);
  outcome.programs_before = measurement.tracer().programs();
  outcome.report = measurement.report();
  outcome.orphans = measurement.orphans();
  outcome.programs = measurement.tracer().programs();
  return outcome;
}

// The kernel refuses a program that comes while it runs already on that CPU, and counts that. It was seen to where
// interrupts are on: 6.12-rt, hrtimer_expire_entry and _exit, where a timer of a thread is interrupted by one of the
// tick; 7.2, handle_mm_fault, whose programs are preempted. No count of the kernel's below is of these kinds.
bool may_be_refused(const ProgramView& program) { return program.kind == "hrtimer" || program.kind == "page_fault"; }

std::uint64_t refused(const std::vector<ProgramView>& programs, std::string_view kind = "") {
  std::uint64_t missed = 0;
  for (const ProgramView& program : programs) missed += kind.empty() || program.kind == kind ? program.missed : 0;
  return missed;
}

void check_all(const Counted& outcome) {
  const Report& report = outcome.report;
  const auto vector = [&](const char* name) { return seen(report, "vector", name).count; };
  check_counters(outcome.window, &KernelCounters::interrupts, "LOC", vector("local_timer"), outcome.orphans);
  check_counters(outcome.window, &KernelCounters::interrupts, "RES", vector("reschedule"), outcome.orphans);
  check_counters(outcome.window, &KernelCounters::interrupts, "IWI", vector("irq_work"), outcome.orphans);
  // CAL counts both vectors; TLB shootdowns are among them, and counted again in TLB.
  check_counters(outcome.window, &KernelCounters::interrupts, "CAL",
                 vector("call_function") + vector("call_function_single"), outcome.orphans);
  for (const auto& [name, unused] : outcome.window.after_end.softirqs) {
    check_counters(outcome.window, &KernelCounters::softirqs, name, seen(report, "softirq", name).count,
                   outcome.orphans);
  }
  // Also those that noised saw none of.
  for (const auto& [name, unused] : outcome.window.after_end.devices) {
    check_counters(outcome.window, &KernelCounters::devices, name, seen(report, "irq", name).count, outcome.orphans);
  }
  CHECK(report.lost.events == 0);
  CHECK(report.lost.detours == 0);
  CHECK(report.lost.unpaired == 0);
  for (const ProgramView& program : outcome.programs) {
    INFO(program.name << " was refused " << program.missed << " times");
    CHECK((program.missed == 0 || may_be_refused(program)));
  }
  CHECK(report.lost.missed_runs >= refused(outcome.programs_before));
  CHECK(report.lost.missed_runs <= refused(outcome.programs));
  // Without a single interval there is nothing to contain; what the kernel counted says above that there was none.
  const bool seen_any = std::ranges::any_of(report.cpus, [](const ReportCpu& cpu) { return cpu.explained_ns != 0; });
  REQUIRE(report.clock.containment.has_value() == seen_any);
  if (seen_any) CHECK(*report.clock.containment >= 0.999);
}

constexpr std::uint64_t kMilliseconds = 3000;

}  // namespace

TEST_CASE("counters: idle", "[core]") {
  const unsigned cpu = probed_cpu();
  const Counted outcome = measure_counts(cpu, kMilliseconds, {});
  check_all(outcome);
  if (has_tick(cpu)) CHECK(seen(outcome.report, "vector", "local_timer").count > 0);
}

TEST_CASE("counters: disk writes") {
  const Counted outcome = measure_counts(probed_cpu(), kMilliseconds, [] { write_to_disk(kMilliseconds - 200); });
  check_all(outcome);
}

TEST_CASE("counters: loopback traffic on the probed CPU") {
  const unsigned cpu = probed_cpu();
  const Counted outcome = measure_counts(cpu, kMilliseconds, [cpu] { talk_over_loopback(cpu, kMilliseconds - 200); });
  check_all(outcome);
  CHECK(seen(outcome.report, "softirq", "NET_RX").count > 100);
}

TEST_CASE("counters: memory unmapped by another thread of the process") {
  std::uint64_t unmapped = 0;
  const Counted outcome =
      measure_counts(probed_cpu(), kMilliseconds, [&] { unmapped = unmap_shared_memory(kMilliseconds - 200); });
  check_all(outcome);
  const std::uint64_t calls = seen(outcome.report, "vector", "call_function").count +
                              seen(outcome.report, "vector", "call_function_single").count;
  INFO("unmapped " << unmapped << " times, called " << calls << " times");
  CHECK(unmapped > 10);
  CHECK(calls > unmapped / 2);  // while another task has the CPU, the loop's memory need not be flushed there
}

TEST_CASE("counters: timers on the probed CPU") {
  const unsigned cpu = probed_cpu();
  std::uint64_t slept = 0;
  const Counted outcome = measure_counts(cpu, kMilliseconds, [&] { slept = sleep_on(cpu, kMilliseconds - 200); });
  check_all(outcome);
  const Seen wakeups = seen(outcome.report, "hrtimer", "hrtimer_wakeup");
  INFO("slept " << slept << " times, noised saw " << wakeups.count << " timers go off");
  CHECK(slept > 100);
  CHECK(wakeups.count + outcome.orphans + refused(outcome.programs, "hrtimer") >= slept);
}

TEST_CASE("counters: wakeups from another CPU") {
  const unsigned cpu = probed_cpu();
  const Counted outcome = measure_counts(cpu, kMilliseconds, [cpu] { wake_on(cpu, kMilliseconds - 200); });
  check_all(outcome);
}

TEST_CASE("counters: everything at once, by raw tracepoints", "[core]") {
  const unsigned cpu = probed_cpu();
  const auto load = [cpu] {
    const std::uint64_t time = kMilliseconds - 200;
    std::vector<std::jthread> threads;
    threads.emplace_back([time] { write_to_disk(time); });
    threads.emplace_back([=] { talk_over_loopback(cpu, time); });
    threads.emplace_back([time] { unmap_shared_memory(time); });
    threads.emplace_back([=] { sleep_on(cpu, time); });
    threads.emplace_back([=] { wake_on(cpu, time); });
  };
  MeasurementOptions raw;
  raw.btf = "/sys/kernel/btf/vmlinux";
  const Counted outcome = measure_counts(cpu, kMilliseconds, load, raw);
  check_all(outcome);
  const auto attached = [&](const char* how) {
    return std::ranges::count_if(outcome.programs, [&](const ProgramView& each) { return each.attached == how; });
  };
  CHECK(attached("raw_tp") > 20);
  CHECK(attached("tp_btf") + attached("fentry") + attached("fexit") == 0);
}
