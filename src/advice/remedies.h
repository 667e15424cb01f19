// SPDX-License-Identifier: Apache-2.0
// A remedy made exact: the setting for these CPUs, and whether the machine has it already. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "advice/machine.h"
#include "advice/rules.h"

namespace noised {

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

}  // namespace noised
