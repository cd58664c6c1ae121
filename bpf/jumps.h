/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a running engine is replaced by a newer one. Policies are loaded and unloaded while the hierarchy runs: each time
 * user space loads a second engine, built with the new set of policies, which uses the maps of the first. sched_ext
 * does not let attached operations be replaced. So the attached operations only jump, by maps of programs, to the
 * programs of the current engine, which user space puts into the maps; at first these are the programs of their own
 * object. Nothing waits for a change: both engines work on the same domain, under the same lock, with the same layout.
 *
 * Another reason why an attached operation does nothing else: a program that may jump has less stack.
 */
#ifndef HLS_BPF_JUMPS_H
#define HLS_BPF_JUMPS_H

#include "maps.h"

/*
 * The current engine's program for an operation. One map for each: the kernel requires that all programs of a map are
 * of the same kind.
 */
#define CURRENT_PROGRAM(operation)                     \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, 1);                \
		__type(key, u32);                      \
		__type(value, u32);                    \
	} jump_##operation SEC(".maps")

/*
 * 0, hidden from the verifier. If the verifier knows the index of a jump, the kernel makes the jump direct, and must
 * patch machine code to lead it elsewhere. That is for the operations that every switch calls; the others look the
 * program up in the map each time.
 */
static volatile u32 by_lookup;

/* The program that is attached for an operation. `kind`: the section, which tells libbpf the kind of the program. */
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
JUMP("struct_ops/hls_yielded", yielded, by_lookup)
JUMP("struct_ops/hls_exit_task", exit_task, by_lookup)

/*
 * The operation for threads that are runnable. When the process that holds the maps ends, the kernel empties them a
 * moment before it detaches the operations. In that time threads go into the kernel's own queue: that process could not
 * end if it waited for a decision.
 */
CURRENT_PROGRAM(enqueue);
SEC("struct_ops/hls_enqueue")
int hls_enqueue(u64 *ctx)
{
	bpf_tail_call(ctx, &jump_enqueue, 0);
	insert((struct task_struct *)ctx[0], SCX_DSQ_LOCAL, SLICE_NS, ctx[1]);
	return 0;
}

/*
 * The program by which threads send messages. The kernel takes the context's length from this one, not from its
 * target.
 */
CURRENT_PROGRAM(post);
SEC("syscall")
int hls_post(struct message *ctx)
{
	ctx->what = ASK_MESSAGE;
	ctx->answer = -HLS_E_NOT_FOUND;
	bpf_tail_call(ctx, &jump_post, by_lookup);
	return 0;
}

/*
 * Without timers: called at each expiry of a timer of the kernel's own. A program of perf's clock itself would not do:
 * the kernel skips such programs on a CPU where a thread was preempted in an access to a BPF map.
 */
JUMP("tp_btf/hrtimer_expire_entry", pulse, by_lookup)

#endif
