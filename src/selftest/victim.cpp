// SPDX-License-Identifier: Apache-2.0
// The victim's pulse: a counter that only its running moves on.
#include "selftest/victim.h"

#include <sys/resource.h>

#include <algorithm>
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

long preemptions_of_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// Notes the activations during which nobody else had the CPU. One that ran before and after a call may have made way to
// a kernel thread just then.
void spin(Pulse& pulse, std::uint64_t period, unsigned slower, const Window& window,
          std::vector<std::uint64_t>& undisturbed) {
  // Timers of an emulated machine are late by milliseconds, the caller's too.
  const std::uint64_t spin_ns = std::uint64_t{slower} * slower * kSpin;
  std::uint64_t activation = 0;
  for (std::uint64_t next = window.start_ns; next < window.end_ns; next += period) {
    sleep_until(next);
    const long before = preemptions_of_thread();
    pulse.store(++activation << 32U);
    for (const std::uint64_t end = monotonic_ns() + spin_ns; monotonic_ns() < end;) pulse.fetch_add(1);
    if (preemptions_of_thread() == before) undisturbed.push_back(activation);
  }
}

// Waits until the victim moves on; the pulse then, or 0 when it does not.
std::uint64_t next_beat(const Pulse& pulse, unsigned slower) {
  const std::uint64_t before = pulse.load();
  for (const std::uint64_t end = monotonic_ns() + slower * kPatience; monotonic_ns() < end;) {
    if (const std::uint64_t now = pulse.load(); now != before) return now;
  }
  return 0;
}

struct Call {
  std::uint64_t activation;  // of the victim, before and after the call
  Occurrence occurrence;
};

// A hypervisor that has taken the CPU from the victim may flush its TLB itself, without an interrupt (KVM does): what
// the kernel did not count was none. Where the machine is emulated nobody does that, and reading the counts takes
// longer than an activation.
std::optional<std::uint64_t> counted(const GeneratorOptions& options, const Attack& attack) {
  return options.slower == 1 ? interrupts_on(options.cpu, attack.counter) : std::nullopt;
}

void call_within(const Pulse& pulse, const GeneratorOptions& options, const Attack& attack, const Window& window,
                 std::vector<Call>& out) {
  const std::uint64_t period = options.period(kPeriod);
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
    out.push_back({before >> 32U, occurrence});
  }
}

std::vector<Occurrence> during(const std::vector<std::uint64_t>& undisturbed, const std::vector<Call>& calls) {
  std::vector<Occurrence> out;
  for (const Call& call : calls) {
    if (std::ranges::binary_search(undisturbed, call.activation)) out.push_back(call.occurrence);
  }
  return out;
}

}  // namespace

Result<Truth> attack(const GeneratorOptions& options, const Attack& attack) {
  const std::uint64_t period = options.period(kPeriod);
  Truth truth;
  std::vector<Call> calls;
  calls.reserve(options.duration_ns / period + 1);
  std::vector<std::uint64_t> undisturbed;
  undisturbed.reserve(options.duration_ns / period + 1);
  Pulse pulse{0};
  Crew crew;
  crew.add(on_cpu(options, "noised-victim"),
           [&](const Window& window) { spin(pulse, period, options.slower, window, undisturbed); });
  crew.add(elsewhere(options, attack.name),
           [&](const Window& window) { call_within(pulse, options, attack, window, calls); });
  const auto before = interrupts_on(options.cpu, attack.counter);
  const Result<Window> window = crew.run(options.duration_ns, options.slower);
  const auto after = interrupts_on(options.cpu, attack.counter);
  if (!window) return window.error();
  if (before && after) {
    truth.kernel = KernelCount{"/proc/interrupts " + attack.counter, *after - *before};
    if (truth.kernel->count == 0) return unsupported("it interrupts no other CPU here");
  }
  truth.occurrences = during(undisturbed, calls);
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
