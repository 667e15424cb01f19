/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the BPF programs and the daemon say to each other: fixed-width types only, the same bytes on both sides. */
#pragma once

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#define NOISED_STATIC_ASSERT static_assert
typedef std::uint64_t noised_u64;
typedef std::uint32_t noised_u32;
typedef std::uint16_t noised_u16;
typedef std::uint8_t noised_u8;
#else
#define NOISED_STATIC_ASSERT _Static_assert
typedef unsigned long long noised_u64;
typedef unsigned int noised_u32;
typedef unsigned short noised_u16;
typedef unsigned char noised_u8;
#endif

/* What an interval was. The order is part of the ABI; the names are in design.md. */
enum noised_kind {
  NOISED_KIND_NONE = 0,
  NOISED_KIND_NMI,        /* id: address of the handler */
  NOISED_KIND_IRQ,        /* id: irq number */
  NOISED_KIND_VECTOR,     /* id: enum noised_vector */
  NOISED_KIND_SOFTIRQ,    /* id: softirq number */
  NOISED_KIND_TASKLET,    /* id: address of the callback */
  NOISED_KIND_TIMER,      /* id: address of the callback */
  NOISED_KIND_HRTIMER,    /* id: address of the callback */
  NOISED_KIND_IRQ_WORK,   /* no tracepoint tells the callback; reserved */
  NOISED_KIND_CSD,        /* id: address of the function called for another CPU */
  NOISED_KIND_TASK,       /* id: pid; comm follows. In a noised_run_record its upper half tells where the task is */
  NOISED_KIND_WORK,       /* id: address of the work function */
  NOISED_KIND_PAGE_FAULT, /* id: address of the faulting instruction; an instant, x86 has no exit tracepoint */
  NOISED_KIND_COUNT
};

/* A timer whose callback slept, and was not seen to start (PREEMPT_RT). */
#define NOISED_ID_UNKNOWN (~0ULL)

enum noised_vector {
  NOISED_VECTOR_LOCAL_TIMER = 0,
  NOISED_VECTOR_RESCHEDULE,
  NOISED_VECTOR_CALL_FUNCTION,
  NOISED_VECTOR_CALL_FUNCTION_SINGLE,
  NOISED_VECTOR_IRQ_WORK,
  NOISED_VECTOR_THERMAL_APIC,
  NOISED_VECTOR_THRESHOLD_APIC,
  NOISED_VECTOR_DEFERRED_ERROR_APIC,
  NOISED_VECTOR_ERROR_APIC,
  NOISED_VECTOR_SPURIOUS_APIC,
  NOISED_VECTOR_X86_PLATFORM_IPI,
  NOISED_VECTOR_COUNT
};

enum noised_flags {
  NOISED_FLAG_SPLIT = 1,           /* the task slept inside: this is the part up to, or since, the switch */
  NOISED_FLAG_YIELDED = 1,         /* task: it gave the CPU away by sched_yield, and could have run on */
  NOISED_FLAG_UNHANDLED = 2,       /* a shared irq: this handler said it was not its device */
  NOISED_FLAG_STOLEN = 2,          /* task: no interval but a mark: in this time the host took `id` ns from the loop */
  NOISED_FLAG_UNSEEN = 4,          /* no interval but a mark: a task was switched in then, and never seen to leave */
  NOISED_FLAG_PREEMPTED = 8,       /* the task could have run on */
  NOISED_FLAG_STOPPED = 16,        /* no interval but a mark: the loop itself gave the CPU away then */
  NOISED_FLAG_IN_KERNEL = 32,      /* page fault: by an instruction of the kernel's */
  NOISED_FLAG_WOKEN_HERE = 32,     /* task: its own CPU woke it */
  NOISED_FLAG_KERNEL_ADDRESS = 64, /* page fault: the address is the kernel's */
  NOISED_FLAG_ENDED = 64,          /* task: it will not run again */
  NOISED_FLAG_HANDLING = 128,      /* page fault: no fault but the handling of one, from handle_mm_fault */
  /* All kinds but page faults: no task had the CPU yet, and one was woken. A task: the idle task, while the CPU left
   * its idle state; id: pid of who was woken when this began, or 0; no comm follows. */
  NOISED_FLAG_IDLE = 128,
};

/* One stretch of kernel activity or of another task on a CPU. */
struct noised_record {
  noised_u64 start_ns; /* CLOCK_MONOTONIC */
  noised_u64 duration_ns;
  noised_u64 id;
  noised_u8 kind;    /* enum noised_kind */
  noised_u8 depth;   /* frames open around it; the daemon nests by time */
  noised_u8 flags;   /* enum noised_flags */
  noised_u8 group;   /* of a noised_run_record; of a csd: the upper half of its call's number */
  noised_u8 watched; /* enum noised_watch: how its CPU was watched */
  union {
    noised_u8 call;  /* of a csd: the lower half; 0: its CPU called it by itself */
    noised_u8 birth; /* of a noised_run_record */
  };
  noised_u16 size; /* of the record that this begins, in bytes; written last: 0 while it is being made */
};

/* A task interval also carries its name, copied only here. */
struct noised_task_record {
  struct noised_record record;
  char comm[16];
};

/* Where tasks are watched, the interval of one that is no kernel thread also carries what the kernel has counted of it
 * since it was born, modulo 2^32 but for the wait: the kernel keeps it on cache lines that a switch has just touched.
 * A pid is not enough to tell whose counts these are: it is used again, and a thread that execs takes its leader's. So
 * there is also the address of the kernel's task_struct in the upper half of record.id, as the upper 32 bits of its
 * product with an odd number: of 10,000 tasks two have the same once in 86 nodes. And, as an address is used again too,
 * the time of birth in units of 2^20 ns, modulo 2^8. A thread that execs takes its leader's
 * time of birth, and keeps its address. */
struct noised_run_record {
  struct noised_task_record task; /* record.group: what user space chose for it, or for its parent */
  noised_u64 wait_ns;             /* runnable without a CPU, up to this interval */
  noised_u32 runs;                /* this one included; 0: the kernel counts neither runs nor waits */
  noised_u32 voluntary;           /* switches, the one that ends this interval included */
  noised_u32 involuntary;
  noised_u32 minor_faults;
  noised_u32 major_faults;
  noised_u32 tgid;
};

/* What one CPU does to others; targets are 64 CPUs of which `word` tells the first. */
enum noised_origin_kind {
  NOISED_ORIGIN_WAKE = 0,    /* a task that last ran on the target is woken */
  NOISED_ORIGIN_MOVE,        /* a task is moved to the target */
  NOISED_ORIGIN_MOVE_AWAY,   /* a task is moved from the target to another CPU */
  NOISED_ORIGIN_RESCHEDULE,  /* an interrupt is sent, of vector reschedule, */
  NOISED_ORIGIN_CALL,        /* call_function, */
  NOISED_ORIGIN_CALL_SINGLE, /* or call_function_single */
  NOISED_ORIGIN_QUEUE,       /* a function is queued for the target to run in one of the last two */
  NOISED_ORIGIN_COUNT
};

struct noised_origin {
  noised_u64 time_ns;     /* CLOCK_MONOTONIC */
  noised_u64 targets;     /* a bit for each watched CPU from 64 * word on */
  noised_u64 subject;     /* tasks: id of the task's cgroup; interrupts: address of the function queued, or 0 */
  noised_u64 code;        /* interrupts: the address that sent it */
  noised_u64 context_id;  /* id of the innermost interval open on the causing CPU */
  noised_u32 task;        /* tasks: pid of the one woken or moved; functions queued: the call's number, as in records */
  noised_u32 pid;         /* the current task of the causing CPU */
  char comm[16];          /* its name */
  noised_u16 cpu;         /* the causing CPU */
  noised_u8 kind;         /* enum noised_origin_kind */
  noised_u8 word;         /* of `targets` */
  noised_u8 context_kind; /* enum noised_kind of that interval; NOISED_KIND_NONE: the task itself is the cause */
  noised_u8 reserved;
  noised_u16
      lap; /* written last: NOISED_ORIGIN_LAP of how often the ring was filled before; 0 while it is being made */
};

/* Every CPU has a ring of origins, which the daemon maps: so many slots, a power of two, one after the other for all
 * CPUs. The lap tells a slot that is filled from one that still has what was read a lap ago, so the reader writes to
 * none of them. */
#define NOISED_ORIGIN_LAP(laps) ((noised_u16)((laps) | 0x8000U))
/* Slots kept free: of interrupts between the look at the room that is left and the claim of it. */
#define NOISED_ORIGIN_MARGIN 32U

/* A CPU's ring of records is memory that the daemon maps: so many segments, each with room behind it for what a record
 * that begins in it needs more. Every record begins at a multiple of 16 bytes. The reader clears what it has read. */
#define NOISED_SEGMENT_BYTES 65536U
#define NOISED_SEGMENT_SLACK 128U
/* Kept free: records of interrupts between the look at the room that is left and the claim of it. 16 deep, 80 bytes. */
#define NOISED_RING_MARGIN 2048U

#define NOISED_STACK_DEPTH 16 /* a power of two; deepest seen: task, work, irq vector, softirq, timer, nmi */

/* Of a noised_run_record: where a task is, from the address of its task_struct; and its time of birth. */
#define NOISED_TASK_SLOT_FACTOR 0x9E3779B97F4A7C15ULL
#define NOISED_BIRTH_SHIFT 20

/* A power of two. Two wakeups between two switches are common, four are not; of two in one slot the later is known. */
#define NOISED_WOKEN_HERE 4

/* How a CPU is watched. Nothing is recorded of what ends while it idles, before a task is woken there: that takes
 * nothing from any task. */
enum noised_watch {
  NOISED_WATCH_NOTHING = 0,
  NOISED_WATCH_LOOP,  /* by a loop that measures there */
  NOISED_WATCH_TASKS, /* for what its tasks suffer */
  NOISED_WATCH_IDLE,  /* the same, and no task has it */
};

/* A task that is to run where a loop measures, which is to step aside for it. */
struct noised_arrival {
  noised_u64 time_ns; /* CLOCK_MONOTONIC: it became runnable then */
  noised_u32 cpu;
  noised_u32 pid;
};

/* Largest kernel.pid_max of 64-bit kernels. */
#define NOISED_MAX_PIDS (4U << 20U)

struct noised_frame {
  noised_u64 start_ns;
  noised_u64 id;
};

#define NOISED_SWITCHING 2

/* The state of one CPU. The daemon maps it: probe_pid, current_pid and watched are written by the probe's own CPU from
 * user space, so that no frame is open when watching begins; the counters are read from there without a system call.
 * An interrupt finds its CPU's caches cold, and a cache line costs it more than all our instructions: the first line
 * holds all that entry and exit of the two outermost frames touch. */
struct noised_cpu {
  noised_u16 watched; /* enum noised_watch */
  noised_u16 ring;    /* which of the rings is this CPU's */
  noised_u32 depth;   /* frames open */
  noised_u8 kinds[NOISED_STACK_DEPTH];
  noised_u32 ring_head;  /* bytes claimed, modulo 2^32 */
  noised_u32 ring_limit; /* nothing is claimed beyond, until the reader's place was looked at again */
  struct noised_frame frames[NOISED_STACK_DEPTH];
  noised_u32 probe_pid;                     /* thread id of the loop: its own time on the CPU is not an interval */
  noised_u32 current_pid;                   /* as of the last switch seen; the probe's when watching begins */
  noised_u64 task_start_ns;                 /* when the current task, if not the probe, was switched in */
  noised_u32 woken_here[NOISED_WOKEN_HERE]; /* pids that this CPU woke for itself, until they run; by pid */
  noised_u32 task_flags;                    /* of the current task: NOISED_FLAG_WOKEN_HERE or 0 */
  noised_u16 current_is_kernel;             /* where tasks are watched: the current task is a kernel thread; or */
                                            /* NOISED_SWITCHING: what is written here of it is half of another's */
  noised_u16 loop_left;                     /* the loop went to sleep by itself, and has not come back */
  noised_u64 current_task;                  /* the address of the current task's task_struct, as of the last switch */
  noised_u64 lost_full;                     /* records refused: ring full, or its lock not to be had */
  noised_u64 lost_nmi;                      /* records refused inside an NMI, where the ring's lock is only tried */
  noised_u64 lost_depth;                    /* entries refused: the stack was full */
  noised_u64 unpaired;                      /* frames closed without their exit, and exits without their entry */
  noised_u64 unseen;                        /* marks made: tasks never seen to leave */
  noised_u64 split;                         /* frames split by a switch whose exits are still to come */
  noised_u64 lost_origins;                  /* on any CPU: records refused of what it did to watched ones */
  noised_u64 queued_function;               /* on any CPU: queued for a watched CPU, its interrupt not yet sent */
  noised_u64 steal_clock_ns;                /* the kernel's count of steal time at the last tick */
  noised_u64 steal_ns;                      /* what it counted from tick to tick since the CPU is watched */
  noised_u64 steal_known;                   /* it could be read */
  noised_u64 steal_tick_ns;                 /* when the interrupt of that tick began */
  noised_u64 ticked;                        /* the tick's callback has run since the last timer interrupt */
  noised_u32 origin_head;                   /* on any CPU, as the next: slots claimed of its ring of origins */
  noised_u32 origin_limit;                  /* none is claimed beyond, until the reader's place was looked at again */
  noised_u32 ring_tail;                     /* bytes read; written by the reader, so on a cache line of its own */
  noised_u32 origin_tail;                   /* on any CPU: slots read, likewise */
  noised_u32 unused[14];
  /* Of the arrival for which the loop steps aside, the first since it came back. Written by any CPU, once; read by the
   * loop all the time, so it is on a line of its own. */
  noised_u64 arrived_ns;
  /* Of a task woken while this CPU idles, the first; written by any CPU, and read while it idles, when no loop runs. */
  noised_u64 woken_ns; /* 0: none */
  noised_u32 woken_pid;
  noised_u32 awake;   /* this CPU has left its idle state since, or it was in an interrupt then */
  noised_u64 left_ns; /* the idle task has it back from the idle state and interrupts since then; 0: not yet */
  noised_u64 unused_too[4];
};

NOISED_STATIC_ASSERT(sizeof(struct noised_record) == 32, "noised_record is part of the ABI");
NOISED_STATIC_ASSERT(sizeof(struct noised_task_record) == 48, "noised_task_record is part of the ABI");
NOISED_STATIC_ASSERT(sizeof(struct noised_run_record) == 80, "noised_run_record is part of the ABI");
NOISED_STATIC_ASSERT(sizeof(struct noised_arrival) == 16, "noised_arrival is part of the ABI");
NOISED_STATIC_ASSERT(sizeof(struct noised_origin) == 72, "noised_origin is part of the ABI");
NOISED_STATIC_ASSERT(offsetof(struct noised_cpu, ring_head) % 8 == 0, "it is added to by an instruction of 64 bits");
NOISED_STATIC_ASSERT(offsetof(struct noised_cpu, ring_limit) == offsetof(struct noised_cpu, ring_head) + 4,
                     "the carry goes there");
NOISED_STATIC_ASSERT(offsetof(struct noised_cpu, origin_head) % 8 == 0, "it is added to by an instruction of 64 bits");
NOISED_STATIC_ASSERT(offsetof(struct noised_cpu, origin_limit) == offsetof(struct noised_cpu, origin_head) + 4,
                     "the carry goes there");
NOISED_STATIC_ASSERT(offsetof(struct noised_cpu, ring_tail) % 64 == 0, "the reader writes to no line of the programs'");
NOISED_STATIC_ASSERT(sizeof(struct noised_cpu) % 64 == 0, "a CPU's state shares no cache line with another's");
