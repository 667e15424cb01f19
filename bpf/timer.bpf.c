/* SPDX-License-Identifier: GPL-2.0-only */
/* Timer and high-resolution timer callbacks. The callback is read at entry: at exit the timer may be gone. */
#include "pairing.bpf.h"

TRACEPOINT_TWINS(timer_expire_entry, PARAMETERS(struct timer_list *timer),
		 enter(NOISED_KIND_TIMER, (__u64)timer->function),
		 enter(NOISED_KIND_TIMER, (__u64)BPF_CORE_READ(timer, function)))
TRACEPOINT(timer_expire_exit, PARAMETERS(struct timer_list *timer), leave(NOISED_KIND_TIMER, 0, NOISED_ID_UNKNOWN))

TRACEPOINT_TWINS(hrtimer_expire_entry, PARAMETERS(struct hrtimer *timer),
		 enter(NOISED_KIND_HRTIMER, (__u64)timer->function),
		 enter(NOISED_KIND_HRTIMER, (__u64)BPF_CORE_READ(timer, function)))
TRACEPOINT(hrtimer_expire_exit, PARAMETERS(struct hrtimer *timer), leave(NOISED_KIND_HRTIMER, 0, NOISED_ID_UNKNOWN))

char LICENSE[] SEC("license") = "GPL";
