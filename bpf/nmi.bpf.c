/* SPDX-License-Identifier: GPL-2.0-only */
/* NMI handlers. The tracepoint fires once, after the handler, and brings the duration. */
#include "pairing.bpf.h"

static __always_inline int nmi_interval(void *handler, __s64 duration_ns)
{
	struct noised_cpu *cpu = recorded_cpu();

	if (!cpu)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	__u64 start_ns = duration_ns > 0 ? now - (__u64)duration_ns : now;

	emit_interval(cpu, NOISED_KIND_NMI, cpu->depth, 0, (__u64)handler, start_ns, now);
	return 0;
}

TRACEPOINT_RAW(nmi_handler, PARAMETERS(void *handler, __s64 duration_ns, int handled),
	       nmi_interval(handler, duration_ns))

char LICENSE[] SEC("license") = "GPL";
