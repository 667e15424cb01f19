// SPDX-License-Identifier: Apache-2.0
// The words of each remedy: what it does, what it does not. What is said here is the kernel's documentation, or marked.
#include "advice/remedies.h"

#include <algorithm>
#include <cassert>

#include "advice/remedy_settings.h"

namespace noised {
namespace {

struct Words {
  RemedyId id;
  std::string_view name;
  RemedyPlace place;
  std::string_view why;
  std::string_view limits;
  SettingOf setting;  ///< null: `why` is all there is to do
};

using enum RemedyPlace;

constexpr Words kWords[] = {
    {RemedyId::nohz_full, "nohz_full", boot,
     "stops the tick while one task runs on the CPU; timers, unbound work and RCU callbacks go elsewhere",
     "needs CONFIG_NO_HZ_FULL and another CPU to keep the time; a second runnable task, POSIX CPU timers and perf "
     "start "
     "the tick again; system calls and interrupts take longer",
     nohz_full_setting},
    {RemedyId::rcu_nocbs, "rcu_nocbs", boot, "RCU callbacks run in threads that can be elsewhere",
     "needs CONFIG_RCU_NOCB_CPU; nohz_full does the same; where a tick remains, it still looks after RCU",
     rcu_nocbs_setting},
    {RemedyId::isolcpus, "isolcpus", boot,
     "tasks, unbound kernel threads and work are placed elsewhere; managed interrupts too, where their queues allow it",
     "tasks that ask for the CPU still run there, and applications must ask (taskset); threads and work bound to the "
     "CPU "
     "stay; cpuset.cpus.partition=isolated does most of it without a boot",
     isolcpus_setting},
    {RemedyId::irqaffinity, "irqaffinity", boot, "device interrupts are set up on other CPUs",
     "drivers and irqbalance may choose others later; managed interrupts do not follow it (isolcpus=managed_irq)",
     irqaffinity_setting},
    {RemedyId::psi_off, "psi", boot, "the kernel keeps no pressure figures",
     "/proc/pressure is gone, and with it what systemd-oomd needs", psi_setting},
    {RemedyId::tsc_reliable, "tsc", boot, "the kernel does not compare the TSC with other clocks",
     "nobody notices any more if the TSC is wrong: only where it is known to be right", tsc_setting},
    {RemedyId::irq_affinity, "smp_affinity_list", file, "the interrupt strikes other CPUs",
     "irqbalance may move it back (IRQBALANCE_BANNED_CPULIST); managed interrupts refuse", irq_setting},
    {RemedyId::workqueue_cpumask, "workqueue cpumask", file, "work that is bound to no CPU runs on others",
     "bound work stays", workqueue_setting},
    {RemedyId::watchdog_cpumask, "watchdog_cpumask", sysctl, "the lockup watchdog leaves the CPU out",
     "a lockup there is no longer reported; nosoftlockup on the command line switches it off everywhere; nohz_full "
     "does "
     "this by default",
     watchdog_setting},
    {RemedyId::nmi_watchdog, "nmi_watchdog", sysctl, "no performance counter interrupts the CPU to look for lockups",
     "hard lockups are no longer reported", nmi_watchdog_setting},
    {RemedyId::timer_migration, "timer_migration", sysctl, "timers may be armed on another CPU than the one that asks",
     "timers that are bound to the CPU stay; a busy CPU keeps its own unless it is nohz_full", timer_migration_setting},
    {RemedyId::stat_interval, "stat_interval", sysctl, "statistics of memory are folded less often",
     "/proc/vmstat lags behind; newer kernels leave isolated CPUs out anyhow (since about 6.5)", stat_interval_setting},
    {RemedyId::numa_balancing, "numa_balancing", sysctl, "the kernel takes no pages away to see who uses them",
     "tasks that are not placed by hand may stay far from their memory", numa_setting},
    {RemedyId::compaction, "compaction_proactiveness", sysctl, "memory is compacted only when somebody needs it",
     "huge pages may be harder to get", compaction_setting},
    {RemedyId::rt_runtime, "sched_rt_runtime_us", sysctl, "real-time tasks are not throttled, so nothing watches them",
     "a real-time task that never sleeps then locks everything else out", rt_runtime_setting},
    {RemedyId::rcu_normal, "rcu_normal", file, "grace periods that would interrupt CPUs wait instead",
     "what waits for them takes longer (network configuration, cgroups, module loading)", rcu_normal_setting},
    {RemedyId::ksm, "ksm", file, "no memory is scanned for equal pages", "pages already shared stay so", ksm_setting},
    {RemedyId::khugepaged, "khugepaged/defrag", file, "khugepaged no longer moves pages to make huge ones",
     "programs get fewer huge pages in the long run", khugepaged_setting},
    {RemedyId::check_interval, "machinecheck check_interval", file, "corrected errors are not polled for",
     "those that raise no interrupt are not seen: where somebody counts errors of memory, do not",
     check_interval_setting},
    {RemedyId::huge_pages, "transparent_hugepage", file, "one fault for 2 MiB in place of 512",
     "each such fault takes longer; programs that use memory sparsely need more of it; a reservation of huge pages "
     "(vm.nr_hugepages) has no fault that waits for memory to be compacted",
     huge_pages_setting},
    {RemedyId::service_affinity, "CPUAffinity", systemd, "the service's tasks run on other CPUs",
     "tasks that choose their CPUs themselves do not follow; a cpuset (AllowedCPUs=) holds them too", service_setting},
    {RemedyId::task_affinity, "affinity of the task", command, "it runs on other CPUs",
     "holds until the task ends; children inherit it", task_setting},
    {RemedyId::prefault, "prefault", program,
     "the program touches its memory before it measures or computes: MAP_POPULATE, mlockall(MCL_CURRENT | MCL_FUTURE)",
     "memory that it allocates later faults later; malloc that gives memory back faults again", nullptr},
    {RemedyId::fewer_unmaps, "fewer unmaps", program,
     "a process with threads on this CPU flushes its TLB when any of its threads unmaps or protects memory: keep such "
     "processes off the CPU, or let them keep their memory (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc)",
     "", nullptr},
    {RemedyId::receive_steering, "rps_cpus", file,
     "take these CPUs out of /sys/class/net/*/queues/rx-*/rps_cpus (and xps_cpus)", "", nullptr},
    {RemedyId::no_profiling, "no profiling", program,
     "somebody counts or samples with perf on this CPU: stop it, or leave the CPU out (perf -C)",
     "noised itself uses no perf event", nullptr},
    {RemedyId::avoid_cause, "avoid the cause", program, "", "", nullptr},
    {RemedyId::host, "host", program,
     "nothing in this machine helps: on the host, give each virtual CPU one of its own (pinning, dedicated CPUs, no "
     "overcommitment), and back memory with huge pages",
     "", nullptr},
    {RemedyId::firmware, "firmware", program,
     "no kernel activity, and no host known to have taken it: system management interrupts (firmware settings; "
     "smi_count in the report), frequency and idle states of the processor, memory; in a virtual machine also exits to "
     "the host that it does not count as stolen time",
     "", nullptr},
};

const Words& words_of(RemedyId id) {
  const auto* const found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const Words& w) { return w.id == id; });
  assert(found != std::end(kWords));
  return *found;
}

}  // namespace

std::string_view to_string(RemedyState state) {
  switch (state) {
    case RemedyState::set:
      return "set";
    case RemedyState::not_set:
      return "not_set";
    case RemedyState::unknown:
      return "unknown";
    case RemedyState::impossible:
      return "impossible";
    case RemedyState::advice:
      return "advice";
  }
  return "";
}

std::string_view to_string(RemedyPlace place) {
  constexpr std::string_view kNames[] = {"boot", "sysctl", "file", "systemd", "command", "program"};
  return kNames[static_cast<std::size_t>(place)];
}

Remedy make_remedy(RemedyId id, const RemedyTarget& target, const Machine& machine) {
  const Words& words = words_of(id);
  Remedy remedy{id, words.name, words.place, {}, words.why, words.limits, RemedyState::advice, {}};
  if (words.setting != nullptr) {
    RemedySetting made = words.setting(target, machine);
    remedy.setting = std::move(made.setting);
    remedy.state = made.state;
    remedy.reason = std::move(made.reason);
  }
  if (id == RemedyId::avoid_cause) remedy.why = cause_of_request(target.object);
  return remedy;
}

}  // namespace noised
