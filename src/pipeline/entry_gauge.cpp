// SPDX-License-Identifier: Apache-2.0
// Two threads, once; the pipeline's joins what they saw with what the kernel told.
#include "pipeline/entry_gauge.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clocks.h"
#include "base/cpus.h"

namespace noised::pipeline {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kRateNs = 10 * kMillisecond;   // until the counter's rate is known
constexpr std::uint64_t kSpinNs = 300 * kMillisecond;  // 75 ticks at 250 Hz
constexpr std::uint64_t kThresholdNs = 500;
constexpr std::size_t kMostGaps = 8192;
constexpr unsigned kWakeups = 100;  // each 1 ms or so after the one before
constexpr std::size_t kStackBytes = std::size_t{128} * 1024;

void run_on(const std::vector<unsigned>& cpus) {
  const CpuSet set(cpus);
  sched_setaffinity(0, set.bytes(), set.get());
}

void rest() {
  const timespec time{0, kMillisecond};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

bool start_thread(void* (*body)(void*), void* argument, std::vector<pthread_t>& threads) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, body, argument) == 0;
  pthread_attr_destroy(&attributes);
  if (started) threads.push_back(thread);
  return started;
}

}  // namespace

EntryGauge::EntryGauge(unsigned cpu) : cpu_(cpu) {
  gaps_.reserve(kMostGaps);
  threads_.reserve(2);
}

std::unique_ptr<EntryGauge> EntryGauge::start(std::span<const unsigned> watched) {
  const Result<AllowedCpus> allowed = allowed_cpus();
  if (!allowed) return nullptr;
  const std::vector<unsigned>& allowed_here = allowed.value().permitted;
  const auto cpu = std::find_if(watched.rbegin(), watched.rend(), [&](unsigned each) {
    return std::ranges::find(allowed_here, each) != allowed_here.end();
  });
  if (cpu == watched.rend()) return nullptr;
  std::unique_ptr<EntryGauge> gauge(new EntryGauge(*cpu));
  const auto spin = [](void* self) -> void* { return static_cast<EntryGauge*>(self)->spin(), nullptr; };
  const auto disturb = [](void* self) -> void* { return static_cast<EntryGauge*>(self)->disturb(), nullptr; };
  if (!start_thread(spin, gauge.get(), gauge->threads_)) return nullptr;
  start_thread(disturb, gauge.get(), gauge->threads_);  // without it, the timer's costs are learned at least
  return gauge;
}

EntryGauge::~EntryGauge() {
  stop_ = true;
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

void EntryGauge::look_for_gaps(std::uint64_t threshold, std::uint64_t until) {
  for (std::uint64_t last = read_tsc(); last < until && !stop_.load(std::memory_order_relaxed);) {
    const std::uint64_t now = read_tsc();
    if (now - last > threshold && gaps_.size() < kMostGaps) gaps_.push_back({last, now});
    last = now;
  }
}

void EntryGauge::spin() {
  pthread_setname_np(pthread_self(), "noised/gauge");
  run_on({cpu_});
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
  tid_ = static_cast<std::uint32_t>(gettid());
  clock_.add(system::read_clock_sample());
  for (const std::uint64_t end_ns = monotonic_ns() + kRateNs; !clock_.ready() && !stop_;) {
    if (monotonic_ns() >= end_ns) clock_.add(system::read_clock_sample());
  }
  if (clock_.ready()) look_for_gaps(clock_.to_ticks(kThresholdNs), read_tsc() + clock_.to_ticks(kSpinNs));
  for (unsigned tries = 0; tries < 100 && !clock_.add(system::read_clock_sample()); ++tries) {
  }
  ended_ns_ = monotonic_ns();
}

void EntryGauge::disturb() {
  pthread_setname_np(pthread_self(), "noised/wakes");
  run_on({cpu_});
  for (unsigned times = 0; times < kWakeups && !stop_; ++times) rest();
}

void EntryGauge::lost(const account::Loss& loss, std::span<const Interval> intervals) {
  if (loss.pid == tid_) learner_.add(loss, intervals);
}

std::optional<account::EntryCosts> EntryGauge::costs(std::uint64_t settled_ns) const {
  if (ended_ns_ == 0 || settled_ns <= ended_ns_) return std::nullopt;
  std::vector<Detour> gaps;
  gaps.reserve(gaps_.size());
  for (const TickGap& gap : gaps_) gaps.push_back({clock_.to_ns(gap.start), clock_.to_ns(gap.end), false});
  return learner_.learn(gaps);
}

}  // namespace noised::pipeline
