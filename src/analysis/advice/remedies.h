// SPDX-License-Identifier: Apache-2.0
// A remedy made exact: the setting for these CPUs, and whether the machine has it already. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/advice/machine.h"
#include "analysis/advice/rules.h"

namespace noised::analysis {

enum class RemedyState : std::uint8_t {
  set,         ///< the machine has it already
  not_set,     ///< it can be had
  unknown,     ///< it can be had, if it is not there yet
  impossible,  ///< this kernel, or this task, cannot
  advice,      ///< no setting that could be looked up
};
std::string_view to_string(RemedyState state);

/// Where a remedy is set.
enum class RemedyPlace : std::uint8_t { boot, sysctl, file, systemd, command, program };
std::string_view to_string(RemedyPlace place);

struct Remedy {
  RemedyId id = RemedyId::none;
  std::string_view name;
  RemedyPlace place = RemedyPlace::program;
  std::string setting;      ///< what to add to the command line, to write, or to do
  std::string_view why;     ///< what it does
  std::string_view limits;  ///< what it does not, and what it costs
  RemedyState state = RemedyState::advice;
  std::string reason;  ///< for the state; may be empty
};

/// What the noise is of, where a remedy needs to know.
struct RemedyTarget {
  std::string object;  ///< an interrupt's action, a service, a task's name, a function
  std::string task;    ///< name of a task whose affinity tells the state
};

/// The remedy for `target` on `machine`, which is asked for its watched CPUs.
Remedy make_remedy(RemedyId id, const RemedyTarget& target, const Machine& machine);

/// Whether it is one of the boot parameters that isolate CPUs, which are set together; others there have their price.
inline bool isolates(const Remedy& remedy) {
  return remedy.id == RemedyId::nohz_full || remedy.id == RemedyId::rcu_nocbs || remedy.id == RemedyId::isolcpus ||
         remedy.id == RemedyId::irqaffinity;
}

/// Whether a remedy is still to be had, as far as is known.
inline bool available(const Remedy& remedy) {
  return remedy.state != RemedyState::set && remedy.state != RemedyState::impossible;
}

// For each remedy, its setting on a machine and whether that has it; remedies.cpp has the words.

struct RemedySetting {
  std::string setting;
  RemedyState state = RemedyState::advice;
  std::string reason;
};

using SettingOf = RemedySetting (*)(const RemedyTarget& target, const Machine& machine);

// On the kernel's command line.
RemedySetting nohz_full_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting rcu_nocbs_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting isolcpus_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting irqaffinity_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting psi_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting tsc_setting(const RemedyTarget& target, const Machine& machine);

// While the kernel runs.
RemedySetting irq_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting workqueue_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting watchdog_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting nmi_watchdog_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting timer_migration_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting stat_interval_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting numa_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting compaction_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting rt_runtime_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting rcu_normal_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting ksm_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting khugepaged_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting check_interval_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting huge_pages_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting service_setting(const RemedyTarget& target, const Machine& machine);
RemedySetting task_setting(const RemedyTarget& target, const Machine& machine);

}  // namespace noised::analysis
