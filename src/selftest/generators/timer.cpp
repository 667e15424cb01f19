// SPDX-License-Identifier: Apache-2.0
// timer: the timer wheel, by a thread on the CPU that waits on a socket with a time limit.
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

#include "base/clocks.h"
#include "base/files.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"
#include "selftest/kernel_count.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kTimerPeriod = 5'000'000;

// SO_RCVTIMEO is kept in ticks: unlike poll(2) and sleeping, it is no high-resolution timer.
void wait_again_and_again(int socket, const Window& window, std::vector<Occurrence>& out) {
  sleep_until(window.start_ns);
  std::size_t done = 0;
  while (monotonic_ns() < window.end_ns && done < out.size()) {
    char byte = 0;
    Occurrence limit;
    limit.start_ns = monotonic_ns();
    const bool timed_out = recv(socket, &byte, 1, 0) < 0 && errno == EAGAIN;
    limit.end_ns = monotonic_ns();
    if (timed_out) out[done++] = limit;
  }
  out.resize(done);
}

}  // namespace

Result<Truth> generate_timer(const GeneratorOptions& options) {
  const std::uint64_t period = options.period(kTimerPeriod);
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return refused("socket", errno);
  const timeval limit{static_cast<time_t>(period / 1'000'000'000),
                      static_cast<suseconds_t>(period % 1'000'000'000 / 1000)};
  if (setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
    return refused("setsockopt(SO_RCVTIMEO)", errno);
  Truth truth;
  truth.how = "recv with a time limit, on the CPU";
  truth.sources = {{"timer", "process_timeout"}};
  truth.shared = true;  // every thread of the kernel that waits with a time limit
  truth.occurrences.resize(options.duration_ns / period + 1);
  GeneratorThreads threads;
  threads.add(on_cpu(options, "noised-timer"),
              [&](const Window& window) { wait_again_and_again(socket.get(), window, truth.occurrences); });
  const auto before = softirqs_on(options.cpu, "TIMER");
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  const auto after = softirqs_on(options.cpu, "TIMER");
  if (!window) return window.error();
  // A softirq can run the timers of others too, never the other way round.
  if (before && after && *after - *before < truth.injected() / 2)
    return unsupported("the kernel runs timers of CPU " + std::to_string(options.cpu) +
                       " elsewhere: it is idle, or nohz_full");
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
