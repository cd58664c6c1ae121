/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Notifications that travel up the hierarchy: what a thread's wake-up, its blocking and its yielding do to the VPs
 * above it. Nothing here gives or takes a CPU; it marks the CPUs where hls_schedule() is to decide anew.
 */
#include "states.h"
#include "user_pages.h"

/* u, the only up of a scheduler, is requested already: where v preempts the sibling that runs by u, decide anew. */
static __always_inline void compete(hls_t *h, u32 u, u32 v)
{
	const vp_t *vp = in_register(&h->vp[v]);
	u32 r = running_below(h, u);
	if (r && hls_usable(vp, h->vp[r].cpu) && policy_preempts_inline(h, vp->parent, v, r))
		hls_recheck(h, r);
}

/*
 * Requests the up of each scheduler, level by level from v upwards, while the scheduler is `single` (has one up) and
 * its up is WAITING. `child` is the VP below v that was requested before, 0: v is a thread's. Returns the VP from which
 * request_any() has to go on, because the scheduler above it has a choice; 0: all is done. inline_hooks: calls request
 * hooks by policy_request_inline(), for the path of a wake-up.
 */
static __always_inline u32 request_single(hls_t *h, u32 v, u32 child, bool inline_hooks)
{
	scheduler_t *below = child ? in_register(&h->scheduler[h->vp[child].parent]) : NULL;
	for (u32 i = 0; port_in_bounds(i <= HLS_MAX_DEPTH) && can_loop; i++) {
		vp_t *vp = in_register(&h->vp[v]);
		u32 s = vp->parent;
		scheduler_t *sched = in_register(&h->scheduler[s]);
		if (vp->state != HLS_WAITING) {
			if (child)
				compete(h, v, child);
			return 0;
		}
		if (unlikely(vp->suspension)) {
			vp->suspension = HLS_SUSPENDED_WANTING;
			return 0;
		}
		if (!s) {
			if (hls_usable(in_register(&h->vp[child]), vp->cpu)) {
				become_ready(h, vp, v, below);
				hls_mark(h, vp->cpu, 0);
			}
			return 0;
		}
		become_ready(h, vp, v, below);
		sched->nr_ready++;
		if (!(inline_hooks ? policy_request_inline(h, s, v) : policy_request(h, s, v)))
			return 0;
		if (unlikely(!sched->single)) {
			note_wanting(h, v);
			return v;
		}
		child = v;
		below = sched;
		v = sched->first_up;
	}
	return 0;
}

/* request_single() of the first up of the scheduler above the READY VP `child`, in the path of a wake-up. */
HLS_GLOBAL_FUNC u32 request_above(hls_t *h __arg_arena, u32 child)
{
	return request_single(h, h->scheduler[h->vp[child].parent].first_up, child, true);
}

/*
 * request_single() of a thread's VP v, in the path of a wake-up. The levels above the thread's scheduler are handled
 * out of line: so the caller has more of the stack, and the BPF verifier has less to follow.
 */
static __always_inline u32 request_fast(hls_t *h, u32 v)
{
	vp_t *vp = in_register(&h->vp[v]);
	u32 s = vp->parent;
	scheduler_t *sched = in_register(&h->scheduler[s]);
	if (vp->state != HLS_WAITING)
		return 0;
	if (unlikely(vp->suspension)) {
		vp->suspension = HLS_SUSPENDED_WANTING;
		return 0;
	}
	become_ready(h, vp, v, NULL);
	sched->nr_ready++;
	if (!policy_request_inline(h, s, v))
		return 0;
	if (likely(sched->single))
		return request_above(h, v);
	note_wanting(h, v);
	return v;
}

/* request_single() with all hooks called; out of line, so that what the caller does next has all of the stack. */
HLS_GLOBAL_FUNC u32 request_single_out_of_line(hls_t *h __arg_arena, u32 v)
{
	return request_single(h, v, 0, false);
}

/* Whether the thread of v wants a CPU, or has one. */
static bool wants_cpu(const vp_t *vp)
{
	return vp->state != HLS_WAITING || vp->suspension == HLS_SUSPENDED_WANTING;
}

/*
 * The thread of v wants a CPU. No effect if it does already; while v is suspended, no scheduler hears of it.
 * inline_hooks as in request_single().
 */
static __always_inline void request_thread(hls_t *h, u32 v, u64 now_ns, bool inline_hooks)
{
	h->now_ns = now_ns;
	u32 choice = inline_hooks ? request_fast(h, v) : request_single_out_of_line(h, v);
	if (unlikely(choice))
		request_any(h, choice);
	settle_pending(h);
}

/* The thread of v wants a CPU: see request_thread(). */
HLS_ENTRY u64 hls_request(hls_t *h __arg_arena, u32 v, u64 now_ns)
{
	request_thread(h, v, now_ns, false);
	return h->kick;
}

/* The thread of v no longer wants a CPU. No effect if it wants none. inline_hooks: calls policy_release_inline(). */
static __always_inline void release_thread(hls_t *h, u32 v, u64 now_ns, bool inline_hooks)
{
	vp_t *vp = in_register(&h->vp[v]);
	h->now_ns = now_ns;
	if (vp->state == HLS_RUNNING) {
		scheduler_t *sched = in_register(&h->scheduler[vp->parent]);
		u64 used_ns = charge(vp, clock_of(h, vp->cpu));
		vp->state = HLS_WAITING;
		vp->flags &= ~(HLS_YIELDED | HLS_STALLED);
		h->cpu[vp->cpu].path[vp->level].vp = 0;
		emit(h, vp, v, HLS_REC_RELEASE);
		sched->nr_running--;
		if (inline_hooks)
			policy_release_inline(h, vp->parent, v, used_ns, true);
		else
			policy_release(h, vp->parent, v, used_ns);
		hls_recheck(h, v);
		if (sched->nr_up > 1)
			note_end_of_wanting(h, vp->parent, v);
	} else if (vp->state == HLS_READY) {
		withdraw(h, v);
	} else if (unlikely(vp->suspension)) {
		vp->suspension = HLS_SUSPENDED;
	}
	settle_pending(h);
}

/* The thread of v no longer wants a CPU: see release_thread(). */
HLS_ENTRY u64 hls_release(hls_t *h __arg_arena, u32 v, u64 now_ns)
{
	release_thread(h, v, now_ns, false);
	return h->kick;
}

/*
 * The caller changes the thread's VP v: releases it, and requests it again after the change if its thread wants a CPU.
 * Such a thread wants a CPU all along, so that no record says that it slept or woke up; only that it lost its CPU, if
 * it had one. A function of its own, and not a part of the release, for the stack of the callers.
 */
HLS_GLOBAL_FUNC u32 begin_change(hls_t *h __arg_arena, u32 v, u64 now_ns)
{
	vp_t *vp = &h->vp[v];
	h->now_ns = now_ns;
	if (vp->state == HLS_RUNNING)
		emit(h, vp, v, HLS_REC_REVOKE);
	vp->flags &= ~HLS_CHANGING;
	if (vp->state != HLS_WAITING && (vp->flags & HLS_WATCHED))
		vp->flags |= HLS_CHANGING;
	return 0;
}

/*
 * The thread of v stalls: it would go on, but waits for memory or for a disk. As hls_release(); but when v wakes up,
 * its policy may compensate it for a sleep against its will (hls_has_stalled()).
 */
HLS_ENTRY u64 hls_stall(hls_t *h __arg_arena, u32 v, u64 now_ns)
{
	if (h->vp[v].state == HLS_WAITING)
		return h->kick;
	release_thread(h, v, now_ns, false);
	h->vp[v].flags |= HLS_STALLED;
	return h->kick;
}

/* The RUNNING thread of v lets other children of its scheduler go first, where the scheduler's policy has turns. */
HLS_ENTRY u64 hls_yield(hls_t *h __arg_arena, u32 v, u64 now_ns)
{
	h->now_ns = now_ns;
	if (h->vp[v].state != HLS_RUNNING)
		return h->kick;
	h->vp[v].flags |= HLS_YIELDED;
	hls_recheck(h, v);
	return h->kick;
}
