// SPDX-License-Identifier: Apache-2.0
// Settings that a running kernel takes.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "advice/remedy_settings.h"
#include "base/parse.h"

namespace noised {
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

RemedySetting sysctl(const Machine& machine, std::string_view name, std::uint64_t wanted) {
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
  return sysctl(machine, "kernel.nmi_watchdog", 0);
}

RemedySetting timer_migration_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return sysctl(machine, "kernel.timer_migration", 1);
}

RemedySetting stat_interval_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  constexpr std::uint64_t kSeldom = 120;
  return numbered(machine, fmt::format("vm.stat_interval={}", kSeldom), "proc/sys/vm/stat_interval",
                  [](std::uint64_t now) { return now >= kSeldom; });
}

RemedySetting numa_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return sysctl(machine, "kernel.numa_balancing", 0);
}

RemedySetting compaction_setting(const RemedyTarget& /*target*/, const Machine& machine) {
  return sysctl(machine, "vm.compaction_proactiveness", 0);
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

}  // namespace noised
