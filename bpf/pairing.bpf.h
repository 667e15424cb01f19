/* SPDX-License-Identifier: GPL-2.0-only */
/* The pairing stack: an entry pushes a frame, its exit pops it and emits one interval.
 *
 * Everything is keyed by CPU. An interrupt may strike between any two instructions here and leaves the stack as it
 * found it; so a push first claims its slot and then fills it, a pop first reads its slot and then frees it. */
#pragma once

#include "kernel_types.h"

#include "noised/abi.h"

#define NOISED_MAX_CPUS 8192 /* the largest CONFIG_NR_CPUS; the loader shrinks the array to the possible CPUs */
#define STACK_MASK (NOISED_STACK_DEPTH - 1)

extern struct noised_cpu cpu_states[NOISED_MAX_CPUS] SEC(".bss.cpus");
extern const volatile __u32 cpu_count;

struct interval_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
};

/* One ring for each watched CPU: producers on different CPUs never meet. Segments of all rings, one after the other. */
extern struct ring_segments {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__uint(value_size, NOISED_SEGMENT_BYTES + NOISED_SEGMENT_SLACK);
} segments SEC(".maps");
extern const volatile __u32 segments_per_ring; /* a power of two; 0 where the kernel lacks the atomic claim (5.12) */

/* Such a kernel's own ring buffers instead. */
extern struct interval_rings {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct interval_ring);
} rings SEC(".maps");

/* The kernel has BTF of its own: programs follow pointers to tasks by themselves. */
extern const volatile __u8 follows_tasks;

/* A program runs at the end of every callback. Else the next callback of its kind ends it, or what both are in: one
 * run less in each tick, also on CPUs that nobody watches. */
extern const volatile __u8 sees_callback_ends;

#define compiler_barrier() asm volatile("" ::: "memory")

static __always_inline struct noised_cpu *this_cpu(void)
{
	__u64 index = bpf_get_smp_processor_id();

	if (index >= cpu_count)
		return NULL;
	/* Else the compiler scales the index before the comparison, and Linux 5.10 forgets that it is bounded. */
	asm volatile("" : "+r"(index));
	return &cpu_states[index];
}

/* The state of any CPU. */
static __always_inline struct noised_cpu *state_of_cpu(__u64 index)
{
	if (index >= cpu_count)
		return NULL;
	asm volatile("" : "+r"(index)); /* as above */
	return &cpu_states[index];
}

/* The state of this CPU if it is watched. On other CPUs most programs end here. */
static __always_inline struct noised_cpu *watched_cpu(void)
{
	struct noised_cpu *cpu = this_cpu();

	return cpu && cpu->watched ? cpu : NULL;
}

typedef __u64 __attribute__((may_alias)) name_half;

/* 16 bytes in two loads, from a task that the verifier knows. */
static __always_inline void copy_name(__u64 *to, const struct task_struct *task)
{
	to[0] = *(const name_half *)&task->comm[0];
	to[1] = *(const name_half *)&task->comm[8];
}

/* True while what happens on the CPU is recorded. */
static __always_inline _Bool records(const struct noised_cpu *cpu)
{
	__u32 watched = cpu->watched;

	return watched - NOISED_WATCH_LOOP <= NOISED_WATCH_TASKS - NOISED_WATCH_LOOP; /* unsigned: nothing is above */
}

/* True on an idle CPU where a task was woken: what happens from then on keeps it waiting. */
static __always_inline _Bool is_waited_for(const struct noised_cpu *cpu)
{
	return cpu->watched == NOISED_WATCH_IDLE && cpu->woken_ns;
}

/* The state of this CPU if what happens on it is recorded. */
static __always_inline struct noised_cpu *recorded_cpu(void)
{
	struct noised_cpu *cpu = this_cpu();

	return cpu && (records(cpu) || is_waited_for(cpu)) ? cpu : NULL;
}

/* Looks where the reader is: once in a ring's length, since its place lies on a cache line that it writes. */
static __always_inline _Bool make_room(struct noised_cpu *cpu)
{
	__u32 limit = cpu->ring_tail + segments_per_ring * NOISED_SEGMENT_BYTES - NOISED_RING_MARGIN;

	cpu->ring_limit = limit;
	return (__s32)(limit - cpu->ring_head) >= 0;
}

/* Adds to a head and tells where it was, in one instruction (by name: the compiler has it only for code that Linux
 * 5.10 does not verify). It adds 64 bits, so once in 2^32 the carry moves the limit behind it by one, of a margin of
 * 2048 bytes or 32 slots. */
static __always_inline __u32 advance(__u32 *head, __u64 by)
{
	asm volatile("%0 = atomic_fetch_add((u64 *)(%1 + 0), %0)" : "+r"(by) : "r"(head) : "memory");
	return (__u32)by;
}

/* Room in this CPU's ring, which is nobody else's from then on: an interrupt anywhere in here claims what comes next.
 */
static __always_inline struct noised_record *claim(struct noised_cpu *cpu, __u32 size)
{
	if ((__s32)(cpu->ring_limit - cpu->ring_head) < 0 && !make_room(cpu))
		return NULL;
	__u32 at = advance(&cpu->ring_head, size);
	__u32 segment = cpu->ring * segments_per_ring + (at / NOISED_SEGMENT_BYTES & (segments_per_ring - 1));
	char *bytes = bpf_map_lookup_elem(&segments, &segment);

	return bytes ? (struct noised_record *)(bytes + (at & (NOISED_SEGMENT_BYTES - 1))) : NULL;
}

/* No function is called (a lookup in an array is inlined), and of this CPU's memory only the record's own lines and the
 * first one of its state are touched. The kernel's ring buffer (a lock, both ends' pages, a header) took 75 ns more. */
static __always_inline _Bool put(struct noised_cpu *cpu, struct noised_record *record, __u32 size)
{
	struct noised_record *room = claim(cpu, size);

	if (!room)
		return 0;
	__builtin_memcpy(room, record, size);
	compiler_barrier(); /* x86 stores in this order */
	room->size = size;
	return 1;
}

/* Without a wakeup: waking the reader is an irq_work on this CPU (25 ns to 1.4 us of noise of our own). */
static __always_inline _Bool put_by_kernel(struct noised_record *record, __u32 size)
{
	__u32 index = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &index);

	return ring && bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP) == 0;
}

/* `size` is known when this is compiled. */
static __always_inline void emit(struct noised_cpu *cpu, struct noised_record *record, __u32 size, __u8 kind)
{
	if (segments_per_ring ? put(cpu, record, size) : put_by_kernel(record, size))
		return;
	if (kind == NOISED_KIND_NMI)
		cpu->lost_nmi++;
	else
		cpu->lost_full++;
}

/* `call`: of a csd, see number_of_call(); else 0. */
static __always_inline void emit_call(struct noised_cpu *cpu, __u8 kind, __u8 depth, __u8 flags, __u64 id, __u16 call,
				      __u64 start_ns, __u64 end_ns)
{
	struct noised_record record = {
	    .start_ns = start_ns,
	    .duration_ns = end_ns > start_ns ? end_ns - start_ns : 0,
	    .id = id,
	    .kind = kind,
	    .depth = depth,
	    .flags = flags,
	    .group = (__u8)(call >> 8),
	    .watched = (__u8)cpu->watched,
	    .call = (__u8)call,
	};

	emit(cpu, &record, sizeof(record), kind);
}

static __always_inline void emit_interval(struct noised_cpu *cpu, __u8 kind, __u8 depth, __u8 flags, __u64 id,
					  __u64 start_ns, __u64 end_ns)
{
	emit_call(cpu, kind, depth, flags, id, 0, start_ns, end_ns);
}

/* What tells one call of a function from others that wait: of the address of its request, which nobody uses again
 * before it was taken. Two that wait have the same number once in 65536. */
static __always_inline __u16 number_of_call(__u64 request)
{
	return (__u16)(request * 0x9E3779B97F4A7C15ULL >> 48);
}

static __always_inline int push(struct noised_cpu *cpu, __u8 kind, __u64 id)
{
	__u32 depth = cpu->depth;

	cpu->depth = depth + 1;
	compiler_barrier();
	if (depth >= NOISED_STACK_DEPTH) {
		cpu->lost_depth++;
		return 0;
	}
	depth &= STACK_MASK;
	cpu->kinds[depth] = kind;
	cpu->frames[depth].id = id;
	/* Last, so that what this program cost is overhead around the interval and not a part of it. */
	cpu->frames[depth].start_ns = bpf_ktime_get_ns();
	return 0;
}

/* The innermost of so many open frames. The compiler is not to know that it is in range and leave the mask away: Linux
 * 5.10 forgets the comparison. */
static __always_inline __u32 top_of(__u32 depth)
{
	__u32 top = depth - 1;

	asm volatile("" : "+r"(top));
	return top & STACK_MASK;
}

/* A tasklet, a timer or a high-resolution timer: something that runs in a softirq or in an interrupt. */
static __always_inline _Bool is_callback(__u8 kind)
{
	return (__u32)kind - NOISED_KIND_TASKLET <= NOISED_KIND_HRTIMER - NOISED_KIND_TASKLET;
}

static __always_inline _Bool has_callbacks(__u8 kind)
{
	return kind == NOISED_KIND_IRQ || kind == NOISED_KIND_VECTOR || kind == NOISED_KIND_SOFTIRQ;
}

/* The innermost frame that is open is of a callback which nothing but the end of what it is in will close. */
static __always_inline _Bool ends_with_callback(const struct noised_cpu *cpu, __u8 kind)
{
	__u32 depth = cpu->depth;

	return !sees_callback_ends && has_callbacks(kind) && depth != 0 && depth <= NOISED_STACK_DEPTH &&
	       is_callback(cpu->kinds[top_of(depth)]);
}

static __always_inline void close_callback(struct noised_cpu *cpu, __u64 now)
{
	__u32 depth = top_of(cpu->depth);
	__u8 kind = cpu->kinds[depth];
	__u64 start_ns = cpu->frames[depth].start_ns;
	__u64 id = cpu->frames[depth].id;

	compiler_barrier();
	cpu->depth = depth;
	emit_interval(cpu, kind, (__u8)depth, 0, id, start_ns, now);
}

/* Rare: the exit does not fit the top frame. Returns the depth at which the nearest frame of its kind is the top, or 0:
 * then the exit has no entry. */
static __noinline __u32 find_frame(struct noised_cpu *cpu, __u32 depth, __u8 kind)
{
	for (__u32 step = 0; step < NOISED_STACK_DEPTH; step++) {
		__u32 candidate = depth - step;

		if (candidate == 0 || candidate > NOISED_STACK_DEPTH)
			return 0;
		if (cpu->kinds[(candidate - 1) & STACK_MASK] == kind)
			return candidate;
	}
	return 0;
}

/* An exit without its frame: of one that was split when its task was switched out, or of none that was seen. */
static __always_inline int pop_split(struct noised_cpu *cpu, __u8 kind, __u8 flags, __u64 id, __u16 call, __u64 now)
{
	if (cpu->split == 0 || cpu->task_start_ns == 0) {
		cpu->unpaired++;
		return 0;
	}
	cpu->split--;
	emit_call(cpu, kind, 0, flags | NOISED_FLAG_SPLIT, id, call, cpu->task_start_ns, now);
	return 0;
}

/* Emits the interval that ends now; flags as in abi.h. The frame knows the id; `split_id` is for one that was split. */
static __always_inline int pop_call(struct noised_cpu *cpu, __u8 kind, __u8 flags, __u64 split_id, __u16 call)
{
	__u64 now = bpf_ktime_get_ns(); /* first: see push() */

	if (ends_with_callback(cpu, kind))
		close_callback(cpu, now);
	__u32 depth = cpu->depth;

	if (depth > NOISED_STACK_DEPTH) {
		cpu->depth = depth - 1;
		return 0;
	}
	if (depth == 0 || cpu->kinds[(depth - 1) & STACK_MASK] != kind) {
		__u32 found = find_frame(cpu, depth, kind);

		if (found == 0)
			return pop_split(cpu, kind, flags, split_id, call, now);
		cpu->unpaired += depth - found; /* the frames above it lost their exits */
		depth = found;
	}
	depth--;
	__u64 start_ns = cpu->frames[depth & STACK_MASK].start_ns;
	__u64 id = cpu->frames[depth & STACK_MASK].id;

	compiler_barrier();
	cpu->depth = depth;
	emit_call(cpu, kind, depth, flags, id, call, start_ns, now);
	return 0;
}

static __always_inline int pop(struct noised_cpu *cpu, __u8 kind, __u8 flags, __u64 split_id)
{
	return pop_call(cpu, kind, flags, split_id, 0);
}

/* A task was woken on a CPU that idles, or moved there. `awake`: that CPU is not in its idle state. Other CPUs write to
 * a line that the idle one reads; nobody does once a task is noted. */
static __always_inline void note_woken(struct noised_cpu *there, __u32 pid, _Bool awake)
{
	if (there->woken_ns)
		return;
	there->woken_pid = pid;
	there->awake = awake;
	there->left_ns = 0;
	compiler_barrier();
	there->woken_ns = bpf_ktime_get_ns();
}

/* The first that this idle CPU does since a task was woken there: the time between was the way out of its idle state,
 * unless an interrupt was open. Told at once, so that records stay in the order in which their intervals ended. */
static __always_inline void note_awake(struct noised_cpu *cpu)
{
	if (!cpu->woken_ns || cpu->awake)
		return;
	cpu->awake = 1;
	if (cpu->depth == 0)
		emit_interval(cpu, NOISED_KIND_TASK, 0, NOISED_FLAG_IDLE, cpu->woken_pid, cpu->woken_ns,
			      bpf_ktime_get_ns());
}

/* On CPUs that are not watched the stack only tells in which context a program runs there (origins.bpf.c): no clock is
 * read and no record made. The same goes for exits on idle ones, before a task is woken. */
static __always_inline int note_entry(struct noised_cpu *cpu, __u8 kind, __u64 id)
{
	__u32 depth = cpu->depth;

	cpu->depth = depth + 1;
	compiler_barrier();
	if (depth < NOISED_STACK_DEPTH) {
		cpu->kinds[depth & STACK_MASK] = kind;
		cpu->frames[depth & STACK_MASK].id = id;
	}
	return 0;
}

static __always_inline int note_exit(struct noised_cpu *cpu, __u8 kind)
{
	__u32 depth = cpu->depth;

	if (ends_with_callback(cpu, kind))
		depth--;
	if (depth != 0 && depth <= NOISED_STACK_DEPTH && cpu->kinds[(depth - 1) & STACK_MASK] != kind)
		depth = find_frame(cpu, depth, kind);
	if (depth != 0)
		cpu->depth = depth - 1;
	return 0;
}

/* On an idle CPU an entry costs a clock reading (20 ns) more than on one that is not watched, since a task may be woken
 * before its exit; that makes a record only if one was. Nothing here is a function of its own: where the kernel lacks
 * the atomic claim, the loader takes it out of the programs alone. */
static __always_inline int enter(__u8 kind, __u64 id)
{
	struct noised_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (!records(cpu)) {
		if (!cpu->watched)
			return note_entry(cpu, kind, id);
		note_awake(cpu);
	}
	return push(cpu, kind, id);
}

/* One follows another: one reading of the clock for the end of the first and the begin of this. */
static __always_inline int follow_callback(struct noised_cpu *cpu, __u32 top, __u8 kind, __u64 id)
{
	struct noised_frame *frame = &cpu->frames[top];
	__u64 last_id = frame->id;
	__u64 start_ns = frame->start_ns;

	frame->id = id;
	if (!cpu->watched)
		return 0;
	frame->start_ns = bpf_ktime_get_ns();
	if (records(cpu) || is_waited_for(cpu))
		emit_interval(cpu, kind, (__u8)top, 0, last_id, start_ns, frame->start_ns);
	return 0;
}

/* Of a callback that is in nothing that was seen nobody could tell the end; the loader sees to it that there is none
 * (features.h), and one is counted as unpaired. */
static __always_inline int enter_callback(__u8 kind, __u64 id)
{
	struct noised_cpu *cpu = this_cpu();

	if (sees_callback_ends || !cpu)
		return enter(kind, id);
	__u32 depth = cpu->depth;

	if (depth == 0) {
		cpu->unpaired += records(cpu);
		return 0;
	}
	if (depth >= NOISED_STACK_DEPTH) {
		cpu->lost_depth += records(cpu);
		return 0;
	}
	__u32 top = top_of(depth);

	if (cpu->kinds[top] == kind)
		return follow_callback(cpu, top, kind, id);
	return enter(kind, id);
}

static __always_inline int leave_call(__u8 kind, __u8 flags, __u64 id, __u16 call)
{
	struct noised_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (records(cpu))
		return pop_call(cpu, kind, flags, id, call);
	if (!is_waited_for(cpu))
		return note_exit(cpu, kind);
	cpu->awake = 1; /* the task may have been woken inside */
	pop_call(cpu, kind, flags, id, call);
	if (cpu->depth == 0 && !cpu->left_ns)
		cpu->left_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int leave(__u8 kind, __u8 flags, __u64 id)
{
	return leave_call(kind, flags, id, 0);
}

#define PARAMETERS(...) __VA_ARGS__

/* The twins of one tracepoint: tp_btf follows pointers directly and costs least; raw_tp serves kernels whose own BTF
 * is missing and reads memory by helper. The loader picks one. */
#define TRACEPOINT_TWINS(tracepoint, parameters, direct, by_helper)                                                    \
	SEC("tp_btf/" #tracepoint)                                                                                     \
	int BPF_PROG(btf_##tracepoint, parameters)                                                                     \
	{                                                                                                              \
		return direct;                                                                                         \
	}                                                                                                              \
	SEC("raw_tp/" #tracepoint)                                                                                     \
	int BPF_PROG(raw_##tracepoint, parameters)                                                                     \
	{                                                                                                              \
		return by_helper;                                                                                      \
	}

/* For tracepoints that pass the address of a function, which the verifier lets no tp_btf program read. It costs the
 * same: both kinds are called the same way. */
#define TRACEPOINT_RAW(tracepoint, parameters, body)                                                                   \
	SEC("raw_tp/" #tracepoint)                                                                                     \
	int BPF_PROG(raw_##tracepoint, parameters)                                                                     \
	{                                                                                                              \
		return body;                                                                                           \
	}

/* Twins that follow no pointer. */
#define TRACEPOINT(tracepoint, parameters, body) TRACEPOINT_TWINS(tracepoint, PARAMETERS(parameters), body, body)
