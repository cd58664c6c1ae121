/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Changes of a VP's state, and what they make due above and below it.
 *
 * An `up` of a scheduler is a VP that it holds of a parent. A scheduler requests an up for each child that wants a CPU,
 * as far as it has ups. A change of what it wants is put off until the event at hand is dealt with (settle_later,
 * and settle_pending in several.c).
 */
#ifndef HLS_STATES_H
#define HLS_STATES_H

#include "dispatch.h"

/*
 * How many of its ups a scheduler ought to have requested: one for each child that wants a CPU; a join, all. A faulty
 * scheduler would choose no child: it keeps the CPUs that it has and requests none.
 */
static __always_inline u32 nr_wanted(const scheduler_t *sched)
{
	u32 wants = sched->nr_ready + sched->nr_running;
	if (unlikely(hls_is_faulty(sched)))
		return sched->nr_running;
	if (wants > sched->nr_up || (wants && sched->joins))
		return sched->nr_up;
	return wants;
}

/* To be called where nr_wanted() of s may have changed. */
static __always_inline void settle_later(hls_t *h, u32 s)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	if (unlikely(sched->nr_requested != nr_wanted(sched)))
		add_pending(h, s);
}

static __always_inline bool is_single(const scheduler_t *sched)
{
	return sched->nr_up == 1 && !sched->refused && !sched->joins;
}

/* To be called where a value that is_single() reads has changed. */
static __always_inline void note_single(scheduler_t *sched)
{
	sched->single = is_single(sched);
}

/* hls_emit() for a caller that has a pointer to the VP v already. */
static __always_inline void emit(hls_t *h, const vp_t *vp, u32 v, u32 kind)
{
	if (unlikely(vp->flags & HLS_WATCHED))
		hls_record_change(h, v, kind, 0, 0);
}

/* The VP v, which is watched, or pinned, or both, is READY. */
HLS_RARE_FUNC u32 note_request(hls_t *h __arg_arena, u32 v)
{
	hls_emit(h, v, HLS_REC_REQUEST, 0, 0);
	if (h->vp[v].flags & HLS_PINNED)
		wanting_add_pinned(h, v);
	return 0;
}

/* WAITING -> READY, by the scheduler `below`, NULL: by a thread. The caller tells the scheduler above next. */
static __always_inline void become_ready(hls_t *h, vp_t *vp, u32 v, scheduler_t *below)
{
	vp->state = HLS_READY;
	if (unlikely(vp->flags & (HLS_WATCHED | HLS_PINNED)))
		note_request(h, v);
	if (below)
		below->nr_requested++;
}

/* READY -> WAITING: v no longer wants a CPU. */
HLS_GLOBAL_FUNC u32 withdraw(hls_t *h __arg_arena, u32 v)
{
	vp_t *vp = &h->vp[v];
	if (vp->parent) {
		policy_withdraw(h, vp->parent, v);
		if (!(vp->flags & HLS_THROTTLED)) {
			h->scheduler[vp->parent].nr_ready--;
			wanting_remove(h, v);
		}
		settle_later(h, vp->parent);
	}
	/* The next request of v starts afresh: nothing of this one goes on. */
	vp->flags &= ~(HLS_THROTTLED | HLS_RESUMED | HLS_STALLED);
	vp->state = HLS_WAITING;
	if (vp->child) {
		vp->usable = HLS_NEVER;
		vp->flags &= ~HLS_PINNED;
		h->scheduler[vp->child].nr_requested--;
		settle_later(h, vp->child);
	}
	hls_emit(h, v, HLS_REC_RELEASE, 0, 0);
	return 0;
}

/* The clock of a CPU: the time minus its stolen time (hls_steal). */
static __always_inline u64 clock_of(const hls_t *h, u32 cpu)
{
	return h->now_ns - h->cpu[cpu].stolen_ns;
}

/* Charges a RUNNING VP up to now; returns its CPU time since it was last granted or charged. */
static __always_inline u64 charge(vp_t *vp, u64 clock)
{
	u64 used_ns = clock - vp->granted_at;
	vp->granted_at = clock;
	vp->ran_ns += used_ns;
	return used_ns;
}

/* The slice at `level` has another end than before: brings first_expiry of the levels below it up to date. */
static __always_inline void update_expiries(cpu_t *c, u32 level)
{
	u64 first = c->path[level].first_expiry;
	for (u32 i = level + 1; i < c->depth && i <= HLS_MAX_DEPTH && can_loop; i++) {
		if (c->path[i].expires_at < first)
			first = c->path[i].expires_at;
		c->path[i].first_expiry = first;
	}
}

/* The child that is RUNNING by the VP u; 0: none, or its scheduler is going to choose anew there anyway. */
static __always_inline u32 running_below(hls_t *h, u32 u)
{
	vp_t *up = &h->vp[u];
	cpu_t *c = &h->cpu[up->cpu];
	if (up->state != HLS_RUNNING || ((c->resched >> (up->level + 1)) & 1))
		return 0;
	return c->path[up->level + 1].vp;
}

#endif
