/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Engines that follow each other. Policies come and go while the hierarchy runs: an engine that has others is a second
 * object on the same maps. sched_ext does not let operations be replaced, so those that are attached only jump to where
 * user space has put the programs of the engine of the day; at first that is their own object. Nothing is held up when
 * it puts others there: both engines work on one domain, under one lock, and agree on all of it.
 *
 * That an attached operation does nothing else has another reason: a program that may jump has less stack.
 */
#ifndef HLS_BPF_JUMPS_H
#define HLS_BPF_JUMPS_H

#include "rescue.h"

/*
 * Where the engine of the day has its program for an operation. The kernel wants all in such a map to be of one
 * kind.
 */
#define CURRENT_PROGRAM(operation)                     \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, 1);                \
		__type(key, u32);                      \
		__type(value, u32);                    \
	} jump_##operation SEC(".maps")

/*
 * A jump by a number that the verifier knows is one in the machine's code, which must be changed, before all CPUs, for
 * it to lead elsewhere. So only what every switch goes through jumps like that; the others look up where to.
 */
static volatile u32 by_lookup;

/* What is attached for an operation, or given to user space. `kind` is the section that tells libbpf what it is. */
#define JUMP(kind, operation, number)                          \
	CURRENT_PROGRAM(operation);                            \
	SEC(kind)                                              \
	int hls_##operation(u64 *ctx)                          \
	{                                                      \
		bpf_tail_call(ctx, &jump_##operation, number); \
		return 0;                                      \
	}

JUMP("struct_ops/hls_dispatch", dispatch, 0)
JUMP("struct_ops/hls_quiescent", quiescent, 0)
JUMP("struct_ops.s/hls_init", init, by_lookup)
JUMP("struct_ops/hls_disable", disable, by_lookup)
JUMP("struct_ops/hls_yielded", yielded, by_lookup)
JUMP("struct_ops.s/hls_init_task", init_task, by_lookup)
JUMP("struct_ops/hls_exit_task", exit_task, by_lookup)
JUMP("struct_ops/hls_set_cpumask", set_cpumask, by_lookup)
JUMP("struct_ops/hls_cpu_online", cpu_online, by_lookup)
JUMP("struct_ops/hls_cpu_offline", cpu_offline, by_lookup)

/*
 * The same for threads that are runnable. When the process that has the maps ends, these are emptied a moment before
 * all is detached; in it whoever wants a CPU waits in the kernel's own queue, or that process might never come to its
 * end.
 */
CURRENT_PROGRAM(enqueue);
SEC("struct_ops/hls_enqueue")
int hls_enqueue(u64 *ctx)
{
	bpf_tail_call(ctx, &jump_enqueue, 0);
	insert((struct task_struct *)ctx[0], SCX_DSQ_LOCAL, SLICE_NS, ctx[1]);
	return 0;
}

/* The same for what threads call. Its context is as long as this program says, not as the one that it jumps to does. */
CURRENT_PROGRAM(post);
SEC("syscall")
int hls_post(struct message *ctx)
{
	ctx->answer = -HLS_E_NOT_FOUND;
	bpf_tail_call(ctx, &jump_post, by_lookup);
	return 0;
}

static int on_timer(void *map, u32 *key, struct cpu_timer *t);

/* This is the engine of the day: timers call it from now on. */
SEC("syscall")
int take_over_timers(void *ctx)
{
	USES(arena);
	(void)ctx;
	s64 error = 0;
	if (!domain->has_begun)
		return 0;
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && !error && can_loop; cpu++) {
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
