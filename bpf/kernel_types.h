/* SPDX-License-Identifier: GPL-2.0-only */
/* The few kernel fields that the programs read. Offsets come from the running kernel's BTF (CO-RE), so the build
 * does not depend on the kernel of the machine that builds. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

/* With CONFIG_SCHED_INFO, as every distribution has it. */
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

/* The time that the host had this CPU's thread wait, up to the last tick: what /proc/stat shows in steps of 10 ms. With
 * CONFIG_PARAVIRT; how a task leads there, with CONFIG_FAIR_GROUP_SCHED. */
struct rq {
	__u64 prev_steal_time;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct {
	struct sched_entity se;
	unsigned int __state; /* since 5.14 */
	unsigned int flags;
	int pid;
	int tgid;
	int wake_cpu;
	char comm[16];
	struct css_set *cgroups;
	struct sched_info sched_info;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long long start_time;
	unsigned long min_flt;
	unsigned long maj_flt;
};

struct task_struct___before_5_14 {
	long state;
};

struct pt_regs {
	unsigned long orig_ax; /* the system call; -1 in an interrupt */
	unsigned long ip;
};

struct timer_list {
	void *function;
};

struct hrtimer {
	void *function;
};

struct work_struct {
	void *func;
};

#pragma clang attribute pop

struct irqaction;
struct tasklet_struct;
struct cpumask;
struct vm_area_struct;
