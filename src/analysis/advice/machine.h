// SPDX-License-Identifier: Apache-2.0
// The settings of a machine that remedies are about, each a value or the reason why it is not known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/advice/boot_line.h"
#include "recording/description.h"

namespace noised::analysis {

template <typename T>
struct MachineSetting {
  std::optional<T> value;
  std::string why;  ///< where there is no value
};

/// A device's interrupt, and the CPUs that it may strike.
struct IrqNow {
  unsigned irq = 0;
  std::vector<unsigned> cpus;
};

/// A task that is still alive.
struct TaskNow {
  unsigned pid = 0;
  std::vector<unsigned> cpus;  ///< where it may run
  bool kernel_thread = false;
  bool fixed = false;  ///< the kernel lets nobody change that
};

/// Files by their path without the leading '/'; with `live` false there are none, and `why` says the reason.
struct Machine {
  bool live = false;
  std::string why;
  BootLine boot;  ///< of the measurement, also where nothing else is known
  std::vector<unsigned> watched;
  std::vector<unsigned> housekeeping;  ///< all other CPUs
  std::map<std::string, std::string, std::less<>> files;
  std::string configuration;                                     ///< of the kernel's build
  std::map<std::string, std::vector<IrqNow>, std::less<>> irqs;  ///< by action
  std::map<std::string, TaskNow, std::less<>> tasks;             ///< by name

  [[nodiscard]] MachineSetting<std::string> text(std::string_view path) const;
  [[nodiscard]] MachineSetting<std::uint64_t> number(std::string_view path) const;
  /// CPUs as the kernel lists them ("1-3"), or as a mask in hexadecimal words ("ff,0000000f").
  [[nodiscard]] MachineSetting<std::vector<unsigned>> cpu_list(std::string_view path) const;
  [[nodiscard]] MachineSetting<std::vector<unsigned>> cpu_mask(std::string_view path) const;
  /// Whether the kernel was built with an option ("CONFIG_RCU_NOCB_CPU"); nothing where its configuration is neither
  /// in /boot nor in /proc/config.gz.
  [[nodiscard]] std::optional<bool> built_with(std::string_view option) const;
};

/// The machine on which `description` was recorded. Its settings are read from below `sysroot` if it is this one and
/// has not been booted since: `here` says so, or host, kernel, command line and start do. `tasks` are pids by name, to
/// be looked at.
Machine read_machine(const recording::Description& description, bool here, const std::map<std::string, unsigned>& tasks,
                     const std::string& sysroot = "/");

// A task as it is now: where it may run, and whether that can be changed.

/// The task with this pid, if it lives and still has this name.
std::optional<TaskNow> read_task(unsigned pid, const std::string& name, const std::string& sysroot = "/");

}  // namespace noised::analysis
