/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that other CPUs asked this one to run, inside the call_function vectors. */
#include "pairing.bpf.h"

TRACEPOINT_RAW(csd_function_entry, PARAMETERS(void *function, void *data), enter(NOISED_KIND_CSD, (__u64)function))
TRACEPOINT_RAW(csd_function_exit, PARAMETERS(void *function, void *data), leave(NOISED_KIND_CSD, 0, (__u64)function))

char LICENSE[] SEC("license") = "GPL";
