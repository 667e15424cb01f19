// SPDX-License-Identifier: Apache-2.0
// The victim's pulse: a counter that only its running moves on.
#include "selftest/victim.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "base/clocks.h"
#include "selftest/generator_threads.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kVictimPeriod = 4'000'000;
constexpr std::uint64_t kSpin = 600'000;
constexpr std::uint64_t kIntoSpin = 200'000;  // by then the victim runs, and the caller is awake in time
constexpr std::uint64_t kVictimPatience = 200'000;
constexpr std::uint64_t kLongTurn = 2'000;  // two switches and a task between them take longer
constexpr std::size_t kReadings = 20;
constexpr const char* kVictim = "noised-victim";
constexpr const char* kCalls = "CAL";  // all function calls, whatever they are for

// How the victim spends its time.
struct Pace {
  std::uint64_t period_ns;
  std::uint64_t spin_ns;  // of each period
};

struct Break {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

// High half: the activation; low half: turns of its spinning.
using Pulse = std::atomic<std::uint64_t>;

long preemptions_of_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// Notes the times when somebody else may have had the CPU: a flush that comes then strikes nobody. Reading how often
// that was takes a system call, so it is done after a turn that took long; what was shorter may lie anywhere.
void spin(Pulse& pulse, const Pace& pace, const Window& window, std::vector<Break>& breaks) {
  std::uint64_t activation = 0;
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += pace.period_ns) {
    sleep_until(next);
    long preempted = preemptions_of_thread();
    pulse.store(++activation << 32U);
    const std::uint64_t began_ns = monotonic_ns();
    std::uint64_t last_ns = began_ns;
    while (last_ns < began_ns + pace.spin_ns) {
      pulse.fetch_add(1);
      std::uint64_t now_ns = monotonic_ns();
      if (now_ns - last_ns > kLongTurn) {
        const long before = std::exchange(preempted, preemptions_of_thread());
        now_ns = monotonic_ns();
        if (preempted != before) breaks.push_back({last_ns, now_ns});
      }
      last_ns = now_ns;
    }
    if (preemptions_of_thread() != preempted) breaks.push_back({began_ns, monotonic_ns()});
  }
}

// Waits until the victim moves on; the pulse then, or 0 when it does not.
std::uint64_t next_beat(const Pulse& pulse, unsigned slower) {
  const std::uint64_t before = pulse.load();
  for (const std::uint64_t end = monotonic_ns() + slower * kVictimPatience; monotonic_ns() < end;) {
    if (const std::uint64_t now = pulse.load(); now != before) return now;
  }
  return 0;
}

// Nine readings of ten of the count take no longer: 50 us here, more than an activation on an emulated machine.
std::uint64_t reading_ns(const GeneratorOptions& options, const Attack& attack) {
  std::vector<std::uint64_t> spent(kReadings);
  for (std::uint64_t& each : spent) {
    const std::uint64_t begun_ns = monotonic_ns();
    (void)interrupts_on(options.cpu, attack.counter);
    each = monotonic_ns() - begun_ns;
  }
  std::ranges::sort(spent);
  return spent[kReadings * 9 / 10];
}

// An activation lasts for a reading and a call, however long they take on this machine: where it did not, 4 of 1,250
// calls were left to judge. Timers of an emulated machine are late by milliseconds, the caller's
// too.
Pace pace_of(const GeneratorOptions& options, const Attack& attack) {
  const std::uint64_t spin_ns =
      std::uint64_t{options.slower} * options.slower * kSpin + 4 * reading_ns(options, attack);
  return {std::max(options.period(kVictimPeriod), 2 * spin_ns), spin_ns};
}

void call_within(const Pulse& pulse, const Pace& pace, const GeneratorOptions& options, const Attack& attack,
                 const Window& window, std::vector<Occurrence>& out) {
  const unsigned slower = options.slower;
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += pace.period_ns) {
    attack.prepare();
    sleep_until(next + slower * kIntoSpin);
    const std::uint64_t before = next_beat(pulse, slower);
    if (before == 0) continue;
    // A hypervisor that has taken the CPU from the victim may flush its TLB itself, without an interrupt (KVM does):
    // what the kernel did not count was none.
    const auto count = interrupts_on(options.cpu, attack.counter);
    Occurrence occurrence;
    occurrence.start_ns = monotonic_ns();
    attack.call();
    occurrence.end_ns = monotonic_ns();
    const std::uint64_t after = next_beat(pulse, slower);
    if (before >> 32U != after >> 32U || (count && interrupts_on(options.cpu, attack.counter) == count)) continue;
    out.push_back(occurrence);
  }
}

std::vector<Occurrence> outside(const std::vector<Break>& breaks, const std::vector<Occurrence>& calls) {
  std::vector<Occurrence> out;
  std::ranges::copy_if(calls, std::back_inserter(out), [&](const Occurrence& call) {
    return std::ranges::none_of(
        breaks, [&](const Break& each) { return each.start_ns <= call.end_ns && call.start_ns <= each.end_ns; });
  });
  return out;
}

}  // namespace

Result<Truth> attack(const GeneratorOptions& options, const Attack& attack) {
  const Pace pace = pace_of(options, attack);
  Truth truth;
  std::vector<Occurrence> calls;
  calls.reserve(options.duration_ns / pace.period_ns + 1);
  std::vector<Break> breaks;
  breaks.reserve(options.duration_ns / pace.period_ns + 1);
  Pulse pulse{0};
  GeneratorThreads threads;
  threads.add(on_cpu(options, kVictim), [&](const Window& window) { spin(pulse, pace, window, breaks); });
  threads.add(elsewhere(options, attack.name),
              [&](const Window& window) { call_within(pulse, pace, options, attack, window, calls); });
  const auto calls_before = interrupts_on(options.cpu, kCalls);
  const auto before = interrupts_on(options.cpu, attack.counter);
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  const auto after = interrupts_on(options.cpu, attack.counter);
  const auto calls_after = interrupts_on(options.cpu, kCalls);
  if (!window) return window.error();
  if (before && after) {
    truth.kernel = KernelCount{"/proc/interrupts " + attack.counter, *after - *before};
    if (truth.kernel->count == 0) return unsupported("it interrupts no other CPU here");
  }
  if (calls_before && calls_after)
    truth.fallback_kernel = KernelCount{std::string("/proc/interrupts ") + kCalls, *calls_after - *calls_before};
  truth.occurrences = outside(breaks, calls);
  // Another task that gives memory back flushes its own CPU by the same function, without an interrupt to count. What
  // interrupts it is counted all the same: each excuses one call that was shown and not done.
  truth.victim = kVictim;
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
