// SPDX-License-Identifier: Apache-2.0
// The words of each remedy: what it does, what it does not. What is said here is the kernel's documentation, or marked.
#include "analysis/advice/remedies.h"

#include <algorithm>
#include <cassert>
#include <functional>

#include <fmt/format.h>

#include "base/cpus.h"

namespace noised::analysis {
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

namespace {

using Cpus = std::vector<unsigned>;

constexpr const char* kIsolated = "sys/devices/system/cpu/isolated";
constexpr const char* kNohzFull = "sys/devices/system/cpu/nohz_full";

bool has_flag(const CpuParameter& parameter, std::string_view flag) {
  return std::find(parameter.flags.begin(), parameter.flags.end(), flag) != parameter.flags.end();
}

// The CPUs that the command line makes nohz_full or isolates; nothing where we do not understand it.
std::optional<Cpus> nohz_full_by_line(const BootLine& boot) {
  const auto nohz_full = boot.cpus("nohz_full");
  const auto isolcpus = boot.cpus("isolcpus");
  if (!nohz_full || !isolcpus) return std::nullopt;
  return has_flag(*isolcpus, "nohz") ? united(nohz_full->cpus, isolcpus->cpus) : nohz_full->cpus;
}

std::optional<Cpus> isolated_by_line(const BootLine& boot) {
  const auto isolcpus = boot.cpus("isolcpus");
  if (!isolcpus) return std::nullopt;
  return isolcpus->flags.empty() || has_flag(*isolcpus, "domain") ? isolcpus->cpus : Cpus{};
}

RemedySetting judged(std::string setting, const std::optional<Cpus>& cpus, const Cpus& wanted, std::string source) {
  if (!cpus) return {std::move(setting), RemedyState::unknown, source + " is not understood"};
  if (includes(*cpus, wanted)) return {std::move(setting), RemedyState::set, std::move(source)};
  return {std::move(setting), RemedyState::not_set, std::move(source)};
}

constexpr const char* kByLine = "by the kernel's command line";

RemedySetting by_value(const Machine& machine, const char* name, std::string_view wanted) {
  const auto value = machine.boot.value(name);
  return {fmt::format("{}={}", name, wanted), value == wanted ? RemedyState::set : RemedyState::not_set, kByLine};
}

}  // namespace

RemedySetting nohz_full_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  // The kernel takes the CPU that booted out of the list; on x86-64 that is CPU 0.
  const Cpus wanted = without(machine.watched, {0});
  if (wanted.empty())
    return {"", RemedyState::impossible, "CPU 0 keeps the time: watch, and give to applications, another CPU"};
  std::string setting = machine.boot.with("nohz_full", {}, wanted);
  if (!machine.live) return judged(std::move(setting), nohz_full_by_line(machine.boot), wanted, kByLine);
  const auto now = machine.cpu_list(kNohzFull);
  if (machine.files.find(kNohzFull) == machine.files.end())
    return {std::move(setting), RemedyState::impossible, "this kernel is built without CONFIG_NO_HZ_FULL"};
  return judged(std::move(setting), now.value, wanted, fmt::format("by /{}", kNohzFull));
}

RemedySetting rcu_nocbs_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  std::string setting = machine.boot.with("rcu_nocbs", {}, machine.watched);
  if (machine.built_with("CONFIG_RCU_NOCB_CPU") == false)
    return {std::move(setting), RemedyState::impossible, "this kernel is built without CONFIG_RCU_NOCB_CPU"};
  if (machine.boot.value("rcu_nocbs") == "all") return {std::move(setting), RemedyState::set, kByLine};
  const auto nocbs = machine.boot.cpus("rcu_nocbs");
  const auto nohz_full = nohz_full_by_line(machine.boot);
  if (!nocbs || !nohz_full) return {std::move(setting), RemedyState::unknown, "the command line is not understood"};
  return judged(std::move(setting), united(nocbs->cpus, *nohz_full), machine.watched, kByLine);
}

RemedySetting isolcpus_setting(const RemedyTarget& target, const Machine& machine) {
  std::string setting = machine.boot.with("isolcpus", {"managed_irq", "domain"}, machine.watched);
  const auto task = machine.tasks.find(target.task);
  if (task != machine.tasks.end() && includes(machine.watched, task->second.cpus)) {
    return {std::move(setting), RemedyState::impossible,
            fmt::format("the task itself asks for CPU {}", format_cpu_list(task->second.cpus))};
  }
  if (!machine.live) return judged(std::move(setting), isolated_by_line(machine.boot), machine.watched, kByLine);
  const auto now = machine.cpu_list(kIsolated);
  if (!now.value) return {std::move(setting), RemedyState::unknown, now.why};
  return judged(std::move(setting), now.value, machine.watched, fmt::format("by /{}", kIsolated));
}

RemedySetting irqaffinity_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  const auto now = machine.boot.cpus("irqaffinity");
  if (now && !now->cpus.empty() && without(now->cpus, machine.watched) == now->cpus)
    return {"irqaffinity=" + format_cpu_list(now->cpus), RemedyState::set, kByLine};
  Cpus wanted = now ? without(now->cpus, machine.watched) : Cpus{};
  if (wanted.empty()) wanted = machine.housekeeping;
  if (wanted.empty()) return {"", RemedyState::impossible, "no CPU is left for interrupts"};
  return {"irqaffinity=" + format_cpu_list(wanted), RemedyState::not_set, kByLine};
}

RemedySetting psi_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return by_value(machine, "psi", "0");
}

RemedySetting tsc_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return by_value(machine, "tsc", "reliable");
}

namespace {

using Cpus = std::vector<unsigned>;

bool apart(const Cpus& a, const Cpus& b) { return without(a, b) == a; }

// "ff,0000000f": the kernel's words have 32 bits, the last one the lowest CPUs.
std::string mask_text(const Cpus& cpus) {
  std::vector<std::uint32_t> words(cpus.empty() ? 1 : cpus.back() / 32 + 1);
  for (const unsigned cpu : cpus) words[cpu / 32] |= 1U << cpu % 32;
  std::string text = fmt::format("{:x}", words.back());
  for (auto word = words.rbegin() + 1; word != words.rend(); ++word) text += fmt::format(",{:08x}", *word);
  return text;
}

std::string others(const Machine& machine) {
  return machine.housekeeping.empty() ? "CPUS" : format_cpu_list(machine.housekeeping);
}

template <typename T>
RemedySetting judged(std::string setting, const MachineSetting<T>& now, const std::function<bool(const T&)>& has) {
  if (!now.value) return {std::move(setting), RemedyState::unknown, now.why};
  return {std::move(setting), has(*now.value) ? RemedyState::set : RemedyState::not_set, ""};
}

RemedySetting numbered(const Machine& machine, std::string setting, const char* path,
                       const std::function<bool(std::uint64_t)>& has) {
  // A kernel that lacks the file lacks what it would switch off.
  if (machine.live && machine.files.find(path) == machine.files.end())
    return {std::move(setting), RemedyState::impossible, fmt::format("this kernel has no /{}", path)};
  return judged<std::uint64_t>(std::move(setting), machine.number(path), has);
}

RemedySetting sysctl_setting(const Machine& machine, std::string_view name, std::uint64_t wanted) {
  std::string path = fmt::format("proc/sys/{}", name);
  std::replace(path.begin(), path.end(), '.', '/');
  return numbered(machine, fmt::format("{}={}", name, wanted), path.c_str(),
                  [wanted](std::uint64_t now) { return now == wanted; });
}

RemedySetting written(const Machine& machine, const char* path, std::uint64_t wanted) {
  return numbered(machine, fmt::format("echo {} > /{}", wanted, path), path,
                  [wanted](std::uint64_t now) { return now == wanted; });
}

RemedySetting by_affinity(std::string setting, const RemedyTarget& target, const Machine& machine) {
  const auto task = machine.tasks.find(target.task);
  if (task == machine.tasks.end()) {
    return {std::move(setting), RemedyState::unknown,
            machine.live ? "the task lives no more, or has another name" : machine.why};
  }
  if (apart(task->second.cpus, machine.watched)) return {std::move(setting), RemedyState::set, "by its affinity now"};
  if (task->second.fixed)
    return {std::move(setting), RemedyState::impossible, "the kernel lets nobody change the affinity of this thread"};
  return {std::move(setting), RemedyState::not_set,
          fmt::format("it may run on CPUs {} now", format_cpu_list(task->second.cpus))};
}

}  // namespace

RemedySetting irq_setting(const RemedyTarget& target, const Machine& machine) {
  const std::string to = others(machine);
  // The thread of interrupt 24 is called irq/24-eth0, and follows it.
  const bool thread = target.object.starts_with("irq/");
  const auto found =
      machine.irqs.find(thread ? "irq" + target.object.substr(4, target.object.find('-') - 4) : target.object);
  if (found == machine.irqs.end()) {
    return {fmt::format("echo {} > /proc/irq/N/smp_affinity_list, N as /proc/interrupts has it for '{}'", to,
                        target.object),
            RemedyState::unknown, machine.live ? "no interrupt has this name now" : machine.why};
  }
  std::string setting;
  bool set = true;
  for (const IrqNow& irq : found->second) {
    if (!setting.empty()) setting += "; ";
    setting += fmt::format("echo {} > /proc/irq/{}/smp_affinity_list", to, irq.irq);
    set = set && apart(irq.cpus, machine.watched);
  }
  return {std::move(setting), set ? RemedyState::set : RemedyState::not_set, ""};
}

RemedySetting workqueue_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  constexpr const char* kPath = "sys/devices/virtual/workqueue/cpumask";
  const std::string mask = machine.housekeeping.empty() ? "MASK" : mask_text(machine.housekeeping);
  return judged<Cpus>(fmt::format("echo {} > /{}", mask, kPath), machine.cpu_mask(kPath),
                      [&](const Cpus& now) { return apart(now, machine.watched); });
}

RemedySetting watchdog_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  std::string setting = fmt::format("kernel.watchdog_cpumask={}", others(machine));
  if (machine.number("proc/sys/kernel/watchdog").value == 0U)
    return {std::move(setting), RemedyState::set, "the watchdog is off"};
  return judged<Cpus>(std::move(setting), machine.cpu_list("proc/sys/kernel/watchdog_cpumask"),
                      [&](const Cpus& now) { return apart(now, machine.watched); });
}

RemedySetting nmi_watchdog_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return sysctl_setting(machine, "kernel.nmi_watchdog", 0);
}

RemedySetting timer_migration_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return sysctl_setting(machine, "kernel.timer_migration", 1);
}

RemedySetting stat_interval_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  constexpr std::uint64_t kSeldom = 120;
  return numbered(machine, fmt::format("vm.stat_interval={}", kSeldom), "proc/sys/vm/stat_interval",
                  [](std::uint64_t now) { return now >= kSeldom; });
}

RemedySetting numa_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return sysctl_setting(machine, "kernel.numa_balancing", 0);
}

RemedySetting compaction_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return sysctl_setting(machine, "vm.compaction_proactiveness", 0);
}

RemedySetting rt_runtime_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return judged<std::string>("kernel.sched_rt_runtime_us=-1", machine.text("proc/sys/kernel/sched_rt_runtime_us"),
                             [](const std::string& now) { return now == "-1"; });
}

RemedySetting rcu_normal_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return written(machine, "sys/kernel/rcu_normal", 1);
}

RemedySetting ksm_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return written(machine, "sys/kernel/mm/ksm/run", 0);
}

RemedySetting khugepaged_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return written(machine, "sys/kernel/mm/transparent_hugepage/khugepaged/defrag", 0);
}

RemedySetting check_interval_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return written(machine, "sys/devices/system/machinecheck/machinecheck0/check_interval", 0);
}

RemedySetting huge_pages_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  constexpr const char* kPath = "sys/kernel/mm/transparent_hugepage/enabled";
  return judged<std::string>(fmt::format("echo always > /{}", kPath), machine.text(kPath),
                             [](const std::string& now) { return now.find("[always]") != std::string::npos; });
}

// A scope was not started by systemd: it has no CPUAffinity=, but a cpuset.
RemedySetting service_setting(const RemedyTarget& target, const Machine& machine) {
  std::string setting = fmt::format("systemctl set-property {} AllowedCPUs={}", target.object, others(machine));
  if (target.object.ends_with(".service")) {
    setting = fmt::format("systemctl edit {0}, with the lines '[Service]' and 'CPUAffinity={1}'; systemctl restart {0}",
                          target.object, others(machine));
  }
  return by_affinity(std::move(setting), target, machine);
}

RemedySetting task_setting(const RemedyTarget& target, const Machine& machine) {
  const auto task = machine.tasks.find(target.task);
  const std::string pid =
      task == machine.tasks.end() ? fmt::format("PID of {}", target.task) : std::to_string(task->second.pid);
  return by_affinity(fmt::format("taskset -pc {} {}", others(machine), pid), target, machine);
}

}  // namespace noised::analysis
