// SPDX-License-Identifier: Apache-2.0
// Calls that interrupt a CPU only while a thread of the caller's process runs there.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

#include "selftest/generator.h"

namespace noised::selftest {

struct Attack {
  std::string name;               ///< of the thread that calls
  std::function<void()> prepare;  ///< before each call; must not interrupt the victim
  std::function<void()> call;
  std::string counter;  ///< row of /proc/interrupts that counts the interrupts on the CPU
};

/// A thread on the CPU spins for a while, again and again; a helper calls once in each while. Only calls that the
/// victim provably was running before and after, without a stop, count as occurrences. The truth lacks its sources.
Result<Truth> attack(const GeneratorOptions& options, const Attack& attack);

}  // namespace noised::selftest
