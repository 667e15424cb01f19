/* SPDX-License-Identifier: Apache-2.0
 * marker PHASES MICROSECONDS CPU: marks phases of fixed work, and prints what they took by its own clock. C99, with
 * nothing but the header: as an application would use it. */
#define _GNU_SOURCE
#include <noised/mark.h>
#include <sched.h>
#include <time.h>

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sink;

static void work(uint64_t steps) {
  uint64_t value = 1;
  uint64_t step;
  for (step = 0; step < steps; ++step) value = value * 6364136223846793005U + 1442695040888963407U;
  sink = value;
}

/* Steps in so much time, where nothing disturbs: the fastest of many tries. */
static uint64_t calibrate(uint64_t ns) {
  const uint64_t steps = 20000;
  uint64_t fastest_ns = UINT64_MAX;
  int attempt;
  for (attempt = 0; attempt < 200; ++attempt) {
    const uint64_t begin_ns = now_ns();
    uint64_t took_ns;
    work(steps);
    took_ns = now_ns() - begin_ns;
    if (took_ns < fastest_ns) fastest_ns = took_ns;
  }
  return steps * ns / fastest_ns;
}

int main(int argc, char** argv) {
  const unsigned long phases = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
  const unsigned long us = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
  uint64_t steps;
  uint64_t least_ns = UINT64_MAX;
  uint64_t most_ns = 0;
  uint64_t total_ns = 0;
  unsigned long phase;
  if (argc > 3) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(strtoul(argv[3], NULL, 10), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  }
  steps = calibrate(us * 1000);
  noised_mark_begin("main");
  for (phase = 0; phase < phases; ++phase) {
    const uint64_t begin_ns = now_ns();
    uint64_t took_ns;
    noised_mark_begin("compute");
    work(steps);
    noised_mark_end("compute");
    took_ns = now_ns() - begin_ns;
    total_ns += took_ns;
    if (took_ns < least_ns) least_ns = took_ns;
    if (took_ns > most_ns) most_ns = took_ns;
  }
  noised_mark_end("main");
  printf("{\"pid\":%ld,\"phases\":%lu,\"total_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu}\n", (long)getpid(), phases,
         (unsigned long long)total_ns, (unsigned long long)least_ns, (unsigned long long)most_ns);
  return 0;
}
