/* SPDX-License-Identifier: GPL-2.0-only */
/* What any tool pays that knows when tasks are switched and interrupted: at each such tracepoint of a busy CPU a
 * program that reads the clock, and keeps what it read where no other CPU looks. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define MOST_CPUS 1024

struct line {
  __u64 last_ns;
  __u64 filled[7];
} lines[MOST_CPUS];

static __always_inline int read_clock(void) {
  lines[bpf_get_smp_processor_id() & (MOST_CPUS - 1)].last_ns = bpf_ktime_get_ns();
  return 0;
}

#define READS_CLOCK(tracepoint) \
  SEC("tp_btf/" #tracepoint)    \
  int on_##tracepoint(void* context) { return read_clock(); }
#define PAIR(name) READS_CLOCK(name##_entry) READS_CLOCK(name##_exit)

READS_CLOCK(sched_switch)
PAIR(softirq)
PAIR(irq_handler)
PAIR(local_timer)
PAIR(reschedule)
PAIR(call_function)
PAIR(call_function_single)
PAIR(irq_work)

char LICENSE[] SEC("license") = "GPL";
