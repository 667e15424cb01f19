/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks that come to a CPU where a loop measures. */
#pragma once

#include "run.bpf.h"

extern struct arrival_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} arrivals SEC(".maps");
extern const volatile __u8 steps_aside; /* loops do */

/* A loop that runs sees it in its next iteration, and goes to sleep. */
static __always_inline void note_arrival(struct noised_cpu *there, __u32 pid)
{
	if (there->arrived_ns == 0 && pid != there->probe_pid)
		there->arrived_ns = bpf_ktime_get_ns();
}

/* A loop that has lost its CPU before it could see it is to be taken away. With a wakeup of who does it, which
 * interrupts this CPU: once for each time that the loop comes back, at most. */
static __always_inline void send_away(struct noised_cpu *here, __u32 pid)
{
	struct noised_arrival arrival = {
	    .time_ns = here->arrived_ns,
	    .cpu = bpf_get_smp_processor_id(),
	    .pid = pid,
	};

	bpf_ringbuf_output(&arrivals, &arrival, sizeof(arrival), BPF_RB_FORCE_WAKEUP);
}
