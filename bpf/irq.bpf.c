/* SPDX-License-Identifier: GPL-2.0-only */
/* Device interrupts, softirqs and tasklets. */
#include "pairing.bpf.h"

TRACEPOINT(irq_handler_entry, PARAMETERS(int irq, struct irqaction *action), enter(NOISED_KIND_IRQ, (__u32)irq))
/* A shared irq runs every handler; those that answer 0 (IRQ_NONE) were not meant. */
TRACEPOINT(irq_handler_exit, PARAMETERS(int irq, struct irqaction *action, int handled),
	   leave(NOISED_KIND_IRQ, handled ? 0 : NOISED_FLAG_UNHANDLED, (__u32)irq))

TRACEPOINT(softirq_entry, PARAMETERS(unsigned int number), enter(NOISED_KIND_SOFTIRQ, number))
TRACEPOINT(softirq_exit, PARAMETERS(unsigned int number), leave(NOISED_KIND_SOFTIRQ, 0, number))

TRACEPOINT_RAW(tasklet_entry, PARAMETERS(struct tasklet_struct *tasklet, void *function),
	       enter(NOISED_KIND_TASKLET, (__u64)function))
TRACEPOINT_RAW(tasklet_exit, PARAMETERS(struct tasklet_struct *tasklet, void *function),
	       leave(NOISED_KIND_TASKLET, 0, (__u64)function))

char LICENSE[] SEC("license") = "GPL";
