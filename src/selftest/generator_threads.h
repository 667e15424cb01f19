// SPDX-License-Identifier: Apache-2.0
// The threads of a generator: each settled on its CPU before any of them begins, each gone after all have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <noised/result.h>

#include "selftest/generator.h"

namespace noised::selftest {

/// Where and how a thread runs.
struct Place {
  std::string name;  ///< at most 15 bytes
  unsigned cpu = 0;
  bool fifo = false;
  int priority = 0;
};

/// When the threads act. All of them sleep at start_ns and at final_ns, so that what they do before and after, being
/// moved to the CPU and ending, is outside.
struct Window {
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;    ///< nothing new begins after this
  std::uint64_t final_ns = 0;  ///< everything is over
};

class Crew {
 public:
  using Body = std::function<void(const Window&)>;

  void add(Place place, Body body) { members_.push_back({std::move(place), std::move(body)}); }
  /// Runs all members for so long; fails, and runs none, when one of them cannot be where it should. On a machine so
  /// many times slower they have more time to fall asleep.
  Result<Window> run(std::uint64_t duration_ns, unsigned slower);

 private:
  struct Member {
    Place place;
    Body body;
  };
  std::vector<Member> members_;
};

/// The thread on the measured CPU.
Place on_cpu(const GeneratorOptions& options, std::string name);
/// A helper on one of the other CPUs.
Place elsewhere(const GeneratorOptions& options, std::string name);

/// Sleeps until CLOCK_MONOTONIC says so; at once if that is past.
void sleep_until(std::uint64_t monotonic_ns);
/// CPU time of the calling thread, ns.
std::uint64_t thread_cpu_ns();
/// The calling thread's number, as in /proc.
unsigned thread_id();

}  // namespace noised::selftest
