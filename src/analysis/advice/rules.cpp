// SPDX-License-Identifier: Apache-2.0
// The table, after the kernel's Documentation/admin-guide/{kernel-parameters.txt,cpu-isolation.rst,
// kernel-per-CPU-kthreads.rst}, Documentation/timers/no_hz.rst and kernel/sched/isolation.c.
#include "analysis/advice/rules.h"

#include <algorithm>
#include <utility>

#include "model/sources.h"

namespace noised::analysis {
namespace {

using enum RemedyId;

// In the order of RuleId. A nohz_full CPU is assumed to keep one tick a second: since 4.17 another CPU does that work,
// but whatever runs on the CPU for a moment may start the tick again.
constexpr std::array<Rule, kRuleCount> kRules{{
    {"tick", "timer tick", Expect::all, 1, {nohz_full}},
    {"rcu", "RCU callbacks", Expect::all, 0, {nohz_full, rcu_nocbs}},
    {"rcu_thread", "RCU's threads", Expect::all, 0, {task_affinity, isolcpus}},
    {"rcu_expedited", "expedited RCU grace periods", Expect::at_most, 0, {nohz_full, rcu_normal}},
    {"timers", "timers", Expect::at_most, 0, {nohz_full, timer_migration, isolcpus}},
    {"rt_period", "real-time throttling's timer", Expect::at_most, 0, {rt_runtime}},
    {"watchdog", "lockup watchdog", Expect::all, 0, {watchdog_cpumask, nohz_full}},
    {"clock_watchdog", "watchdog of the clock source", Expect::all, 0, {tsc_reliable}},
    {"nmi", "non-maskable interrupts", Expect::at_most, 0, {nmi_watchdog, no_profiling}},
    {"profiling", "profiling (perf)", Expect::all, 0, {no_profiling}},
    {"device", "device interrupt", Expect::all, 0, {irq_affinity, irqaffinity, isolcpus}},
    {"device_softirq", "devices' deferred work", Expect::at_most, 0, {irqaffinity, isolcpus}},
    {"unbound_work", "unbound kernel work", Expect::all, 0, {workqueue_cpumask, nohz_full, isolcpus}},
    {"bound_work", "kernel work bound to the CPU", Expect::at_most, 0, {isolcpus}},
    {"vmstat", "folding of memory statistics", Expect::at_most, 0, {stat_interval, nohz_full, isolcpus}},
    {"psi", "pressure stall information", Expect::at_most, 0, {psi_off, isolcpus}},
    {"machine_check", "polling for corrected machine checks", Expect::all, 0, {check_interval}},
    {"reschedule", "rescheduling by other CPUs", Expect::at_most, 0, {isolcpus}},
    {"tlb", "TLB shootdowns", Expect::at_most, 0, {fewer_unmaps, numa_balancing, ksm, khugepaged}},
    {"receive_steering", "receive packet steering", Expect::all, 0, {RemedyId::receive_steering}},
    {"on_request", "work that somebody asks of this CPU", Expect::at_most, 0, {avoid_cause}},
    {"service", "tasks of a service", Expect::all, 0, {service_affinity, isolcpus}},
    {"task", "task", Expect::all, 0, {task_affinity, isolcpus}},
    {"khugepaged", "khugepaged", Expect::all, 0, {task_affinity, khugepaged}},
    {"ksm", "memory deduplication (KSM)", Expect::all, 0, {RemedyId::ksm}},
    {"compaction", "memory compaction", Expect::at_most, 0, {RemedyId::compaction, task_affinity}},
    {"page_fault", "page faults", Expect::at_most, 0, {prefault, huge_pages, numa_balancing}},
    {"hypervisor", "the hypervisor", Expect::nothing, 0, {host}},
    {"hardware", "hardware and firmware", Expect::nothing, 0, {firmware}},
    {"unexplained", "unexplained", Expect::nothing, 0, {}},
    {"no_remedy", "no remedy known", Expect::nothing, 0, {}},
}};

struct Pattern {
  std::string_view prefix;
  RuleId rule;
};

struct Request {
  std::string_view prefix;
  std::string_view words;
};

constexpr Request kRequests[] = {
    {"ipi_mb", "membarrier(2), used by the runtime of a program with threads here: keep its threads off these CPUs"},
    {"ipi_sync", "membarrier(2), used by the runtime of a program with threads here: keep its threads off these CPUs"},
    {"ipi_rseq", "membarrier(2), used by the runtime of a program with threads here: keep its threads off these CPUs"},
    {"do_sync_core", "the kernel patches its code: attach no tracing or BPF, and load no module, during the run"},
    {"__rdmsr",
     "somebody reads this CPU's model-specific registers (turbostat, monitoring): stop it, or leave out the CPU"},
    {"rdmsr",
     "somebody reads this CPU's model-specific registers (turbostat, monitoring): stop it, or leave out the CPU"},
    {"__wrmsr", "somebody writes this CPU's model-specific registers: do it before the run"},
    {"aperfmperf_snapshot", "somebody reads /proc/cpuinfo or scaling_cur_freq: stop it during the run"},
    {"refresh_vm_stats", "somebody reads or writes /proc/sys/vm/stat_refresh: stop it during the run"},
    {"lru_add_drain", "somebody locks memory (mlockall), migrates or offlines it: do it before the run"},
    {"drain_local_pages", "the kernel is short of free pages, or migrates them: leave more memory free"},
    {"drain_local_stock", "a memory cgroup is at its limit, or goes away: raise memory.max, or wait before the run"},
    {"delayed_vfree_work",
     "something big was freed by the kernel, such as a BPF program or a module: do it before the run"},
};

template <std::size_t count>
RuleId first_of(const Pattern (&patterns)[count], std::string_view name, RuleId otherwise) {
  const auto* const found = std::find_if(std::begin(patterns), std::end(patterns),
                                         [&](const Pattern& p) { return name.starts_with(p.prefix); });
  return found == std::end(patterns) ? otherwise : found->rule;
}

}  // namespace

const Rule& rule(RuleId id) { return kRules[static_cast<std::size_t>(id)]; }

RuleId rule_of_timer(std::string_view function) {
  static constexpr Pattern kTimers[] = {
      {"tick_sched_timer", RuleId::tick},
      {"tick_nohz_handler", RuleId::tick},
      {"watchdog_timer_fn", RuleId::watchdog},
      {"clocksource_watchdog", RuleId::clock_watchdog},
      {"perf_", RuleId::profiling},
      {"sched_rt_period_timer", RuleId::rt_period},
      {"mce_timer_fn", RuleId::machine_check},
  };
  return first_of(kTimers, function, RuleId::timers);
}

RuleId rule_of_work(std::string_view function) {
  static constexpr Pattern kWorks[] = {{"vmstat_", RuleId::vmstat}, {"psi_avgs_work", RuleId::psi}};
  if (!cause_of_request(function).empty()) return RuleId::on_request;
  return first_of(kWorks, function, RuleId::bound_work);
}

RuleId rule_of_call(std::string_view function) {
  static constexpr Pattern kCalls[] = {
      {"flush_tlb", RuleId::tlb},
      {"do_flush_tlb", RuleId::tlb},
      {"do_kernel_range_flush", RuleId::tlb},
      {"rcu_exp_", RuleId::rcu_expedited},
      {"rps_trigger_softirq", RuleId::receive_steering},
      {"remote_function", RuleId::profiling},  // kernel/events/core.c: perf events of this CPU
      {"__perf_", RuleId::profiling},
  };
  if (!cause_of_request(function).empty()) return RuleId::on_request;
  return first_of(kCalls, function, RuleId::no_remedy);
}

std::optional<RuleId> rule_of_kernel_thread(std::string_view name) {
  static constexpr Pattern kThreads[] = {
      {"rcuc/", RuleId::rcu},
      {"rcu_", RuleId::rcu_thread},
      {"rcuo", RuleId::rcu_thread},
      {"rcub/", RuleId::rcu_thread},
      {"watchdog/", RuleId::watchdog},
      {"khugepaged", RuleId::khugepaged},
      {"ksmd", RuleId::ksm},
      {"kcompactd", RuleId::compaction},
      {"ksoftirqd/", RuleId::device_softirq},
      {"ktimers/", RuleId::timers},
      {"irq/", RuleId::device},
      {"migration/", RuleId::no_remedy},  // stops a CPU, or moves a task: asked for by who is not known
      {"cpuhp/", RuleId::no_remedy},
      {"idle_inject/", RuleId::no_remedy},
      {"swapper", RuleId::no_remedy},
      {kLeavingIdle, RuleId::no_remedy},
  };
  const auto* const found = std::find_if(std::begin(kThreads), std::end(kThreads),
                                         [&](const Pattern& each) { return name.starts_with(each.prefix); });
  if (found == std::end(kThreads)) return std::nullopt;
  return found->rule;
}

std::string_view cause_of_request(std::string_view function) {
  const auto* const found = std::find_if(std::begin(kRequests), std::end(kRequests),
                                         [&](const Request& each) { return function.starts_with(each.prefix); });
  return found == std::end(kRequests) ? std::string_view() : found->words;
}

}  // namespace noised::analysis
