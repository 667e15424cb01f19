// SPDX-License-Identifier: Apache-2.0
// For each remedy, its setting on a machine and whether that has it; remedies.cpp has the words.
#pragma once

#include <string>

#include "advice/remedies.h"

namespace noised {

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

}  // namespace noised
