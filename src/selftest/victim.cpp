// SPDX-License-Identifier: Apache-2.0
// The victim's pulse: a counter that only its running moves on.
#include "selftest/victim.h"

#include <atomic>

#include "base/monotonic.h"
#include "selftest/crew.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kPeriod = 4'000'000;
constexpr std::uint64_t kSpin = 600'000;
constexpr std::uint64_t kIntoSpin = 200'000;  // by then the victim runs, and the caller is awake in time
constexpr std::uint64_t kPatience = 200'000;

// High half: the activation; low half: turns of its spinning.
using Pulse = std::atomic<std::uint64_t>;

void spin(Pulse& pulse, std::uint64_t period, const Window& window) {
  std::uint64_t activation = 0;
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += period) {
    sleep_until(next);
    pulse.store(++activation << 32U);
    for (const std::uint64_t end = monotonic_ns() + kSpin; monotonic_ns() < end;) pulse.fetch_add(1);
  }
}

// Waits until the victim moves on; the pulse then, or 0 when it does not.
std::uint64_t next_beat(const Pulse& pulse) {
  const std::uint64_t before = pulse.load();
  for (const std::uint64_t end = monotonic_ns() + kPatience; monotonic_ns() < end;) {
    if (const std::uint64_t now = pulse.load(); now != before) return now;
  }
  return 0;
}

// A victim that ran before and after may have made way to a kernel thread just then: a call that the kernel did not
// count interrupted nobody.
void call_within(const Pulse& pulse, const GeneratorOptions& options, std::uint64_t period, const Attack& attack,
                 const Window& window, std::vector<Occurrence>& out) {
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += period) {
    attack.prepare();
    sleep_until(next + kIntoSpin);
    const std::uint64_t before = next_beat(pulse);
    if (before == 0) continue;
    const auto counted = interrupts_on(options.cpu, attack.counter);
    Occurrence occurrence;
    occurrence.start_ns = monotonic_ns();
    attack.call();
    occurrence.end_ns = monotonic_ns();
    const std::uint64_t after = next_beat(pulse);
    if (before >> 32U != after >> 32U || (counted && interrupts_on(options.cpu, attack.counter) == counted)) continue;
    out.push_back(occurrence);
  }
}

}  // namespace

Result<Truth> attack(const GeneratorOptions& options, const Attack& attack) {
  const std::uint64_t period = options.period_ns.value_or(kPeriod);
  Truth truth;
  truth.occurrences.reserve(options.duration_ns / period + 1);
  Pulse pulse{0};
  Crew crew;
  crew.add(on_cpu(options, "noised-victim"), [&](const Window& window) { spin(pulse, period, window); });
  crew.add(elsewhere(options, attack.name),
           [&](const Window& window) { call_within(pulse, options, period, attack, window, truth.occurrences); });
  const auto before = interrupts_on(options.cpu, attack.counter);
  const Result<Window> window = crew.run(options.duration_ns);
  const auto after = interrupts_on(options.cpu, attack.counter);
  if (!window) return window.error();
  if (before && after) {
    truth.kernel = KernelCount{"/proc/interrupts " + attack.counter, *after - *before};
    if (truth.kernel->count == 0) return unsupported("it interrupts no other CPU here");
  }
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
