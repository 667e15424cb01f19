/* SPDX-License-Identifier: GPL-2.0-only */
/* What takes a CPU for a while, each with its entry and exit: interrupts, softirqs, timers, functions that other CPUs
 * ask for, NMIs and page faults. And the maps and variables that all programs share. */
#include "arrival.bpf.h"

struct noised_cpu cpu_states[NOISED_MAX_CPUS] SEC(".bss.cpus");
const volatile __u32 cpu_count = NOISED_MAX_CPUS;
struct ring_segments segments SEC(".maps");
const volatile __u32 segments_per_ring = 1;
struct interval_rings rings SEC(".maps");
struct arrival_ring arrivals SEC(".maps");
const volatile __u8 follows_tasks;
const volatile __u8 sees_callback_ends = 1;
const volatile __u8 steps_aside;
const volatile __u8 reads_steal;    /* this is a virtual machine */
const volatile __u64 tick_function; /* address of the hrtimer callback that is the tick; 0: not known */
__u8 task_groups[NOISED_MAX_PIDS] SEC(".bss.groups");
const volatile __u32 group_count = NOISED_MAX_PIDS;

/* x86 interrupt vectors that irq_handler_entry does not cover. */
#define VECTOR(name, id)                                                                                               \
	TRACEPOINT(name##_entry, PARAMETERS(int vector), enter(NOISED_KIND_VECTOR, id))                                \
	TRACEPOINT(name##_exit, PARAMETERS(int vector), leave(NOISED_KIND_VECTOR, 0, id))

/* The tick has just brought the kernel's count up to date, in lines that are warm. After the interval's end, so that
 * what it costs is no part of it: 30 ns a tick on a virtual machine (the median of three runs each, in turns, of this
 * program: 193 ns, without 163). */
static __always_inline void note_steal(struct noised_cpu *cpu, __u64 clock_ns, __u64 tick_ns)
{
	__u64 last_tick_ns = cpu->steal_tick_ns;
	__u64 last_ns = cpu->steal_clock_ns;

	/* The kernel looks at its count in ticks alone, and not in timer interrupts that are none. */
	if (cpu->ticked || clock_ns != last_ns)
		cpu->steal_tick_ns = tick_ns;
	cpu->ticked = 0;
	if (cpu->steal_known && clock_ns <= last_ns)
		return;
	cpu->steal_clock_ns = clock_ns;
	if (cpu->steal_known) {
		cpu->steal_ns += clock_ns - last_ns;
		/* The kernel reads it while the interrupt lasts: from the begin of one to the end of the next. */
		if (cpu->watched == NOISED_WATCH_LOOP)
			emit_interval(cpu, NOISED_KIND_TASK, 0, NOISED_FLAG_STOLEN, clock_ns - last_ns, last_tick_ns,
				      bpf_ktime_get_ns());
	}
	cpu->steal_known = 1;
}

/* When the interrupt began that is about to end. */
static __always_inline __u64 tick_start(const struct noised_cpu *cpu)
{
	__u32 top = cpu->depth - 1;

	if (ends_with_callback(cpu, NOISED_KIND_VECTOR))
		top--;
	return cpu->frames[top & STACK_MASK].start_ns;
}

#define KERNEL_COUNTS_STEAL                                                                                            \
	(bpf_core_field_exists(((struct rq *)0)->prev_steal_time) &&                                                   \
	 bpf_core_field_exists(((struct cfs_rq *)0)->rq) && bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))

/* By helpers, 30 ns for each of four pointers, where the kernel (before 5.11) gives programs no task to follow. */
static __always_inline void read_steal_by_helper(struct noised_cpu *cpu, __u64 tick_ns)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (KERNEL_COUNTS_STEAL)
		note_steal(cpu, BPF_CORE_READ(task, se.cfs_rq, rq, prev_steal_time), tick_ns);
}

static __always_inline void read_steal(struct noised_cpu *cpu, __u64 tick_ns)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		read_steal_by_helper(cpu, tick_ns);
	} else if (KERNEL_COUNTS_STEAL) {
		struct task_struct *task = bpf_get_current_task_btf();

		note_steal(cpu, task->se.cfs_rq->rq->prev_steal_time, tick_ns);
	}
}

#define LEAVE_TICK(READ)                                                                                               \
	({                                                                                                             \
		struct noised_cpu *cpu = reads_steal ? watched_cpu() : NULL;                                           \
		__u64 tick_ns = cpu ? tick_start(cpu) : 0;                                                             \
		leave(NOISED_KIND_VECTOR, 0, NOISED_VECTOR_LOCAL_TIMER);                                               \
		if (cpu)                                                                                               \
			READ(cpu, tick_ns);                                                                            \
		0;                                                                                                     \
	})

TRACEPOINT(local_timer_entry, PARAMETERS(int vector), enter(NOISED_KIND_VECTOR, NOISED_VECTOR_LOCAL_TIMER))
TRACEPOINT_TWINS(local_timer_exit, PARAMETERS(int vector), LEAVE_TICK(read_steal), LEAVE_TICK(read_steal_by_helper))
VECTOR(reschedule, NOISED_VECTOR_RESCHEDULE)
VECTOR(call_function, NOISED_VECTOR_CALL_FUNCTION)
VECTOR(call_function_single, NOISED_VECTOR_CALL_FUNCTION_SINGLE)
VECTOR(irq_work, NOISED_VECTOR_IRQ_WORK)
VECTOR(thermal_apic, NOISED_VECTOR_THERMAL_APIC)
VECTOR(threshold_apic, NOISED_VECTOR_THRESHOLD_APIC)
VECTOR(deferred_error_apic, NOISED_VECTOR_DEFERRED_ERROR_APIC)
VECTOR(error_apic, NOISED_VECTOR_ERROR_APIC)
VECTOR(spurious_apic, NOISED_VECTOR_SPURIOUS_APIC)
VECTOR(x86_platform_ipi, NOISED_VECTOR_X86_PLATFORM_IPI)

/* Device interrupts, softirqs and tasklets. */
TRACEPOINT(irq_handler_entry, PARAMETERS(int irq, struct irqaction *action), enter(NOISED_KIND_IRQ, (__u32)irq))
/* A shared irq runs every handler; those that answer 0 (IRQ_NONE) were not meant. */
TRACEPOINT(irq_handler_exit, PARAMETERS(int irq, struct irqaction *action, int handled),
	   leave(NOISED_KIND_IRQ, handled ? 0 : NOISED_FLAG_UNHANDLED, (__u32)irq))

TRACEPOINT(softirq_entry, PARAMETERS(unsigned int number), enter(NOISED_KIND_SOFTIRQ, number))
TRACEPOINT(softirq_exit, PARAMETERS(unsigned int number), leave(NOISED_KIND_SOFTIRQ, 0, number))

TRACEPOINT_RAW(tasklet_entry, PARAMETERS(struct tasklet_struct *tasklet, void *function),
	       enter_callback(NOISED_KIND_TASKLET, (__u64)function))
TRACEPOINT_RAW(tasklet_exit, PARAMETERS(struct tasklet_struct *tasklet, void *function),
	       leave(NOISED_KIND_TASKLET, 0, (__u64)function))

/* Timer and high-resolution timer callbacks. The callback is read at entry: at exit the timer may be gone. */
TRACEPOINT_TWINS(timer_expire_entry, PARAMETERS(struct timer_list *timer),
		 enter_callback(NOISED_KIND_TIMER, (__u64)timer->function),
		 enter_callback(NOISED_KIND_TIMER, (__u64)BPF_CORE_READ(timer, function)))
TRACEPOINT(timer_expire_exit, PARAMETERS(struct timer_list *timer), leave(NOISED_KIND_TIMER, 0, NOISED_ID_UNKNOWN))

static __always_inline int enter_hrtimer(__u64 function)
{
	struct noised_cpu *cpu = reads_steal && function == tick_function ? watched_cpu() : NULL;

	if (cpu)
		cpu->ticked = 1;
	return enter_callback(NOISED_KIND_HRTIMER, function);
}

TRACEPOINT_TWINS(hrtimer_expire_entry, PARAMETERS(struct hrtimer *timer), enter_hrtimer((__u64)timer->function),
		 enter_hrtimer((__u64)BPF_CORE_READ(timer, function)))
TRACEPOINT(hrtimer_expire_exit, PARAMETERS(struct hrtimer *timer), leave(NOISED_KIND_HRTIMER, 0, NOISED_ID_UNKNOWN))

/* Functions that other CPUs asked this one to run, inside the call_function vectors; and those that it asked itself to
 * run, without a request. */
TRACEPOINT_RAW(csd_function_entry, PARAMETERS(void *function, void *request), enter(NOISED_KIND_CSD, (__u64)function))
TRACEPOINT_RAW(csd_function_exit, PARAMETERS(void *function, void *request),
	       leave_call(NOISED_KIND_CSD, 0, (__u64)function, number_of_call((__u64)request)))

/* NMI handlers. The tracepoint fires once, after the handler, and brings the duration. */
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

/* Page faults: an instant each, since x86 has no tracepoint at their end; with their handling where the kernel lets
 * functions be traced. Where tasks are watched the kernel counts the faults of each itself (sched.bpf.c). */

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
