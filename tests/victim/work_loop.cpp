// SPDX-License-Identifier: Apache-2.0
// An iteration is 25 ns here; the loop looks at everything else once in 128 of them.
#include "victim/work_loop.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <cerrno>
#include <utility>

#include "base/clocks.h"
#include "base/text.h"

namespace noised::victim {
namespace {

constexpr std::uint64_t kBatch = 128;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// A chain that nothing but time can shorten, in registers alone.
[[gnu::always_inline]] inline void work(std::uint64_t& state) {
  for (int step = 0; step < 8; ++step) {
    state *= 6364136223846793005U;
    asm volatile("" : "+r"(state));
  }
}

// Where something that is done again and again is next. What comes late is made up for.
class Schedule {
 public:
  Schedule(std::uint64_t first, std::uint64_t period) : next_(period == 0 ? UINT64_MAX : first), period_(period) {}

  bool due(std::uint64_t now) {
    if (now < next_) [[likely]]
      return false;
    next_ += period_;
    return true;
  }
  void restart(std::uint64_t now) { next_ = now + period_; }

 private:
  std::uint64_t next_;
  std::uint64_t period_;
};

class Loop {
 public:
  Loop(const LoopOptions& options, FaultMemory& memory, LoopRecords& records)
      : options_(options), memory_(memory), records_(records) {}

  void run(const volatile std::sig_atomic_t& stop) {
    std::uint64_t last = read_tsc();
    records_.first = last;
    const std::uint64_t end = last + options_.duration;
    Schedule sample(last, options_.sample);
    Schedule fault(last + options_.fault, options_.fault);
    Schedule sleep(last + options_.spin, options_.spin);
    while (last < end && stop == 0) {
      last = run_batch(last);
      if (sample.due(last)) take_sample();
      if (fault.due(last)) last = make_fault(last);
      if (sleep.due(last)) sleep.restart(last = fall_asleep(last));
    }
    records_.last = last;
  }

 private:
  std::uint64_t run_batch(std::uint64_t last) {
    const std::uint64_t threshold = options_.threshold;
    std::uint64_t state = last | 1U;
    for (std::uint64_t left = kBatch; left != 0; --left) {
      work(state);
      const std::uint64_t now = read_tsc();
      if (now - last > threshold) [[unlikely]]
        records_.gaps.add({last, now});
      last = now;  // storing the gap is a part of the next iteration, some 10 ns of it
    }
    records_.iterations += kBatch;
    return last;
  }

  std::uint64_t look(std::uint64_t last) {
    const std::uint64_t now = read_tsc();
    if (now - last > options_.threshold) records_.gaps.add({last, now});
    return now;
  }

  // One reading only: 60 ns, far below the threshold, so that the loop goes on seeing every gap, in it too.
  void take_sample() {
    const std::uint64_t before = read_tsc_ordered();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t half = (read_tsc_ordered() - before + 1) / 2;
    records_.samples.add({before + half, ns, half});
  }

  // The touch is seen by the next reading, as a gap if it is long enough.
  std::uint64_t make_fault(std::uint64_t last) {
    if (memory_.used_up()) {
      const std::uint64_t begin = look(last);
      memory_.give_back();
      last = read_tsc();
      records_.calls += last - begin;
    }
    memory_.touch();
    ++records_.faults;
    return last;
  }

  // Whoever takes the CPU before it has asked for its sleep keeps it from that: a gap as all others.
  std::uint64_t fall_asleep(std::uint64_t last) {
    const long preempted = count_preemptions(last);
    last = look(last);
    const std::uint64_t due_ns = monotonic_ns() + options_.sleep_ns;
    const timespec until{static_cast<time_t>(due_ns / kNsPerSecond), static_cast<long>(due_ns % kNsPerSecond)};
    const std::uint64_t begin = look(last);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    const std::uint64_t end = read_tsc();
    last = end;
    const bool slept_at_once = count_preemptions(last) == preempted;
    records_.sleeps.add({begin, end, due_ns, slept_at_once});
    return last;
  }

  // By the kernel's count. The time that it takes to ask is a call's.
  long count_preemptions(std::uint64_t& last) {
    const std::uint64_t begin = look(last);
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    last = read_tsc();
    records_.calls += last - begin;
    return usage.ru_nivcsw;
  }

  const LoopOptions& options_;
  FaultMemory& memory_;
  LoopRecords& records_;
};

}  // namespace

Result<FaultMemory> FaultMemory::map() {
  void* const pages =
      mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return failure("mmap: " + errno_text(errno));
  madvise(pages, kPages * kPageBytes, MADV_NOHUGEPAGE);  // a kernel without huge pages refuses, and needs none
  return FaultMemory(static_cast<volatile char*>(pages));
}

FaultMemory::FaultMemory(FaultMemory&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)), next_(other.next_) {}

FaultMemory::~FaultMemory() {
  if (pages_ != nullptr) munmap(const_cast<char*>(pages_), kPages * kPageBytes);
}

void FaultMemory::give_back() {
  madvise(const_cast<char*>(pages_), kPages * kPageBytes, MADV_DONTNEED);
  next_ = 0;
}

void run_work_loop(const LoopOptions& options, FaultMemory& memory, const volatile std::sig_atomic_t& stop,
                   LoopRecords& records) {
  Loop(options, memory, records).run(stop);
}

}  // namespace noised::victim
