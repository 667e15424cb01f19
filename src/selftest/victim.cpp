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
void spin(Pulse& pulse, std::uint64_t period, unsigned slower, const Window& window, std::vector<Break>& breaks) {
  // Timers of an emulated machine are late by milliseconds, the caller's too.
  const std::uint64_t spin_ns = std::uint64_t{slower} * slower * kSpin;
  std::uint64_t activation = 0;
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += period) {
    sleep_until(next);
    long preempted = preemptions_of_thread();
    pulse.store(++activation << 32U);
    const std::uint64_t began_ns = monotonic_ns();
    std::uint64_t last_ns = began_ns;
    while (last_ns < began_ns + spin_ns) {
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

// A hypervisor that has taken the CPU from the victim may flush its TLB itself, without an interrupt (KVM does): what
// the kernel did not count was none. Where the machine is emulated nobody does that, and reading the counts takes
// longer than an activation.
std::optional<std::uint64_t> counted(const GeneratorOptions& options, const Attack& attack) {
  return options.slower == 1 ? interrupts_on(options.cpu, attack.counter) : std::nullopt;
}

void call_within(const Pulse& pulse, const GeneratorOptions& options, const Attack& attack, const Window& window,
                 std::vector<Occurrence>& out) {
  const std::uint64_t period = options.period(kVictimPeriod);
  const unsigned slower = options.slower;
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += period) {
    attack.prepare();
    sleep_until(next + slower * kIntoSpin);
    const std::uint64_t before = next_beat(pulse, slower);
    if (before == 0) continue;
    const auto count = counted(options, attack);
    Occurrence occurrence;
    occurrence.start_ns = monotonic_ns();
    attack.call();
    occurrence.end_ns = monotonic_ns();
    const std::uint64_t after = next_beat(pulse, slower);
    if (before >> 32U != after >> 32U || (count && counted(options, attack) == count)) continue;
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
  const std::uint64_t period = options.period(kVictimPeriod);
  Truth truth;
  std::vector<Occurrence> calls;
  calls.reserve(options.duration_ns / period + 1);
  std::vector<Break> breaks;
  breaks.reserve(options.duration_ns / period + 1);
  Pulse pulse{0};
  GeneratorThreads threads;
  threads.add(on_cpu(options, "noised-victim"),
              [&](const Window& window) { spin(pulse, period, options.slower, window, breaks); });
  threads.add(elsewhere(options, attack.name),
              [&](const Window& window) { call_within(pulse, options, attack, window, calls); });
  const auto before = interrupts_on(options.cpu, attack.counter);
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  const auto after = interrupts_on(options.cpu, attack.counter);
  if (!window) return window.error();
  if (before && after) {
    truth.kernel = KernelCount{"/proc/interrupts " + attack.counter, *after - *before};
    if (truth.kernel->count == 0) return unsupported("it interrupts no other CPU here");
  }
  truth.occurrences = outside(breaks, calls);
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
