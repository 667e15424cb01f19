// SPDX-License-Identifier: Apache-2.0
// work: a work item of the kernel on the CPU, by asking for fresh memory statistics of all CPUs.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/clocks.h"
#include "base/files.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kWorkPeriod = 10'000'000;
constexpr const char* kWorkPath = "/proc/sys/vm/stat_refresh";

}  // namespace

// The write returns when the work has been done on every CPU: once on each, between its two clock readings.
Result<Truth> generate_work(const GeneratorOptions& options) {
  const Descriptor file(open(kWorkPath, O_WRONLY | O_CLOEXEC));
  if (!file) return refused(kWorkPath, errno);
  Truth truth;
  truth.how = std::string("writing ") + kWorkPath;
  truth.sources = {{"work", "refresh_vm_stats"}};
  const std::uint64_t period = options.period(kWorkPeriod);
  truth.occurrences.reserve(options.duration_ns / period + 1);
  int error = 0;
  GeneratorThreads threads;
  threads.add(elsewhere(options, "noised-work"), [&](const Window& window) {
    for (std::uint64_t next = window.start_ns; next < window.end_ns && error == 0; next += period) {
      sleep_until(next);
      Occurrence request;
      request.start_ns = monotonic_ns();
      if (pwrite(file.get(), "1", 1, 0) != 1) error = errno;
      request.end_ns = monotonic_ns();
      truth.occurrences.push_back(request);
    }
  });
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  if (!window) return window.error();
  if (error != 0) return refused(kWorkPath, error);
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
