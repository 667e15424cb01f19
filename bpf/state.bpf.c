/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps and variables that all families share. */
#include "run.bpf.h"

struct noised_cpu cpu_states[NOISED_MAX_CPUS] SEC(".bss.cpus");
const volatile __u32 cpu_count = NOISED_MAX_CPUS;
struct interval_rings rings SEC(".maps");
__u8 task_groups[NOISED_MAX_PIDS] SEC(".bss.groups");
const volatile __u32 group_count = NOISED_MAX_PIDS;

char LICENSE[] SEC("license") = "GPL";
