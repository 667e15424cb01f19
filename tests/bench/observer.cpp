// SPDX-License-Identifier: Apache-2.0
// noised's tracing of one CPU without its loop, until killed: what an application there pays for being watched.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/cpus.h"
#include "kernel/tracer.h"
#include "noised/low_noise.h"

using namespace noised;
using namespace noised::daemon;
using namespace noised::kernel;

namespace {

constexpr std::chrono::milliseconds kDrainInterval{25};

[[noreturn]] void fail(const Error& error) {
  fmt::print(stderr, "bench_observer: {}\n", error.line());
  std::exit(1);
}

Result<std::unique_ptr<Tracer>> load(unsigned cpu) {
  const Result<std::vector<unsigned>> possible = possible_cpus();
  if (!possible) return possible.error();
  TracerOptions options;
  options.cpus = {cpu};
  options.possible_cpus = possible.value().back() + 1U;
  options.buffer_bytes = std::uint64_t{2} << 20U;
  return Tracer::load(options);
}

}  // namespace

// CPU: whom to watch. Prints the names of the tracepoints, in one line, when all are attached.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto cpu = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  std::vector<unsigned> others;
  const Result<std::vector<unsigned>> online = online_cpus();
  if (!online) fail(online.error());
  for (const unsigned other : online.value()) {
    if (other != cpu) others.push_back(other);
  }
  if (const Status confined = confine_to(others); !confined) fail(confined.error());
  const Result<std::unique_ptr<Tracer>> tracer = load(cpu);
  if (!tracer) fail(tracer.error());
  for (const ProgramView& program : tracer.value()->programs()) {
    if (!program.attached.empty()) fmt::print("{} ", program.name);
  }
  fmt::print("\n");
  std::fflush(stdout);
  for (;;) {
    std::this_thread::sleep_for(kDrainInterval);
    tracer.value()->drain(0, SIZE_MAX, [](const noised_record&, const char*, const noised_run_record*) {});
    (void)tracer.value()->drain_origins([](const noised_origin&) {});
  }
}
