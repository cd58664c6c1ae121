/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that are killed. Their threads must run to end, and those that wait for a CPU get one for a moment at once,
 * and again until they have ended: a process is not to outlive kill -9 because its scheduler gives it no CPU. Such a
 * thread never comes back to user space, so that nobody gains by it. Others lose 5 ms of a CPU to such threads in a
 * row, and a twentieth in the long run, as they do to starved ones.
 *
 * A tracepoint tells of signals: sched_ext says nothing of them before a thread runs again. A process that ends by
 * itself, or by a signal that dumps core, is not seen here before somebody kills it as well.
 *
 * Needs the maps of rescue.h and of news.h.
 */
#ifndef HLS_BPF_ENDS_H
#define HLS_BPF_ENDS_H

#include "news.h"
#include "rescue.h"

#define SIGNAL_GROUP_EXIT 4      /* of a signal_struct's flags: all threads of the process end */
#define TRACE_SIGNAL_DELIVERED 0 /* the signal counts: a process that ends takes no further one */

/* Threads at most that a decision looks at for one that it can let end. */
#define DYING_LOOKS 8

/*
 * Has a CPU that the dying thread of v may use give it a moment. Returns that CPU, as a mask; 0: none, since the thread
 * does not wait, or there is none. To be called under the lock.
 */
HLS_GLOBAL_FUNC u64 list_dying(u32 v)
{
	if (v >= HLS_MAX_VPS)
		return 0;
	struct engine_thread __arena *t = &domain->thread[v];
	u64 usable = t->cpus & ~domain->hls.offline;
	if (!t->queued_at_ns || t->is_listed || !usable)
		return 0;
	u32 cpu = domain->hls.vp[v].cpu & (HLS_MAX_CPUS - 1);
	if (!((usable >> cpu) & 1))
		cpu = __builtin_ctzll(usable);
	t->is_listed = true;
	t->next_dying = domain->cpu[cpu].dying;
	domain->cpu[cpu].dying = v;
	return 1ULL << cpu;
}

/* Takes the first thread out of the CPU's list of dying ones; returns its VP. */
static __always_inline u32 next_dying(struct engine_cpu __arena *c)
{
	u32 v = c->dying;
	c->dying = domain->thread[v].next_dying;
	domain->thread[v].is_listed = false;
	return v;
}

/* Whether dying threads wait for a CPU, and may have it by now: they may be ahead of their rate by a turn. */
static __always_inline bool are_dying_due(const struct engine_cpu __arena *c, u64 now)
{
	return c->dying && now + RESCUE_LONGEST_TURN_NS >= c->dying_paid_ns;
}

/* Gives a dying thread that waits for this CPU a moment; whether there is one. From dispatch(), under the lock. */
HLS_GLOBAL_FUNC bool insert_dying(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	if (!are_dying_due(c, now)) {
		set_timer_no_later(cpu, c->dying_paid_ns - RESCUE_LONGEST_TURN_NS, now);
		return false;
	}
	for (u32 i = opaque(0); i < DYING_LOOKS && c->dying && can_loop; i++) {
		u32 v = next_dying(c);
		const struct engine_thread __arena *t = &domain->thread[v];
		/* It may have had a CPU meanwhile, and have ended; the VP may be another thread's. */
		if (!t->is_dying || !t->queued_at_ns)
			continue;
		if ((t->cpus >> cpu) & 1) {
			begin_moment(cpu, v, now);
			return true;
		}
		/* It has another affinity by now: one of those CPUs is to decide, and is kicked as for the core. */
		domain->hls.kick |= list_dying(v);
	}
	if (c->dying)
		set_timer_no_later(cpu, now, now);
	return false;
}

/*
 * The thread that this word names has been told to end. The caller has read the word without the lock: since then the
 * thread may have gone, and another thread may have the VP.
 */
HLS_GLOBAL_FUNC u32 let_end(u64 word)
{
	unsigned long irq;
	u64 due = 0;
	u32 v = vp_number(word);
	if (v >= HLS_MAX_VPS)
		return 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		if (is_still_of(v, word >> VP_NUMBER_BITS)) {
			domain->thread[v].is_dying = true;
			due = list_dying(v);
		}
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return 0;
}

/* All threads of p's process have been told to end. */
static __always_inline void let_all_end(struct task_struct *p)
{
	struct bpf_iter_task threads;
	struct task_struct *t;
	bpf_iter_task_new(&threads, p, BPF_TASK_ITER_PROC_THREADS);
	while ((t = bpf_iter_task_next(&threads))) {
		u64 word = kept_word(t);
		if (word)
			let_end(word);
	}
	bpf_iter_task_destroy(&threads);
}

/* A signal was sent to p. Where p, the first thread of a process, has gone before the others, it has no VP. */
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
