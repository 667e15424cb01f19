/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps and variables that all families share. */
#include "arrival.bpf.h"

struct noised_cpu cpu_states[NOISED_MAX_CPUS] SEC(".bss.cpus");
const volatile __u32 cpu_count = NOISED_MAX_CPUS;
struct ring_segments segments SEC(".maps");
const volatile __u32 segments_per_ring = 1;
struct interval_rings rings SEC(".maps");
struct arrival_ring arrivals SEC(".maps");
const volatile __u8 steps_aside;
__u8 task_groups[NOISED_MAX_PIDS] SEC(".bss.groups");
const volatile __u32 group_count = NOISED_MAX_PIDS;

char LICENSE[] SEC("license") = "GPL";
