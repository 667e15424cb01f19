// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernel's command line: what is there stays there, the watched CPUs are added.
#include <fmt/format.h>

#include <algorithm>

#include "advice/remedy_settings.h"
#include "base/parse.h"

namespace noised {
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

}  // namespace noised
