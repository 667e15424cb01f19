/* SPDX-License-Identifier: GPL-2.0-only */
/* Page faults: an instant each, since x86 has no tracepoint at their end. */
#include "pairing.bpf.h"

static __always_inline int fault(__u64 mode)
{
	struct noised_cpu *cpu = watched_cpu();

	if (!cpu)
		return 0;
	__u64 now = bpf_ktime_get_ns();

	emit_interval(cpu, NOISED_KIND_PAGE_FAULT, cpu->depth, 0, mode, now, now);
	return 0;
}

TRACEPOINT(page_fault_user, PARAMETERS(unsigned long address, struct pt_regs *regs, unsigned long error_code),
	   fault(NOISED_FAULT_USER))
TRACEPOINT(page_fault_kernel, PARAMETERS(unsigned long address, struct pt_regs *regs, unsigned long error_code),
	   fault(NOISED_FAULT_KERNEL))

char LICENSE[] SEC("license") = "GPL";
