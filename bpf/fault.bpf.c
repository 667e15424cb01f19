/* SPDX-License-Identifier: GPL-2.0-only */
/* Page faults: an instant each, since x86 has no tracepoint at their end; with their handling where the kernel lets
 * functions be traced. Where tasks are watched the kernel counts the faults of each itself (sched.bpf.c). */
#include "pairing.bpf.h"

static __always_inline int fault(__u8 mode, __u64 address, __u64 ip)
{
	struct noised_cpu *cpu = this_cpu();

	if (!cpu || cpu->watched != NOISED_WATCH_LOOP)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	__u8 flags = mode | ((__s64)address < 0 ? NOISED_FLAG_KERNEL_ADDRESS : 0);

	emit_interval(cpu, NOISED_KIND_PAGE_FAULT, cpu->depth, flags, ip, now, now);
	return 0;
}

TRACEPOINT_TWINS(page_fault_user, PARAMETERS(unsigned long address, struct pt_regs *regs, unsigned long error_code),
		 fault(0, address, regs->ip), fault(0, address, BPF_CORE_READ(regs, ip)))
TRACEPOINT_TWINS(page_fault_kernel, PARAMETERS(unsigned long address, struct pt_regs *regs, unsigned long error_code),
		 fault(NOISED_FLAG_IN_KERNEL, address, regs->ip),
		 fault(NOISED_FLAG_IN_KERNEL, address, BPF_CORE_READ(regs, ip)))

SEC("fentry/handle_mm_fault")
int BPF_PROG(enter_handle_mm_fault)
{
	struct noised_cpu *cpu = recorded_cpu();

	return cpu ? push(cpu, NOISED_KIND_PAGE_FAULT, 0) : 0;
}

/* A fault that waited for its page was split at the switch: what the task did since is not told. */
SEC("fexit/handle_mm_fault")
int BPF_PROG(leave_handle_mm_fault)
{
	struct noised_cpu *cpu = recorded_cpu();

	if (!cpu || cpu->depth == 0 || cpu->kinds[(cpu->depth - 1) & STACK_MASK] != NOISED_KIND_PAGE_FAULT)
		return 0;
	return pop(cpu, NOISED_KIND_PAGE_FAULT, NOISED_FLAG_HANDLING, 0);
}

char LICENSE[] SEC("license") = "GPL";
