/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The maps of the engine, and threads by the numbers of their VPs. All other headers of this folder may use them.
 */
#ifndef HLS_BPF_MAPS_H
#define HLS_BPF_MAPS_H

#include "domain.h"
#include "sched_ext.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DOMAIN_PAGES);
	__ulong(map_extra, DOMAIN_AT);
} arena SEC(".maps");

/* Wakes user space, which finds the news in the arena. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} doorbell SEC(".maps");

struct kept_task {
	struct task_struct __kptr *task;
};

/* The thread of each VP, needed when the core chooses the VP. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HLS_MAX_VPS);
	__type(key, u32);
	__type(value, struct kept_task);
} tasks SEC(".maps");

static __always_inline u32 vp_of(const struct task_struct *p)
{
	return vp_number(p->scx.dsq_vtime);
}

static __always_inline struct task_struct *thread_of(u32 v)
{
	struct kept_task *held = bpf_map_lookup_elem(&tasks, &v);
	return held ? held->task : NULL;
}

/*
 * The word that names the VP of each thread (vp_word). sched_ext forgets dsq_vtime when a thread leaves our class; the
 * thread keeps its VP.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} task_vps SEC(".maps");

/* Why the kernel ended the run, for the loader; in a map of its own. */
struct engine_exit {
	u32 kind; /* 0: it has not ended */
	char reason[128];
	char message[1024];
} exit_info SEC(".data.exit");

/*
 * How long a thread runs before its CPU looks at its local queue again: sched_ext does not preempt for a thread that
 * enters that queue while a decision is being taken, such as a kernel thread that must not wait.
 */
#define SLICE_NS HLS_MS(5)

/* Puts the thread of v on this CPU: into its dispatch buffer, from dispatch(), under the lock. */
static __always_inline void insert_thread_of(u32 v)
{
	struct task_struct *task = thread_of(v);
	if (task)
		insert(task, SCX_DSQ_LOCAL, SLICE_NS, 0);
}

#endif
