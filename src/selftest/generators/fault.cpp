// SPDX-License-Identifier: Apache-2.0
// fault: a thread on the CPU that touches memory it just gave back.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/clocks.h"
#include "selftest/generator.h"
#include "selftest/generator_threads.h"

namespace noised::selftest {
namespace {

constexpr std::uint64_t kFaultPeriod = 5'000'000;
// noised shows up to 33 intervals of a detour one by one, and sums those of a larger one by source.
constexpr std::size_t kFaultPages = 16;
constexpr const char* kFaultName = "noised-fault";

std::uint64_t faults_of_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

struct Unmap {
  std::size_t bytes;
  void operator()(char* memory) const { munmap(memory, bytes); }
};

void touch(char* memory, std::size_t page) {
  for (std::size_t i = 0; i < kFaultPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
}

// Every fault of the thread counts, by the kernel's account: those that nobody meant to make too.
void run(char* memory, std::size_t page, std::uint64_t period, const Window& window, std::vector<Occurrence>& out) {
  const unsigned pid = thread_id();
  std::size_t done = 0;
  touch(memory, page);
  std::uint64_t counted = faults_of_thread();
  for (std::uint64_t next = window.start_ns; next < window.end_ns && done < out.size(); next += period) {
    sleep_until(next);
    Occurrence& storm = out[done++];
    storm.start_ns = monotonic_ns();
    madvise(memory, kFaultPages * page, MADV_DONTNEED);
    touch(memory, page);
    const std::uint64_t now = faults_of_thread();
    storm.end_ns = monotonic_ns();
    storm.count = now - counted;
    counted = now;
    storm.pid = pid;
  }
  out.resize(done);
}

}  // namespace

Result<Truth> generate_fault(const GeneratorOptions& options) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = kFaultPages * page;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return refused("mmap", errno);
  const std::unique_ptr<char, Unmap> memory(static_cast<char*>(mapped), Unmap{bytes});
  madvise(mapped, bytes, MADV_NOHUGEPAGE);
  Truth truth;
  truth.how = "touching " + std::to_string(kFaultPages) + " pages given back before, counted by getrusage";
  truth.sources = {{"page_fault", "user"}};
  truth.inside = kFaultName;
  const std::uint64_t period = options.period(kFaultPeriod);
  truth.occurrences.resize(options.duration_ns / period + 1);
  GeneratorThreads threads;
  threads.add(on_cpu(options, kFaultName),
              [&](const Window& window) { run(memory.get(), page, period, window, truth.occurrences); });
  const Result<Window> window = threads.run(options.duration_ns, options.slower);
  if (!window) return window.error();
  truth.first_ns = window.value().start_ns;
  truth.last_ns = window.value().final_ns;
  return truth;
}

}  // namespace noised::selftest
