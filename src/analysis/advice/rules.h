// SPDX-License-Identifier: Apache-2.0
// What can be done about which kind of noise: a plain table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace noised::analysis {

/// What a setting is; remedies.h makes it exact for a machine.
enum class RemedyId : std::uint8_t {
  none,
  nohz_full,
  rcu_nocbs,
  isolcpus,
  irqaffinity,
  psi_off,
  tsc_reliable,
  irq_affinity,
  workqueue_cpumask,
  watchdog_cpumask,
  nmi_watchdog,
  timer_migration,
  stat_interval,
  numa_balancing,
  compaction,
  rt_runtime,
  rcu_normal,
  ksm,
  khugepaged,
  check_interval,
  huge_pages,
  service_affinity,
  task_affinity,
  prefault,
  fewer_unmaps,
  receive_steering,
  no_profiling,
  avoid_cause,
  host,
  firmware,
};

/// What is expected of a rule's remedies together.
enum class Expect : std::uint8_t {
  all,      ///< this noise goes, but for what `remaining` says
  at_most,  ///< no more than this noise, and maybe none of it
  nothing,  ///< nothing that could be computed here
};

enum class RuleId : std::uint8_t {
  tick,
  rcu,
  rcu_thread,
  rcu_expedited,
  timers,
  rt_period,
  watchdog,
  clock_watchdog,
  nmi,
  profiling,
  device,
  device_softirq,
  unbound_work,
  bound_work,
  vmstat,
  psi,
  machine_check,
  reschedule,
  tlb,
  receive_steering,
  on_request,
  service,
  task,
  khugepaged,
  ksm,
  compaction,
  page_fault,
  hypervisor,
  hardware,
  unexplained,
  no_remedy,
};
inline constexpr std::size_t kRuleCount = static_cast<std::size_t>(RuleId::no_remedy) + 1;

struct Rule {
  std::string_view name;
  std::string_view title;
  Expect expect;
  double remaining_per_second;  ///< events that stay, on each CPU
  std::array<RemedyId, 4> remedies;
};

const Rule& rule(RuleId id);

/// The rule for a kernel function: a timer's or hrtimer's callback, a work, or a function called by another CPU.
RuleId rule_of_timer(std::string_view function);
RuleId rule_of_work(std::string_view function);
RuleId rule_of_call(std::string_view function);
/// The rule for a thread of the kernel's, by its name; nothing if that is not known for one.
std::optional<RuleId> rule_of_kernel_thread(std::string_view name);
/// Who asks for a function that runs on every CPU, and how not to; empty where that is not known.
std::string_view cause_of_request(std::string_view function);

}  // namespace noised::analysis
