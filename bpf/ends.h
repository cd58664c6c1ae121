/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that are killed. Their threads must run to end, and those that wait for a CPU get one for a moment at once,
 * and again until they have ended (urgent.h): a process must not outlive kill -9 because its scheduler gives it no CPU.
 * Such a thread never comes back to user space, so no process gains by it.
 *
 * A tracepoint reports signals: sched_ext reports nothing before a thread runs again. A process that ends by itself, or
 * by a signal that dumps core, is not seen here unless it is also killed.
 */
#ifndef HLS_BPF_ENDS_H
#define HLS_BPF_ENDS_H

#include "news.h"
#include "urgent.h"

#define SIGNAL_GROUP_EXIT 4      /* of a signal_struct's flags: all threads of the process end */
#define TRACE_SIGNAL_DELIVERED 0 /* the signal counts: a process that ends takes no other */

/* All threads of p's process have been told to end. */
static __always_inline void let_all_end(struct task_struct *p)
{
	struct bpf_iter_task threads;
	struct task_struct *t;
	bpf_iter_task_new(&threads, p, BPF_TASK_ITER_PROC_THREADS);
	while ((t = bpf_iter_task_next(&threads))) {
		u64 word = kept_word(t);
		if (word)
			hurry(word, true, 0);
	}
	bpf_iter_task_destroy(&threads);
}

/* A signal was sent to p. If p, the first thread of a process, has gone before the others, it has no VP. */
SEC("tp_btf/signal_generate")
int hls_signalled(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[2];
	if (!(p->signal->flags & SIGNAL_GROUP_EXIT))
		return 0;
	u32 v = kept_vp(p);
	bool is_told = v ? v < HLS_MAX_VPS && domain->thread[v].is_dying : (int)ctx[4] != TRACE_SIGNAL_DELIVERED;
	if (!is_told)
		let_all_end(p);
	return 0;
}

#endif
