/* SPDX-License-Identifier: GPL-2.0-only */
/* Who causes what happens on a watched CPU: wakers, movers and senders of interrupts, seen on *their* CPUs. A watched
 * CPU that wakes a task of its own makes no record, only a mark: what ran there just before tells as much. */
#include "arrival.bpf.h"

#define MASK_WORDS (NOISED_MAX_CPUS / 64)

/* A ring for each CPU, also for those that are not watched: causing CPUs never meet. With one for all, the kernel's,
 * they did at its lock and at its ends: 139 ns more (93 to 156) for who woke a task, 103 (55 to 158) for who called a
 * function, with nobody else at that lock (the observer bench with both builds, 14 rounds by turns). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct noised_origin);
} origin_slots SEC(".maps");
const volatile __u32 origin_bits; /* 2^so many slots for each CPU; 0 where the kernel lacks the atomic claim (5.12) */

/* Such a kernel's own ring buffer instead. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} origins SEC(".maps");

/* One bit for each watched CPU. A copy, so that causing CPUs do not pull the watched ones' state out of their caches.
 */
const volatile __u64 watched_mask[MASK_WORDS];

static __always_inline __u64 watched_among(__u32 word, __u64 cpus)
{
	return word < MASK_WORDS ? watched_mask[word] & cpus : 0;
}

/* Nothing that is done to an idle CPU takes time from a task, until one is woken there. Where loops measure, nobody
 * looks: the watched CPUs' state is to stay in their caches. */
static __always_inline struct noised_cpu *idle_cpu(__u64 cpu)
{
	struct noised_cpu *there = group_count ? state_of_cpu(cpu) : NULL;

	return there && there->watched == NOISED_WATCH_IDLE ? there : NULL;
}

static __always_inline __u64 watched_bit(__u32 cpu)
{
	return watched_among(cpu / 64, 1ULL << (cpu % 64));
}

static __always_inline __u64 busy_bit(__u32 cpu)
{
	__u64 bit = watched_bit(cpu);

	return bit && !idle_cpu(cpu) ? bit : 0;
}

/* Interrupts run on the stack of whatever task they strike, so the current task is the cause only outside of them. */
static __always_inline void note_context(struct noised_cpu *here, struct noised_origin *origin)
{
	__u32 depth = here->depth;

	if (depth == 0 || depth > NOISED_STACK_DEPTH)
		return;
	depth = (depth - 1) & STACK_MASK;
	origin->context_kind = here->kinds[depth];
	origin->context_id = here->frames[depth].id;
}

/* The helper pads what it copies, and takes some 40 ns more (80 rounds of both). */
static __always_inline void note_own_name(struct noised_origin *origin)
{
	if (follows_tasks && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		copy_name((__u64 *)origin->comm, bpf_get_current_task_btf());
	else
		bpf_get_current_comm(origin->comm, sizeof(origin->comm));
}

static __always_inline _Bool make_origin_room(struct noised_cpu *here)
{
	__u32 limit = here->origin_tail + (1U << origin_bits) - NOISED_ORIGIN_MARGIN;

	here->origin_limit = limit;
	return (__s32)(limit - here->origin_head) >= 0;
}

/* As put() of a record: an interrupt anywhere in here takes the next slot. */
static __always_inline _Bool put_origin(struct noised_cpu *here, struct noised_origin *origin)
{
	if ((__s32)(here->origin_limit - here->origin_head) < 0 && !make_origin_room(here))
		return 0;
	__u32 at = advance(&here->origin_head, 1);
	__u32 slot = ((__u32)origin->cpu << origin_bits) + (at & ((1U << origin_bits) - 1));
	struct noised_origin *room = bpf_map_lookup_elem(&origin_slots, &slot);

	if (!room)
		return 0;
	__builtin_memcpy(room, origin, sizeof(*origin));
	compiler_barrier(); /* x86 stores in this order */
	room->lap = NOISED_ORIGIN_LAP(at >> origin_bits);
	return 1;
}

static __always_inline int emit_origin(struct noised_cpu *here, struct noised_origin *origin)
{
	origin->time_ns = bpf_ktime_get_ns();
	origin->cpu = (__u16)bpf_get_smp_processor_id();
	origin->pid = (__u32)bpf_get_current_pid_tgid();
	note_own_name(origin);
	note_context(here, origin);
	if (origin_bits ? !put_origin(here, origin)
			: bpf_ringbuf_output(&origins, origin, sizeof(*origin), BPF_RB_NO_WAKEUP) != 0)
		here->lost_origins++;
	return 0;
}

static __always_inline __u64 cgroup_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->cgroups) ? BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id) : 0;
}

static __always_inline __u64 cgroup_of_direct(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->cgroups))
		return 0;
	struct css_set *set = task->cgroups;
	struct cgroup *cgroup = set ? set->dfl_cgrp : NULL;
	struct kernfs_node *node = cgroup ? cgroup->kn : NULL;

	return node ? node->id : 0;
}

static __always_inline int task_origin(__u8 kind, __u32 cpu, __u32 pid, __u64 cgroup)
{
	struct noised_cpu *here = this_cpu();

	if (!here)
		return 0;
	struct noised_origin origin = {
	    .kind = kind,
	    .word = (__u8)(cpu / 64),
	    .targets = 1ULL << (cpu % 64),
	    .task = pid,
	    .subject = cgroup,
	};

	return emit_origin(here, &origin);
}

/* For the record of the task, when it has run: sched.bpf.c. */
static __always_inline int note_woken_here(__u32 pid)
{
	struct noised_cpu *here = watched_cpu();

	if (!here)
		return 0;
	here->woken_here[pid & (NOISED_WOKEN_HERE - 1)] = pid;
	if (here->watched == NOISED_WATCH_IDLE)
		note_woken(here, pid, 1);
	return 0;
}

/* True if a CPU idles to which a task comes: of who did it there is no record, only of when. */
static __always_inline _Bool comes_to_idle(__u32 cpu, __u32 pid)
{
	struct noised_cpu *there = idle_cpu(cpu);

	if (!there)
		return 0;
	note_woken(there, pid, cpu == bpf_get_smp_processor_id());
	return 1;
}

/* The same of one that it leaves, and which need not wake up for it. */
static __always_inline _Bool leaves_idle(__u32 cpu, __u32 pid)
{
	struct noised_cpu *there = idle_cpu(cpu);

	if (!there)
		return 0;
	if (there->woken_pid == pid)
		there->woken_ns = 0;
	return 1;
}

/* Here a task still has the CPU where it ran last; when another is chosen, sched_migrate_task follows. */
#define WOKEN(task, READ, CGROUP)                                                                                      \
	({                                                                                                             \
		__u32 cpu = (__u32)READ(task, wake_cpu);                                                               \
		if (cpu == bpf_get_smp_processor_id())                                                                 \
			note_woken_here((__u32)READ(task, pid));                                                       \
		else if (watched_bit(cpu) && !comes_to_idle(cpu, (__u32)READ(task, pid)))                              \
			task_origin(NOISED_ORIGIN_WAKE, cpu, (__u32)READ(task, pid), CGROUP(task));                    \
		0;                                                                                                     \
	})

/* A task is now runnable on a CPU. */
static __always_inline void runnable_on(__u32 cpu, __u32 pid, __u32 flags)
{
	if (!steps_aside || (flags & TASK_IS_KTHREAD) || !watched_among(cpu / 64, 1ULL << (cpu % 64)))
		return;
	struct noised_cpu *there = state_of_cpu(cpu);

	if (there)
		note_arrival(there, pid);
}

/* As the CPU of a task that is queued is known to it. */
#define RUNNABLE(task, READ) runnable_on((__u32)READ(task, wake_cpu), (__u32)READ(task, pid), (__u32)READ(task, flags))

#define TASK_WAKING 0x200 /* include/linux/sched.h, the same since 4.14 */

/* A waker that chooses another CPU for the task is its waker there. */
#define MOVED(task, to, READ, STATE, CGROUP)                                                                           \
	({                                                                                                             \
		__u32 from = (__u32)READ(task, wake_cpu);                                                              \
		__u32 pid = (__u32)READ(task, pid);                                                                    \
		if (from != to && watched_bit(from) && !leaves_idle(from, pid))                                        \
			task_origin(NOISED_ORIGIN_MOVE_AWAY, from, pid, CGROUP(task));                                 \
		__u64 state = STATE(task);                                                                             \
		if (from != to && watched_bit(to) && !comes_to_idle(to, pid))                                          \
			task_origin(state == TASK_WAKING ? NOISED_ORIGIN_WAKE : NOISED_ORIGIN_MOVE, to, pid,           \
				    CGROUP(task));                                                                     \
		if (state == 0)                                                                                        \
			runnable_on(to, pid, (__u32)READ(task, flags));                                                \
		0;                                                                                                     \
	})

TRACEPOINT_TWINS(sched_waking, PARAMETERS(struct task_struct *task), WOKEN(task, READ_DIRECT, cgroup_of_direct),
		 WOKEN(task, READ_BY_HELPER, cgroup_of))
TRACEPOINT_TWINS(sched_wakeup_new, PARAMETERS(struct task_struct *task),
		 (RUNNABLE(task, READ_DIRECT), WOKEN(task, READ_DIRECT, cgroup_of_direct)),
		 (RUNNABLE(task, READ_BY_HELPER), WOKEN(task, READ_BY_HELPER, cgroup_of)))
TRACEPOINT_TWINS(sched_wakeup, PARAMETERS(struct task_struct *task), (RUNNABLE(task, READ_DIRECT), 0),
		 (RUNNABLE(task, READ_BY_HELPER), 0))
TRACEPOINT_TWINS(sched_migrate_task, PARAMETERS(struct task_struct *task, int to),
		 MOVED(task, (__u32)to, READ_DIRECT, state_of_direct, cgroup_of_direct),
		 MOVED(task, (__u32)to, READ_BY_HELPER, state_of, cgroup_of))

/* The function is queued just before the interrupt is sent, with interrupts off or by the same task: it is remembered
 * for the record of the interrupt. */
static __always_inline int queued(__u32 cpu, __u64 code, __u64 function, __u64 request)
{
	struct noised_cpu *here = this_cpu();
	__u64 bit = busy_bit(cpu);

	if (!bit || !here)
		return 0;
	here->queued_function = function;
	struct noised_origin origin = {
	    .kind = NOISED_ORIGIN_QUEUE,
	    .word = (__u8)(cpu / 64),
	    .targets = bit,
	    .subject = function,
	    .code = code,
	    .task = number_of_call(request),
	};

	return emit_origin(here, &origin);
}

TRACEPOINT_RAW(csd_queue_cpu, PARAMETERS(unsigned int cpu, unsigned long code, void *function, void *request),
	       queued(cpu, code, (__u64)function, (__u64)request))

static __always_inline int sent(struct noised_cpu *here, __u8 kind, __u32 word, __u64 targets, __u64 code)
{
	struct noised_origin origin = {
	    .kind = kind,
	    .word = (__u8)word,
	    .targets = targets,
	    .subject = kind == NOISED_ORIGIN_RESCHEDULE ? 0 : here->queued_function,
	    .code = code,
	};

	return emit_origin(here, &origin);
}

static __always_inline int sent_to_one(__u32 cpu, __u64 code, _Bool reschedule)
{
	struct noised_cpu *here = this_cpu();
	__u64 bit = busy_bit(cpu);

	if (!bit || !here)
		return 0;
	sent(here, reschedule ? NOISED_ORIGIN_RESCHEDULE : NOISED_ORIGIN_CALL_SINGLE, cpu / 64, bit, code);
	if (!reschedule)
		here->queued_function = 0;
	return 0;
}

static __always_inline int sent_to_many(const struct cpumask *cpus, __u64 code)
{
	struct noised_cpu *here = this_cpu();

	if (!here)
		return 0;
	for (__u32 word = 0; word < MASK_WORDS && word * 64 < cpu_count; word++) {
		__u64 bits = 0;

		bpf_probe_read_kernel(&bits, sizeof(bits), (const char *)cpus + word * sizeof(bits));
		bits = watched_among(word, bits);
		if (bits)
			sent(here, NOISED_ORIGIN_CALL, word, bits, code);
	}
	here->queued_function = 0;
	return 0;
}

/* A reschedule interrupt has no callback. */
TRACEPOINT(ipi_send_cpu, PARAMETERS(unsigned int cpu, unsigned long code, void *callback),
	   sent_to_one(cpu, code, callback == NULL))
TRACEPOINT(ipi_send_cpumask, PARAMETERS(const struct cpumask *cpus, unsigned long code, void *callback),
	   sent_to_many(cpus, code))

char LICENSE[] SEC("license") = "GPL";
