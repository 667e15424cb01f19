// SPDX-License-Identifier: Apache-2.0
// The list of tracepoints.
#include "trace/tracepoints.h"

#include <algorithm>
#include <array>

namespace noised {
namespace {

// A preempting task would otherwise look like the hypervisor's work, so without sched_switch there is no start.
constexpr std::array kProbes = {
    Probe{Kind::irq, "", "irq_handler_entry", "irq_handler_exit"},
    Probe{Kind::vector, "local_timer", "local_timer_entry", "local_timer_exit"},
    Probe{Kind::vector, "reschedule", "reschedule_entry", "reschedule_exit"},
    Probe{Kind::vector, "call_function", "call_function_entry", "call_function_exit"},
    Probe{Kind::vector, "call_function_single", "call_function_single_entry", "call_function_single_exit"},
    Probe{Kind::vector, "irq_work", "irq_work_entry", "irq_work_exit"},
    Probe{Kind::vector, "thermal_apic", "thermal_apic_entry", "thermal_apic_exit"},
    Probe{Kind::vector, "threshold_apic", "threshold_apic_entry", "threshold_apic_exit"},
    Probe{Kind::vector, "deferred_error_apic", "deferred_error_apic_entry", "deferred_error_apic_exit"},
    Probe{Kind::vector, "error_apic", "error_apic_entry", "error_apic_exit"},
    Probe{Kind::vector, "spurious_apic", "spurious_apic_entry", "spurious_apic_exit"},
    Probe{Kind::vector, "x86_platform_ipi", "x86_platform_ipi_entry", "x86_platform_ipi_exit"},
    Probe{Kind::softirq, "", "softirq_entry", "softirq_exit"},
    Probe{Kind::tasklet, "", "tasklet_entry", "tasklet_exit"},
    Probe{Kind::timer, "", "timer_expire_entry", "timer_expire_exit"},
    Probe{Kind::hrtimer, "", "hrtimer_expire_entry", "hrtimer_expire_exit"},
    Probe{Kind::csd, "", "csd_function_entry", "csd_function_exit"},
    Probe{Kind::task, "", "sched_switch", "", true},
    Probe{Kind::work, "", "workqueue_execute_start", "workqueue_execute_end"},
    Probe{Kind::nmi, "", "nmi_handler", ""},
    Probe{Kind::page_fault, "user", "page_fault_user", "", false, Role::instant},
    Probe{Kind::page_fault, "kernel", "page_fault_kernel", "", false, Role::instant},
    Probe{Kind::task, "waker", "sched_waking", "", false, Role::origin},
    Probe{Kind::task, "parent", "sched_wakeup_new", "", false, Role::origin},
    Probe{Kind::task, "mover", "sched_migrate_task", "", false, Role::origin},
    Probe{Kind::vector, "sender", "ipi_send_cpu", "", false, Role::origin},
    Probe{Kind::vector, "sender to several CPUs", "ipi_send_cpumask", "", false, Role::origin},
    Probe{Kind::csd, "sender", "csd_queue_cpu", "", false, Role::origin},
    Probe{Kind::task, "children", "sched_process_fork", "", false, Role::task},
    Probe{Kind::task, "arrival", "sched_wakeup", "", false, Role::arrival},
};

}  // namespace

std::span<const Probe> known_probes() { return kProbes; }

bool is_wanted(Role role, const Watching& watching) {
  if (role == Role::instant) return watching.loops;
  if (role == Role::arrival) return watching.loops && watching.tasks;
  return role != Role::task || watching.tasks;
}

// Vectors, device interrupts and switches are traced with interrupts off, and no NMI handler comes by them. The others
// are traced with interrupts on, on some kernel, or lead to what an interrupt does as well.
bool may_recur(std::string_view tracepoint) {
  const auto* const probe = std::find_if(kProbes.begin(), kProbes.end(), [&](const Probe& each) {
    return (each.role == Role::interval || each.role == Role::instant) &&
           (each.entry == tracepoint || each.exit == tracepoint);
  });
  if (probe == kProbes.end()) return true;
  return probe->kind != Kind::vector && probe->kind != Kind::irq && probe->kind != Kind::task;
}

}  // namespace noised
