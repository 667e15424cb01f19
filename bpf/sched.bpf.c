/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks that take the CPU from the loop or from one another, and the work items that kworkers run in them. */
#include "arrival.bpf.h"

/* Its end will be seen, in another run of its task. Page faults are not told on: see leave_handle_mm_fault(). */
static __always_inline _Bool will_end(__u8 kind)
{
	return kind != NOISED_KIND_PAGE_FAULT && (sees_callback_ends || !is_callback(kind));
}

/* A frame open at a switch belongs to a task that sleeps inside it (a work item): this part of it ends here. */
static __always_inline void split_frames(struct noised_cpu *cpu, __u64 now)
{
	for (__u32 step = 0; step < NOISED_STACK_DEPTH; step++) {
		__u32 depth = cpu->depth;

		if (depth == 0)
			return;
		depth = (depth - 1) & STACK_MASK;
		cpu->depth = depth;
		__u8 kind = cpu->kinds[depth];
		cpu->split += will_end(kind);
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

/* The interval of the task that leaves, whatever else its record tells. */
static __always_inline void fill_task(struct noised_task_record *task, const struct noised_cpu *cpu,
				      const struct leaving *leaving, __u64 now)
{
	task->record.start_ns = cpu->task_start_ns;
	task->record.duration_ns = now > cpu->task_start_ns ? now - cpu->task_start_ns : 0;
	task->record.id = leaving->pid;
	task->record.kind = NOISED_KIND_TASK;
	task->record.watched = (__u8)cpu->watched;
	task->record.flags =
	    (__u8)(cpu->task_flags | (leaving->runnable ? NOISED_FLAG_PREEMPTED : 0) |
		   (leaving->yielded ? NOISED_FLAG_YIELDED : 0) | (leaving->ended ? NOISED_FLAG_ENDED : 0));
	__builtin_memcpy(task->comm, leaving->comm, sizeof(task->comm));
}

/* The idle task leaves for a task that was woken. What it does behind the idle state (it starts the tick again, among
 * other things) was 6.1 of the 6.6 us of a wait that lay in no interval, on a virtual machine. */
static __always_inline void end_idle(struct noised_cpu *cpu, __u64 now)
{
	if (is_waited_for(cpu) && cpu->left_ns)
		emit_interval(cpu, NOISED_KIND_TASK, 0, NOISED_FLAG_IDLE,
			      cpu->left_ns == cpu->woken_ns ? cpu->woken_pid : 0, cpu->left_ns, now);
}

static __always_inline void note_marks(struct noised_cpu *cpu, const struct leaving *leaving, int next_pid)
{
	/* Woken while it was still on its way to sleep: that wakeup does not bring it back from the next. */
	if (!leaving->runnable)
		take_woken_here(cpu, leaving->pid);
	cpu->task_flags = take_woken_here(cpu, (__u32)next_pid);
}

static __always_inline int switch_from_loop(struct noised_cpu *cpu, const struct leaving *leaving, int next_pid,
					    __u64 now)
{
	if (leaving->pid == cpu->probe_pid && !leaving->runnable) {
		cpu->loop_left = 1;
		mark_stopped(cpu, now);
	}
	if (leaving->pid != cpu->probe_pid && cpu->task_start_ns) {
		struct noised_task_record task = {};

		fill_task(&task, cpu, leaving, now);
		emit(cpu, &task.record, sizeof(task), NOISED_KIND_TASK);
	}
	note_marks(cpu, leaving, next_pid);
	cpu->task_start_ns = (__u32)next_pid == cpu->probe_pid ? 0 : now;
	return 0;
}

/* Nothing is told of idling: whoever could run would. `run` has the counts of the task that leaves; they are told even
 * if it came here unseen, as a run that takes no time: what it counted there may be its last. */
static __always_inline int switch_tasks(struct noised_cpu *cpu, const struct leaving *leaving, int next_pid, __u64 now,
					struct noised_run_record *run)
{
	if (leaving->pid != 0 && !leaving->is_kernel && !cpu->task_start_ns)
		cpu->task_start_ns = now;
	if (leaving->pid != 0 && cpu->task_start_ns) {
		__u8 *group = group_of(leaving->pid);
		__u64 slot = leaving->task * NOISED_TASK_SLOT_FACTOR >> 32;

		fill_task(&run->task, cpu, leaving, now);
		run->task.record.group = group ? *group : 0;
		/* A loop that is on its way loses nothing. */
		if (leaving->is_kernel || leaving->pid == cpu->probe_pid) {
			emit(cpu, &run->task.record, sizeof(run->task), NOISED_KIND_TASK);
		} else {
			run->task.record.id |= slot << 32;
			emit(cpu, &run->task.record, sizeof(*run), NOISED_KIND_TASK);
		}
	}
	if (leaving->pid == 0)
		end_idle(cpu, now);
	note_marks(cpu, leaving, next_pid);
	cpu->task_start_ns = now;
	if (!next_pid)
		cpu->woken_ns = 0;
	compiler_barrier(); /* who sees that it idles may note a task */
	cpu->watched = next_pid ? NOISED_WATCH_TASKS : NOISED_WATCH_IDLE;
	return 0;
}

/* A task has come to where a loop measured, and from now on it is the one that is watched. What it waited for was the
 * loop. */
static __always_inline void begin_tasks(struct noised_cpu *cpu, int next_pid, __u64 now)
{
	note_arrival(cpu, (__u32)next_pid);
	if (!cpu->loop_left)
		send_away(cpu, (__u32)next_pid);
	cpu->watched = NOISED_WATCH_TASKS;
	struct noised_task_record loop = {
	    .record = {.start_ns = cpu->arrived_ns,
		       .duration_ns = now > cpu->arrived_ns ? now - cpu->arrived_ns : 0,
		       .id = cpu->probe_pid,
		       .kind = NOISED_KIND_TASK,
		       .flags = NOISED_FLAG_PREEMPTED,
		       .watched = NOISED_WATCH_TASKS},
	    .comm = "noised",
	};

	emit(cpu, &loop.record, sizeof(loop), NOISED_KIND_TASK);
}

/* Writes which task has the CPU, and tells its address as a number: the verifier lets a program compute with what it
 * has read from memory, not with a pointer to a task. */
static __always_inline __u64 note_task(struct noised_cpu *cpu, const struct task_struct *task)
{
	*(const struct task_struct *volatile *)&cpu->current_task = task;
	return *(volatile __u64 *)&cpu->current_task;
}

/* What every switch on a watched CPU begins with. Tells the address of the task that leaves. A thread that has become
 * its process's leader by exec has another pid than when it came, and was seen to come. */
static __always_inline __u64 begin_switch(struct noised_cpu *cpu, const struct task_struct *previous,
					  __u32 previous_pid, const struct task_struct *next, int next_pid, __u64 now)
{
	/* The daemon may read between any two of what is written from here on: a hypervisor can stop this CPU for
	 * milliseconds there. */
	cpu->current_is_kernel = NOISED_SWITCHING;
	compiler_barrier();
	__u64 seen = cpu->current_task;
	__u64 task = note_task(cpu, previous);

	if (cpu->current_pid != previous_pid && seen != task)
		mark_unseen(cpu);
	cpu->current_pid = (__u32)next_pid;
	note_task(cpu, next);
	split_frames(cpu, now);
	return task;
}

/* A watched CPU's switch; on the others only the frames are forgotten. `preempt` is false for a task preempted on its
 * way to user mode; its state tells. `READ`, `STATE`, `NAME`: how the kernel's memory is read; `YIELDING`: by a task.
 */
#define SWITCH(preempt, previous, next, READ, STATE, NAME, YIELDING)                                                   \
	({                                                                                                             \
		struct noised_cpu *cpu = this_cpu();                                                                   \
		if (cpu && !cpu->watched)                                                                              \
			cpu->depth = 0;                                                                                \
		if (cpu && cpu->watched) {                                                                             \
			__u64 now = bpf_ktime_get_ns();                                                                \
			__u64 state = STATE(previous);                                                                 \
			struct leaving leaving = {                                                                     \
			    .pid = (__u32)READ(previous, pid),                                                         \
			    .runnable = preempt || state == 0,                                                         \
			    .ended = (state & TASK_IS_DEAD) != 0,                                                      \
			    .is_kernel = (READ(previous, flags) & TASK_IS_KTHREAD) != 0,                               \
			};                                                                                             \
			int next_pid = READ(next, pid);                                                                \
			leaving.task = begin_switch(cpu, previous, leaving.pid, next, next_pid, now);                  \
			/* Of the loop there is no record, and its name is on a line that nobody needs. */             \
			if (cpu->watched != NOISED_WATCH_LOOP || leaving.pid != cpu->probe_pid)                        \
				NAME(leaving.comm, previous);                                                          \
			_Bool is_kernel = (READ(next, flags) & TASK_IS_KTHREAD) != 0;                                  \
			if (cpu->watched == NOISED_WATCH_LOOP) {                                                       \
				switch_from_loop(cpu, &leaving, next_pid, now);                                        \
				if (steps_aside && !is_kernel && next_pid && (__u32)next_pid != cpu->probe_pid)        \
					begin_tasks(cpu, next_pid, now);                                               \
			} else {                                                                                       \
				struct noised_run_record run = {};                                                     \
				leaving.yielded =                                                                      \
				    !preempt && state == 0 && leaving.pid && !leaving.is_kernel && YIELDING(previous); \
				FILL_RUN(&run, previous, READ);                                                        \
				switch_tasks(cpu, &leaving, next_pid, now, &run);                                      \
			}                                                                                              \
			compiler_barrier(); /* x86 stores in this order */                                             \
			cpu->current_is_kernel = is_kernel;                                                            \
		}                                                                                                      \
		0;                                                                                                     \
	})

/* sched_switch gained a fourth argument in 5.18; the first three never moved. */
TRACEPOINT_TWINS(sched_switch, PARAMETERS(_Bool preempt, struct task_struct *previous, struct task_struct *next),
		 SWITCH(preempt, previous, next, READ_DIRECT, state_of_direct, NAME_DIRECT, is_yielding),
		 SWITCH(preempt, previous, next, READ_BY_HELPER, state_of, NAME_BY_HELPER, YIELDING_UNKNOWN))

#define IDLE_STATE_LEFT (~0U) /* PWR_EVENT_EXIT */

/* Where an interrupt ends the idle state it is seen before this, or, where a driver lets interrupts in after it, behind
 * it; a CPU that watches a flag in memory has none. A CPU that goes back to idle has not left it for the task, which
 * may be throttled. Twice in each idle period, when nobody waits: 92 ns a run with the kernel's statistics of programs.
 */
static __always_inline int idle_state(__u32 state)
{
	struct noised_cpu *cpu = this_cpu();

	if (!cpu || !is_waited_for(cpu))
		return 0;
	if (state != IDLE_STATE_LEFT) {
		cpu->left_ns = 0;
	} else if (!cpu->left_ns) {
		cpu->left_ns = cpu->awake ? bpf_ktime_get_ns() : cpu->woken_ns;
		cpu->awake = 1;
	}
	return 0;
}

TRACEPOINT(cpu_idle, PARAMETERS(unsigned int state, unsigned int id), idle_state(state))

/* Before the child runs for the first time. Always written: a pid that is used again has an old group. */
static __always_inline int inherit_group(__u64 parent_pid, __u64 child_pid)
{
	__u8 *from = group_of(parent_pid);
	__u8 *to = group_of(child_pid);

	if (from && to && *to != *from)
		*to = *from;
	return 0;
}

TRACEPOINT_TWINS(sched_process_fork, PARAMETERS(struct task_struct *parent, struct task_struct *child),
		 inherit_group((__u32)parent->pid, (__u32)child->pid),
		 inherit_group((__u32)BPF_CORE_READ(parent, pid), (__u32)BPF_CORE_READ(child, pid)))

TRACEPOINT_TWINS(workqueue_execute_start, PARAMETERS(struct work_struct *work),
		 enter(NOISED_KIND_WORK, (__u64)work->func), enter(NOISED_KIND_WORK, (__u64)BPF_CORE_READ(work, func)))

static __always_inline int work_end(__u64 function)
{
	struct noised_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (!records(cpu))
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
