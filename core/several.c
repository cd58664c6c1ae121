/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests where there is a choice: above a scheduler that holds several VPs, on several CPUs or as a join, and for a
 * VP that cannot use every CPU (it is pinned). Where each scheduler has one VP, which can use every CPU, the
 * functions of notify.c do all that is to be done.
 *
 * A VP that wants a CPU and does not get the one at hand seeks another one (look_elsewhere), when the event at hand is
 * dealt with (settle_pending). A VP that is to take a CPU from a sibling claims it (claim_cpu), until the scheduler
 * chooses there. A scheduler refuses a CPU that none of its READY children can use: so its VP is pinned.
 */
#include "states.h"

/* The RUNNING VP v of a scheduler refuses its CPU. */
HLS_RARE_FUNC u32 pin_scheduler(hls_t *h __arg_arena, u32 v)
{
	vp_t *vp = &h->vp[v];
	if (!(vp->flags & HLS_PINNED))
		wanting_forget(h, v);
	vp->usable &= ~(1ULL << vp->cpu);
	vp->flags |= HLS_PINNED;
	h->scheduler[vp->child].refused = 1;
	note_single(&h->scheduler[vp->child]);
	return 0;
}

/* The VP v of a scheduler no longer refuses any CPU. v is not READY: a READY VP stays pinned, in search trees. */
static __always_inline void unpin_scheduler(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	vp->flags &= ~HLS_PINNED;
	if (vp->state == HLS_RUNNING && h->scheduler[vp->parent].nr_up > 1)
		wanting_link(h, v);
}

/* The pinned VP v has a CPU. */
HLS_RARE_FUNC u32 note_pinned_grant(hls_t *h __arg_arena, u32 v)
{
	wanting_remove_pinned(h, v);
	if (h->vp[v].child && h->vp[v].usable == HLS_NEVER)
		unpin_scheduler(h, v);
	return 0;
}

/*
 * The up of s to request next on behalf of its child v; 0: none. An up of a root scheduler is a whole CPU: the CPU that
 * v had last if it is free, else the first free one that v can use.
 */
static __always_inline u32 next_up(hls_t *h, u32 s, u32 v)
{
	u32 found = 0;
	for_each_up (h, u, s) {
		vp_t *up = &h->vp[u];
		if (up->state != HLS_WAITING)
			continue;
		if (up->parent)
			return u;
		if (!hls_usable(&h->vp[v], up->cpu))
			continue;
		if (up->cpu == h->vp[v].cpu)
			return u;
		if (!found)
			found = u;
	}
	return found;
}

/* Puts a READY VP into a list, h->seeking or a CPU's claims, unless it is in one already. */
static __always_inline void add_seeker(hls_t *h, u32 __arena *list, u32 v)
{
	vp_t *vp = &h->vp[v];
	if (vp->flags & HLS_SEEKING)
		return;
	vp->flags |= HLS_SEEKING;
	vp->seeking_next = *list;
	*list = v;
}

/*
 * Marks the CPU, if there is one, that s should take from a RUNNING child for its READY child v. Of the children that v
 * preempts, the victim is the one that the others would preempt. Until s chooses there, v has a claim to the CPU; if s
 * chooses another child, v seeks again.
 */
HLS_GLOBAL_FUNC u32 claim_cpu(hls_t *h __arg_arena, u32 s, u32 v)
{
	u32 victim = 0;
	for_each_up (h, u, s) {
		u32 r = running_below(h, u);
		if (r && hls_usable(&h->vp[v], h->vp[r].cpu) && policy_preempts(h, s, v, r) &&
		    (!victim || policy_preempts(h, s, victim, r)))
			victim = r;
	}
	if (!victim)
		return 0;
	hls_recheck(h, victim);
	if (h->scheduler[s].nr_up > 1)
		add_seeker(h, &h->cpu[h->vp[victim].cpu].claims, v);
	return 0;
}

/* The READY VP v cannot have the CPU at hand: after this decision, another CPU is looked for. */
static __always_inline void look_elsewhere(hls_t *h, u32 v)
{
	settle_later(h, h->vp[v].parent);
	add_seeker(h, &h->seeking, v);
}

/* The READY pinned VP v can use every CPU now: updates the search trees in which v lies. */
static __always_inline void raise_usable(hls_t *h, u32 v)
{
	if (h->wanting_node[v].height)
		tree_set_cpus(h->wanting_node, v, HLS_NEVER);
	if (h->queue_node[v].height)
		tree_set_cpus(h->queue_node, v, HLS_NEVER);
}

/* The up u of a scheduler no longer refuses any CPU. */
HLS_RARE_FUNC u32 lift_refusal(hls_t *h __arg_arena, u32 u)
{
	vp_t *up = &h->vp[u];
	if (up->usable == HLS_NEVER)
		return 0;
	up->usable = HLS_NEVER;
	if (up->state == HLS_READY) {
		raise_usable(h, u);
		look_elsewhere(h, u);
	} else {
		unpin_scheduler(h, u);
	}
	return 0;
}

/*
 * The children of s have changed: CPUs that the ups of s refused, because no thread could use them, may be usable now.
 */
HLS_GLOBAL_FUNC u32 lift_refusals(hls_t *h __arg_arena, u32 s)
{
	h->scheduler[s].refused = 0;
	note_single(&h->scheduler[s]);
	for_each_up (h, u, s)
		lift_refusal(h, u);
	return 0;
}

/* The VP v is READY: a scheduler above that holds several VPs finds v, if v is neither pinned nor throttled. */
static __always_inline void note_wanting(hls_t *h, u32 v)
{
	const vp_t *vp = &h->vp[v];
	if (h->scheduler[vp->parent].nr_up > 1 && !(vp->flags & (HLS_PINNED | HLS_THROTTLED)))
		wanting_link(h, v);
}

/* The child v of s, which holds several VPs, was RUNNING and is WAITING now. */
HLS_RARE_FUNC u32 note_end_of_wanting(hls_t *h __arg_arena, u32 s, u32 v)
{
	if (!(h->vp[v].flags & HLS_PINNED))
		wanting_unlink(h, v);
	settle_later(h, s);
	return 0;
}

/* Requests another up of s on behalf of its READY child v. Returns the up if it may get a CPU, else 0. */
static __always_inline u32 ask_parent(hls_t *h, u32 s, u32 v)
{
	scheduler_t *sched = &h->scheduler[s];
	if (unlikely(sched->refused))
		lift_refusals(h, s);
	if (sched->nr_requested >= nr_wanted(sched))
		return 0;
	u32 asked = next_up(h, s, v);
	vp_t *up = &h->vp[asked];
	if (asked) {
		become_ready(h, up, asked, sched);
		if (up->parent) {
			h->scheduler[up->parent].nr_ready++;
			policy_request(h, up->parent, asked);
			note_wanting(h, asked);
		} else {
			hls_mark(h, up->cpu, 0);
		}
	}
	/* There may be more to request: where v can use none of the free CPUs, on behalf of a sibling of v. */
	settle_later(h, s);
	if (!asked)
		return 0;
	return up->flags & HLS_THROTTLED ? 0 : asked;
}

/* Whether any CPU will do for the threads below v. */
static __always_inline bool unpinned(hls_t *h, u32 v)
{
	return !h->nr_pinned || (!h->vp[v].child && !(h->vp[v].flags & HLS_PINNED));
}

/*
 * Requests a CPU for the READY VP v, whatever choice the schedulers above it have: level by level, until a scheduler
 * has requested all that it may, or the machine has a free CPU. If no CPU is free, each scheduler on this way, from the
 * top down, decides anew if it prefers the VP on this way to a VP that it runs now.
 */
HLS_GLOBAL_FUNC u32 request_any(hls_t *h __arg_arena, u32 v)
{
	u32 n = opaque(0), choice = 0;
	for (u32 i = opaque(0); i < HLS_MAX_DEPTH && v && h->vp[v].parent && can_loop; i++) {
		u32 s = h->vp[v].parent;
		if (!choice && (h->scheduler[s].nr_up > 1 || h->scheduler[s].refused))
			choice = v;
		if (h->scheduler[s].nr_running || h->scheduler[s].nr_up > 1) {
			h->way[n & (HLS_MAX_DEPTH - 1)] = v;
			n++;
		}
		v = ask_parent(h, s, v);
	}
	bool free_cpu = v && unpinned(h, choice);
	u32 __arena *claims = &h->cpu[h->vp[v].cpu].claims;
	for (u32 i = opaque(0); i < HLS_MAX_DEPTH && n && can_loop; i++) {
		n--;
		u32 w = h->way[n & (HLS_MAX_DEPTH - 1)];
		scheduler_t *sched = &h->scheduler[h->vp[w].parent];
		if (free_cpu && sched->nr_up > 1)
			add_seeker(h, claims, w);
		else if (!free_cpu && sched->nr_running)
			claim_cpu(h, h->vp[w].parent, w);
	}
	return 0;
}

/* A READY child of s for which an up of s can be requested; 0: none. */
static __always_inline u32 child_to_place(hls_t *h, u32 s)
{
	u64 free = 0;
	for_each_up (h, u, s) {
		const vp_t *up = &h->vp[u];
		if (up->state == HLS_WAITING)
			free |= up->parent ? HLS_NEVER : 1ULL << up->cpu;
	}
	return free ? wanting_first(h, s, free) : 0;
}

/* An up of s that is READY, the last of the list; 0: none. */
static __always_inline u32 up_to_withdraw(hls_t *h, u32 s)
{
	u32 found = 0;
	for_each_up (h, u, s)
		if (h->vp[u].state == HLS_READY)
			found = u;
	return found;
}

/* Makes s request as many ups as it wants, or withdraw the ups that it does not need. */
static __always_inline void settle_requests(hls_t *h, u32 s)
{
	scheduler_t *sched = &h->scheduler[s];
	for (u32 i = opaque(0); i < HLS_MAX_VPS && can_loop; i++) {
		if (sched->nr_requested > nr_wanted(sched)) {
			u32 u = up_to_withdraw(h, s);
			if (!u)
				return; /* The surplus ups are RUNNING: hls_schedule() gives them up. */
			withdraw(h, u);
		} else {
			bool short_of = sched->nr_requested < nr_wanted(sched) && sched->nr_ready;
			u32 v = short_of ? child_to_place(h, s) : 0;
			if (!v)
				return;
			request_any(h, v);
		}
	}
}

/* Passes on what s has told to the schedulers above s that have the hook `told`. */
static __always_inline void pass_on_told(hls_t *h, u32 s)
{
	for_each_up (h, u, s) {
		vp_t *up = &h->vp[u];
		if (up->state == HLS_WAITING || !h->scheduler[up->parent].hears)
			continue;
		policy_told(h, up->parent, u);
		settle_later(h, up->parent);
		if (up->state == HLS_READY && !(up->flags & HLS_THROTTLED))
			add_seeker(h, &h->seeking, u);
	}
}

/* Does what was put off: first the schedulers in `pending`, then the VPs that seek a CPU. */
HLS_GLOBAL_FUNC u32 settle_all(hls_t *h __arg_arena)
{
	for (u32 i = opaque(0); i < HLS_MAX_VPS && (h->pending || h->seeking) && can_loop; i++) {
		if (h->pending) {
			u32 s = h->pending;
			h->pending = h->scheduler[s].pending_next;
			u8 why = h->scheduler[s].in_pending;
			h->scheduler[s].in_pending = 0;
			if (unlikely(why & HLS_HAS_TOLD))
				pass_on_told(h, s);
			settle_requests(h, s);
			continue;
		}
		u32 v = h->seeking;
		vp_t *vp = &h->vp[v];
		h->seeking = vp->seeking_next;
		vp->flags &= ~HLS_SEEKING;
		if (vp->state == HLS_READY && !(vp->flags & HLS_THROTTLED))
			request_any(h, v);
	}
	return 0;
}

/* Does what was put off, at the end of an event or a decision. */
static __always_inline void settle_pending(hls_t *h)
{
	if (unlikely(h->pending || h->seeking))
		settle_all(h);
}

/* The CPU is granted: all VPs that claimed it seek a CPU again, unless they got this one. */
static void pass_on_claims(hls_t *h, cpu_t *c)
{
	for (u32 i = opaque(0); i < HLS_MAX_VPS && c->claims && can_loop; i++) {
		u32 v = c->claims;
		c->claims = h->vp[v].seeking_next;
		h->vp[v].flags &= ~HLS_SEEKING;
		add_seeker(h, &h->seeking, v);
	}
}
