/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Notifications that travel up the hierarchy: what a thread's wake-up, its blocking and its yielding do to the VPs
 * above it. Nothing here gives or takes a CPU; it marks the CPUs where hls_schedule() is to decide anew.
 *
 * Words of this file: an `up` of a scheduler is a VP that it holds of a parent. A scheduler requests an up for each
 * child that wants a CPU, as far as it has ups. What a change makes necessary elsewhere is put off (`settle_later`,
 * `add_seeker`) until the event at hand is dealt with (`settle_pending`).
 */
#include "dispatch.h"
#include "user_pages.h"

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

/* The child that is RUNNING by the VP u; 0: none, or its scheduler is going to choose anew there anyway. */
static __always_inline u32 running_below(hls_t *h, u32 u)
{
	vp_t *up = &h->vp[u];
	cpu_t *c = &h->cpu[up->cpu];
	if (up->state != HLS_RUNNING || ((c->resched >> (up->level + 1)) & 1))
		return 0;
	return c->path[up->level + 1].vp;
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
static __always_inline void note_wish(hls_t *h, u32 v)
{
	const vp_t *vp = &h->vp[v];
	if (h->scheduler[vp->parent].nr_up > 1 && !(vp->flags & (HLS_PINNED | HLS_THROTTLED)))
		wanting_link(h, v);
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
			note_wish(h, asked);
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
			vp->suspension = HLS_SUSPENDED_WISH;
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
			note_wish(h, v);
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
		vp->suspension = HLS_SUSPENDED_WISH;
		return 0;
	}
	become_ready(h, vp, v, NULL);
	sched->nr_ready++;
	if (!policy_request_inline(h, s, v))
		return 0;
	if (likely(sched->single))
		return request_above(h, v);
	note_wish(h, v);
	return v;
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

/* request_single() with all hooks called; out of line, so that what the caller does next has all of the stack. */
HLS_GLOBAL_FUNC u32 request_single_out_of_line(hls_t *h __arg_arena, u32 v)
{
	return request_single(h, v, 0, false);
}

/* Whether the thread of v wants a CPU, or has one. */
static bool wants_cpu(const vp_t *vp)
{
	return vp->state != HLS_WAITING || vp->suspension == HLS_SUSPENDED_WISH;
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

HLS_ENTRY u64 hls_request(hls_t *h __arg_arena, u32 v, u64 now_ns)
{
	request_thread(h, v, now_ns, false);
	return h->kick;
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

/* The child v of s, which holds several VPs, was RUNNING and is WAITING now. */
HLS_RARE_FUNC u32 note_end_of_wish(hls_t *h __arg_arena, u32 s, u32 v)
{
	if (!(h->vp[v].flags & HLS_PINNED))
		wanting_unlink(h, v);
	settle_later(h, s);
	return 0;
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
			note_end_of_wish(h, vp->parent, v);
	} else if (vp->state == HLS_READY) {
		withdraw(h, v);
	} else if (unlikely(vp->suspension)) {
		vp->suspension = HLS_SUSPENDED;
	}
	settle_pending(h);
}

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
	vp->changing = vp->state != HLS_WAITING && (vp->flags & HLS_WATCHED);
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
