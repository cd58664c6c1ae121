/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Newer engines. Policies come and go while the hierarchy runs: an engine that has others is a second object on the
 * same maps. sched_ext does not let operations be replaced, so those of the first object stay attached, and from the
 * moment that it is superseded each begins with a jump into the newer object's program of its kind. User space puts
 * these where the jumps lead to, has timers call the newer object (adopt), and then says that they are there
 * (supersede). Nothing is held up meanwhile: both objects work on one domain, under one lock, and agree on all of it.
 * With no more loaded policies the first object takes over again, in the same way.
 */
#ifndef HLS_BPF_NEWER_H
#define HLS_BPF_NEWER_H

#include "rescue.h"

/* Whether there is a newer engine than this one. Volatile also for its type: a bool would be made of it. */
static volatile u32 is_superseded;

/* Where the newer engine's program is for an operation. The kernel wants all programs in such a map to be of one kind. */
#define NEWER(op)                                      \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, 1);                \
		__type(key, u32);                      \
		__type(value, u32);                    \
	} newer_##op SEC(".maps")

NEWER(init);
NEWER(enqueue);
NEWER(dispatch);
NEWER(quiescent);
NEWER(disable);
NEWER(yielded);
NEWER(init_task);
NEWER(exit_task);
NEWER(set_cpumask);
NEWER(cpu_online);
NEWER(cpu_offline);
NEWER(told);

/* Does not come back where there is a newer engine. */
#define GO_TO_NEWER(op)                                     \
	do {                                                \
		if (unlikely(is_superseded))                \
			bpf_tail_call(ctx, &newer_##op, 0); \
	} while (0)

/* Whether there is a newer engine than this one, from now on. */
SEC("syscall")
int supersede(u64 *by_newer)
{
	is_superseded = *by_newer;
	return 0;
}

static int on_timer(void *map, u32 *key, struct cpu_timer *t);

/* This is the newest engine: timers call it from now on. */
SEC("syscall")
int adopt(void *ctx)
{
	USES(arena);
	(void)ctx;
	s64 error = 0;
	if (!domain->has_begun)
		return 0;
	for (u32 cpu = from(0); cpu < HLS_MAX_CPUS && !error && can_loop; cpu++) {
		u32 key = cpu;
		struct cpu_timer *t = bpf_map_lookup_elem(&timers, &key);
		error = t ? bpf_timer_set_callback(&t->timer, on_timer) : -1;
	}
	u32 only = 0;
	struct cpu_timer *t = bpf_map_lookup_elem(&rescuer, &only);
	if (!t || error)
		return -1;
	return (int)bpf_timer_set_callback(&t->timer, look_for_starved);
}

#endif
