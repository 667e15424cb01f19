/* SPDX-License-Identifier: GPL-2.0-only */
/* Watched tasks: the record of one stretch on the CPU, with the kernel's own counts of the task. */
#pragma once

#include "pairing.bpf.h"

/* By pid: the number that user space chose for a task, which its children and threads inherit. A byte is a plain store
 * on any CPU and one load here, where a hash would be a lookup at every switch. */
extern __u8 task_groups[NOISED_MAX_PIDS] SEC(".bss.groups");
extern const volatile __u32 group_count; /* pids that have one, the others are in group 0; none: no tasks are watched */

static __always_inline __u8 *group_of(__u64 pid)
{
	if (pid >= group_count)
		return NULL;
	/* Changes nothing; Linux 5.10 forgets the comparison where the pid comes from the stack. */
	return &task_groups[pid & (NOISED_MAX_PIDS - 1)];
}

#define TASK_IS_DEAD 0x80	 /* TASK_DEAD, the same since 4.14 */
#define TASK_IS_KTHREAD 0x200000 /* PF_KTHREAD */

/* What a switch tells of the task that leaves. */
struct leaving {
	__u64 task; /* its address */
	__u32 pid;
	_Bool runnable;	 /* it did not want to leave */
	_Bool ended;	 /* it will not run again */
	_Bool yielded;	 /* it gave the CPU away in sched_yield; where tasks are watched */
	_Bool is_kernel; /* a kernel thread */
	__u64 comm[2];	 /* its name; not of a loop, where loops are watched */
};

/* How a program reads the kernel's memory: a tp_btf program by itself, a raw_tp program by a helper (30 ns). */
#define READ_DIRECT(task, field) ((task)->field)
#define READ_BY_HELPER(task, field) BPF_CORE_READ(task, field)

/* The name of a task: 16 bytes, which no kernel has changed. */
#define NAME_DIRECT(to, task) copy_name(to, task)
#define NAME_BY_HELPER(to, task) bpf_probe_read_kernel(to, 16, (task)->comm)

static __always_inline __u64 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u64)BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

static __always_inline __u64 state_of_direct(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (__u64)((struct task_struct___before_5_14 *)task)->state;
}

#define SYSCALL_SCHED_YIELD 24 /* of x86-64 */

/* True if the current task, which is no kernel thread, is in sched_yield: its registers say which system call it made,
 * or that it made none. Linux 5.15 and later tell where they are, if the kernel has BTF. */
static __always_inline _Bool is_yielding(struct task_struct *task)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return 0;
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);

	return registers->orig_ax == SYSCALL_SCHED_YIELD;
}

#define YIELDING_UNKNOWN(task) 0

/* The cumulative counts of a task, which user space takes apart. `READ`: one of the two above. */
#define FILL_RUN(run, from, READ)                                                                                      \
	do {                                                                                                           \
		/* It lies between the counts of switches and those of faults, on their cache line. */                 \
		(run)->task.record.birth = (__u8)(READ(from, start_time) >> NOISED_BIRTH_SHIFT);                       \
		(run)->tgid = (__u32)READ(from, tgid);                                                                 \
		(run)->voluntary = (__u32)READ(from, nvcsw);                                                           \
		(run)->involuntary = (__u32)READ(from, nivcsw);                                                        \
		(run)->minor_faults = (__u32)READ(from, min_flt);                                                      \
		(run)->major_faults = (__u32)READ(from, maj_flt);                                                      \
		if (bpf_core_field_exists((from)->sched_info)) {                                                       \
			(run)->runs = (__u32)READ(from, sched_info.pcount);                                            \
			(run)->wait_ns = READ(from, sched_info.run_delay);                                             \
		}                                                                                                      \
	} while (0)
