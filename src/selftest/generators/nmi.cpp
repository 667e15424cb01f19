// SPDX-License-Identifier: Apache-2.0
// nmi: the kernel shows what every CPU is doing (sysrq l), which it asks them by NMI. It fills the kernel's log.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/clocks.h"
#include "base/files.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kNmiPeriod = 200'000'000;
constexpr const char* kNmiPath = "/proc/sysrq-trigger";

}  // namespace

// The write returns when every CPU has answered.
Result<Truth> generate_nmi(const GeneratorOptions& options) {
  const Descriptor file(open(kNmiPath, O_WRONLY | O_CLOEXEC));
  if (!file) return refused(kNmiPath, errno);
  Truth truth;
  truth.how = "sysrq l";
  truth.sources = {{"nmi", "nmi_cpu_backtrace_handler"}};
  int error = 0;
  GeneratorThreads threads;
  threads.add(elsewhere(options, "noised-nmi"), [&](const Window& window) {
    const std::uint64_t period = options.period(kNmiPeriod);
    for (std::uint64_t next = window.start_ns; next < window.end_ns && error == 0; next += period) {
      sleep_until(next);
      Occurrence request;
      request.start_ns = monotonic_ns();
      if (write(file.get(), "l", 1) != 1) error = errno;
      request.end_ns = monotonic_ns();
      truth.occurrences.push_back(request);
    }
  });
  const auto before = interrupts_on(options.cpu, "NMI");
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  const auto after = interrupts_on(options.cpu, "NMI");
  if (!window) return window.error();
  if (error != 0) return refused(kNmiPath, error);
  if (before && after) {
    truth.kernel = KernelCount{"/proc/interrupts NMI", *after - *before};
    if (truth.kernel->count == 0) return unsupported("backtraces send no NMI here");
  }
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
