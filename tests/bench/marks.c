/* SPDX-License-Identifier: Apache-2.0
 * What a mark costs, ns: the median of 21 rounds of begin and end, beside reading the counter alone; "off" without
 * NOISED_MARKS. The first mark, which makes the file, is not in it. */
#include <noised/mark.h>
#include <time.h>

enum { ROUNDS = 21, PAIRS = 200000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void mark(void) {
  noised_mark_begin("phase");
  noised_mark_end("phase");
}

static void read_counter(void) {
  static volatile uint64_t sink;
  sink = __builtin_ia32_rdtsc();
  sink = __builtin_ia32_rdtsc();
  (void)sink;
}

static int compare(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

#define MEDIAN_NS(act)                                 \
  for (round = 0; round < ROUNDS; ++round) {           \
    const double begin_ns = now_ns();                  \
    int pair;                                          \
    for (pair = 0; pair < PAIRS; ++pair) act();        \
    rounds[round] = (now_ns() - begin_ns) / PAIRS / 2; \
  }                                                    \
  qsort(rounds, ROUNDS, sizeof *rounds, compare)

int main(void) {
  double rounds[ROUNDS];
  double mark_ns;
  int round;
  mark();
  MEDIAN_NS(mark);
  mark_ns = rounds[ROUNDS / 2];
  MEDIAN_NS(read_counter);
  printf("{\"mark_ns\":%.3f,\"counter_ns\":%.3f}\n", mark_ns, rounds[ROUNDS / 2]);
  return 0;
}
