// SPDX-License-Identifier: Apache-2.0
// ipi: function calls to the CPU from another one, by a performance event of that CPU that is switched on and off.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/clocks.h"
#include "base/files.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kIpiPeriod = 1'000'000;

// An event that counts nothing: switching it touches no hardware.
Descriptor open_event(unsigned cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.disabled = 1;
  return Descriptor(
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

// ioctl(2) returns when the function has run on the CPU: every call is one interrupt, between its two clock readings.
Result<Truth> generate_ipi(const GeneratorOptions& options) {
  const Descriptor event = open_event(options.cpu);
  if (!event) return refused("perf_event_open", errno);
  Truth truth;
  truth.how = "a performance event of the CPU switched on and off";
  truth.sources = {{"csd", "remote_function"}};
  truth.fallback = {{"vector", "call_function_single"}, {"vector", "call_function"}};
  const std::uint64_t period = options.period(kIpiPeriod);
  truth.occurrences.reserve(options.duration_ns / period + 1);
  int error = 0;
  GeneratorThreads threads;
  threads.add(elsewhere(options, "noised-ipi"), [&](const Window& window) {
    bool on = false;
    for (std::uint64_t next = window.start_ns; next < window.end_ns && error == 0; next += period) {
      sleep_until(next);
      on = !on;
      Occurrence call;
      call.start_ns = monotonic_ns();
      if (ioctl(event.get(), on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) != 0) error = errno;
      call.end_ns = monotonic_ns();
      truth.occurrences.push_back(call);
    }
  });
  const auto before = interrupts_on(options.cpu, "CAL");
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  const auto after = interrupts_on(options.cpu, "CAL");
  if (!window) return window.error();
  if (error != 0) return refused("ioctl(PERF_EVENT_IOC_ENABLE)", error);
  if (before && after) truth.kernel = KernelCount{"/proc/interrupts CAL", *after - *before};
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
