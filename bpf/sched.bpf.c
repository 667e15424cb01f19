/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks that take the CPU from the loop, and the work items that kworkers run in them. */
#include "pairing.bpf.h"

/* A frame open at a switch belongs to a task that sleeps inside it (a work item): this part of it ends here. */
static __always_inline void split_frames(struct noised_cpu *cpu, __u64 now)
{
	for (__u32 step = 0; step < NOISED_STACK_DEPTH; step++) {
		__u32 depth = cpu->depth;

		if (depth == 0)
			return;
		depth = (depth - 1) & STACK_MASK;
		cpu->depth = depth;
		cpu->split++;
		__u8 kind = cpu->kinds[depth];
		__u8 flags = NOISED_FLAG_SPLIT | (kind == NOISED_KIND_PAGE_FAULT ? NOISED_FLAG_HANDLING : 0);

		emit_interval(cpu, kind, depth, flags, cpu->frames[depth].id, cpu->frames[depth].start_ns, now);
	}
}

/* A switch ran no program of ours: who had the CPU since the last one that did, and until when, is not known. */
static __always_inline void mark_unseen(struct noised_cpu *cpu)
{
	if (cpu->task_start_ns) {
		cpu->unseen++;
		emit_interval(cpu, NOISED_KIND_TASK, 0, NOISED_FLAG_UNSEEN, cpu->current_pid, cpu->task_start_ns,
			      cpu->task_start_ns);
		cpu->task_start_ns = 0;
	} else {
		cpu->unpaired++;
	}
}

/* The loop gave the CPU away itself: it was stopped by a signal, moved, or made to wait. Until it is back, nothing was
 * stolen from it and nothing measured. */
static __always_inline void mark_stopped(struct noised_cpu *cpu, __u64 now)
{
	emit_interval(cpu, NOISED_KIND_TASK, 0, NOISED_FLAG_STOPPED, cpu->probe_pid, now, now);
}

/* Forgets the mark: the next wakeup may be another CPU's. */
static __always_inline __u32 take_woken_here(struct noised_cpu *cpu, __u32 pid)
{
	__u32 slot = pid & (NOISED_WOKEN_HERE - 1);

	if (pid == 0 || cpu->woken_here[slot] != pid)
		return 0;
	cpu->woken_here[slot] = 0;
	return NOISED_FLAG_WOKEN_HERE;
}

/* `runnable`: the task that leaves did not want to. */
static __always_inline int switch_task(_Bool runnable, int previous_pid, const char *previous_comm, int next_pid)
{
	struct noised_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (!cpu->watched) {
		cpu->depth = 0;
		return 0;
	}
	__u64 now = bpf_ktime_get_ns();

	if (cpu->current_pid != (__u32)previous_pid)
		mark_unseen(cpu);
	cpu->current_pid = (__u32)next_pid;
	split_frames(cpu, now);
	if ((__u32)previous_pid == cpu->probe_pid && !runnable)
		mark_stopped(cpu, now);
	if ((__u32)previous_pid != cpu->probe_pid && cpu->task_start_ns) {
		struct noised_task_record task = {
		    .record =
			{
			    .start_ns = cpu->task_start_ns,
			    .duration_ns = now > cpu->task_start_ns ? now - cpu->task_start_ns : 0,
			    .id = (__u32)previous_pid,
			    .kind = NOISED_KIND_TASK,
			    .flags = (__u8)(cpu->task_flags | (runnable ? NOISED_FLAG_PREEMPTED : 0)),
			},
		};

		bpf_probe_read_kernel(task.comm, sizeof(task.comm), previous_comm);
		emit(cpu, &task, sizeof(task), NOISED_KIND_TASK);
	}
	/* Woken while it was still on its way to sleep: that wakeup does not bring it back from the next. */
	if (!runnable)
		take_woken_here(cpu, (__u32)previous_pid);
	cpu->task_flags = take_woken_here(cpu, (__u32)next_pid);
	cpu->task_start_ns = (__u32)next_pid == cpu->probe_pid ? 0 : now;
	return 0;
}

/* `preempt` is false for a task preempted on its way back to user mode; its state tells. */
static __always_inline _Bool is_running(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state) == 0;
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state) == 0;
}

static __always_inline _Bool is_running_direct(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state == 0;
	return ((struct task_struct___before_5_14 *)task)->state == 0;
}

/* sched_switch gained a fourth argument in 5.18; the first three never moved. */
TRACEPOINT_TWINS(sched_switch, PARAMETERS(_Bool preempt, struct task_struct *previous, struct task_struct *next),
		 switch_task(preempt || is_running_direct(previous), previous->pid, previous->comm, next->pid),
		 switch_task(preempt || is_running(previous), BPF_CORE_READ(previous, pid), previous->comm,
			     BPF_CORE_READ(next, pid)))

TRACEPOINT_TWINS(workqueue_execute_start, PARAMETERS(struct work_struct *work),
		 enter(NOISED_KIND_WORK, (__u64)work->func), enter(NOISED_KIND_WORK, (__u64)BPF_CORE_READ(work, func)))

static __always_inline int work_end(__u64 function)
{
	struct noised_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (!cpu->watched)
		return note_exit(cpu, NOISED_KIND_WORK);
	/* It slept, here or before it came here, so its frame was split: since it was switched in again, the task did
	 * nothing else. */
	if (cpu->depth == 0 && cpu->task_start_ns) {
		if (cpu->split)
			cpu->split--;
		emit_interval(cpu, NOISED_KIND_WORK, 0, NOISED_FLAG_SPLIT, function, cpu->task_start_ns,
			      bpf_ktime_get_ns());
		return 0;
	}
	return pop(cpu, NOISED_KIND_WORK, 0, function);
}

TRACEPOINT_RAW(workqueue_execute_end, PARAMETERS(struct work_struct *work, void *function), work_end((__u64)function))

char LICENSE[] SEC("license") = "GPL";
