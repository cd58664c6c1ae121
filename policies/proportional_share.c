/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Proportional share: start-time fair queuing (P. Goyal, X. Guo, H. M. Vin, "A Hierarchical CPU Scheduler for
 * Multimedia Operating Systems", OSDI 1996) with a warp as in BVT (K. J. Duda, D. R. Cheriton, SOSP 1999), which is
 * what HLS has (RTSS 2001, section 5.1). At zero warp it is SFQ.
 *
 * A VP that is requested gets the start tag S = max(v, F). After it ran for `used`, its finish tag is F = S + used /
 * share, which is its next S if it is READY still. The VP with the least S - warp / share runs, for a quantum. The
 * virtual time v is the S of the VP that runs; where a VP has a warp, the least S of all; when no VP wants the CPU, the
 * greatest F.
 *
 * On one CPU no S is below v. On several CPUs one may be: v is the S of the VP that was chosen last on any CPU, and a
 * VP that can use only a busy CPU, or has a greater share than a CPU gives it, falls behind. It may be behind by
 * PROPORTIONAL_SHARE_MOST_BEHIND_NS of its CPU time at most: otherwise it could keep VPs that can use only that CPU
 * from it for as long as it fell behind.
 *
 * A warp is CPU time of its VP, which the VP's share turns into virtual time. So what the warp may cost the other VPs
 * does not depend on which VPs are registered, and their guarantees hold while VPs come and go.
 */
#include "../core/virtual_time.h"

#define PROPORTIONAL_SHARE_PARAMS(P)                                                          \
	P(PROPORTIONAL_SHARE_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "how long a VP runs before others are considered")
#define PROPORTIONAL_SHARE_VP_PARAMS(P)                                                                      \
	P(PROPORTIONAL_SHARE_SHARE, "share", HLS_COUNT, 1, 1, 131072, "weight of the VP among its siblings") \
	P(PROPORTIONAL_SHARE_WARP, "warp", HLS_TIME, 0, 0, HLS_S(3600),                                      \
	  "CPU time that the VP may get ahead of its turn")
#define PROPORTIONAL_SHARE_MESSAGES(M)

enum { PROPORTIONAL_SHARE_PARAMS(HLS_PARAM_INDEX) };
enum { PROPORTIONAL_SHARE_VP_PARAMS(HLS_PARAM_INDEX) };

#define PROPORTIONAL_SHARE_MOST_BEHIND_NS HLS_MS(100)

struct proportional_share {
	u64 virtual_time;
	u64 last_finish; /* the greatest F */
	struct hls_queue
	    ready;     /* by S - warp; VPs with a warp lie in the search tree, too, as if they were pinned */
	u32 starts;    /* heap by S of the VPs in that search tree: their order there is not the one of S */
	u32 nr_warped; /* registered VPs with a warp */
};

struct proportional_share_vp {
	struct virtual_account tag; /* S; of a VP that is not RUNNING, F */
	u64 released_at;
};

POLICY_WORDS(proportional_share);

static s64 proportional_share_register_vp(hls_t *h, u32 s, u32 v)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	ps->nr_warped += h->vp[v].param[PROPORTIONAL_SHARE_WARP] != 0;
	return 0;
}

static void proportional_share_unregister_vp(hls_t *h, u32 s, u32 v)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	ps->nr_warped -= h->vp[v].param[PROPORTIONAL_SHARE_WARP] != 0;
}

/* S - warp / share */
static u64 proportional_share_key(hls_t *h, u32 v)
{
	const vp_t *vp = in_register(&h->vp[v]);
	u64 start = POLICY_VP(proportional_share, v)->tag.used, warp_ns = vp->param[PROPORTIONAL_SHARE_WARP];
	if (likely(!warp_ns))
		return start;
	return start - virtual_of(warp_ns, vp->param[PROPORTIONAL_SHARE_SHARE]);
}

/* Whether v lies in the search tree of the queue. */
static bool proportional_share_is_apart(hls_t *h, u32 v)
{
	return queue_is_pinned(h, v) || unlikely(h->vp[v].param[PROPORTIONAL_SHARE_WARP]);
}

static void proportional_share_enqueue(hls_t *h, u32 s, u32 v)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	u64 start = POLICY_VP(proportional_share, v)->tag.used;
	if (likely(!proportional_share_is_apart(h, v))) {
		queue_push_heap(h, &ps->ready.heap, v, start, h->seq++);
		return;
	}
	queue_push_tree(h, &ps->ready.tree, v, proportional_share_key(h, v), h->seq);
	heap_push(h, &ps->starts, v, start, h->seq++);
}

static void proportional_share_dequeue(hls_t *h, u32 s, u32 v)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	if (!proportional_share_is_apart(h, v)) {
		heap_remove(h, &ps->ready.heap, v);
		return;
	}
	queue_remove_tree(h, &ps->ready.tree, v);
	heap_remove(h, &ps->starts, v);
}

static void proportional_share_request(hls_t *h, u32 s, u32 v)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	proportional_share_vp_t *vp = POLICY_VP(proportional_share, v);
	bool forgotten = h->now_ns - vp->released_at > VIRTUAL_FORGET_NS;
	if (forgotten || virtual_before(vp->tag.used, ps->virtual_time))
		virtual_skip_to(&vp->tag, ps->virtual_time);
	proportional_share_enqueue(h, s, v);
}

static void proportional_share_withdraw(hls_t *h, u32 s, u32 v)
{
	proportional_share_dequeue(h, s, v);
	POLICY_VP(proportional_share, v)->released_at = h->now_ns;
}

/* `least`, or the S of v if that is less; v is a VP or 0. */
static u64 proportional_share_lesser(hls_t *h, u32 v, u64 least)
{
	u64 start = v ? POLICY_VP(proportional_share, v)->tag.used : least;
	return virtual_before(start, least) ? start : least;
}

/* The least of `least` and of the S of all VPs that are READY or RUNNING. */
HLS_RARE_FUNC u64 proportional_share_least_start(hls_t *h __arg_arena, u32 s, u64 least)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	least = proportional_share_lesser(h, ps->ready.heap, least);
	least = proportional_share_lesser(h, ps->starts, least);
	for_each_up (h, u, s)
		least = proportional_share_lesser(h, hls_running_by(h, s, u), least);
	return least;
}

/* The VP v, which has left the queue, runs from now on. */
static void proportional_share_serve(hls_t *h, u32 s, u32 v)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	u64 start = POLICY_VP(proportional_share, v)->tag.used;
	if (ps->nr_warped)
		start = proportional_share_least_start(h, s, start);
	if (virtual_before(ps->virtual_time, start))
		ps->virtual_time = start;
	h->slice_ns = in_register(&h->scheduler[s])->param[PROPORTIONAL_SHARE_QUANTUM];
}

/* proportional_share_grant() where VPs lie in the search tree. */
HLS_RARE_BODY u32 proportional_share_grant_any(hls_t *h, u32 s, u32 cpu)
{
	u32 v = queue_first_usable(h, &POLICY_STATE(proportional_share, s)->ready, cpu);
	if (v) {
		proportional_share_dequeue(h, s, v);
		proportional_share_serve(h, s, v);
	}
	return v;
}

static __always_inline u32 proportional_share_grant(hls_t *h, u32 s, u32 cpu)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	u32 v = ps->ready.heap;
	if (unlikely(ps->ready.tree))
		return proportional_share_grant_any(h, s, cpu);
	heap_pop(h, &ps->ready.heap);
	proportional_share_serve(h, s, v);
	return v;
}

/* v ran for used_ns: F = S + used / share. */
static void proportional_share_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	proportional_share_vp_t *vp = POLICY_VP(proportional_share, v);
	u64 share = in_register(&h->vp[v])->param[PROPORTIONAL_SHARE_SHARE];
	virtual_charge(&vp->tag, share, used_ns);
	if (virtual_before(ps->last_finish, vp->tag.used))
		ps->last_finish = vp->tag.used;
}

/* v, which goes on, is behind the virtual time: not by too much. */
static void proportional_share_catch_up(hls_t *h, u32 s, u32 v)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	proportional_share_vp_t *vp = POLICY_VP(proportional_share, v);
	u64 share = in_register(&h->vp[v])->param[PROPORTIONAL_SHARE_SHARE];
	u64 least = ps->virtual_time - virtual_of(PROPORTIONAL_SHARE_MOST_BEHIND_NS, share);
	if (virtual_before(vp->tag.used, least))
		vp->tag.used = least;
}

static void proportional_share_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	proportional_share_charge(h, s, v, used_ns);
	if (unlikely(virtual_before(POLICY_VP(proportional_share, v)->tag.used,
				    POLICY_STATE(proportional_share, s)->virtual_time)))
		proportional_share_catch_up(h, s, v);
	proportional_share_enqueue(h, s, v);
}

static void proportional_share_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	proportional_share_t *ps = POLICY_STATE(proportional_share, s);
	proportional_share_charge(h, s, v, used_ns);
	POLICY_VP(proportional_share, v)->released_at = h->now_ns;
	const scheduler_t *sched = in_register(&h->scheduler[s]);
	if (!(sched->nr_ready | sched->nr_running))
		ps->virtual_time = ps->last_finish;
}

/* Where no VP has a warp the answer is no: no S of a new request is below the S of a VP that runs. */
static bool proportional_share_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return virtual_before(proportional_share_key(h, ready), proportional_share_key(h, running));
}

static const struct hls_policy proportional_share_policy = {
    .name = "proportional-share",
    .what = "CPU time in proportion to shares: SFQ with warp",
    .source = "Goyal et al., OSDI 1996; BVT, SOSP 1999",
    .inline_hooks = true,
    .may_be_default = true,
    .may_serve_hls = true,
    .register_vp = proportional_share_register_vp,
    .unregister_vp = proportional_share_unregister_vp,
    .request = proportional_share_request,
    .withdraw = proportional_share_withdraw,
    .grant = proportional_share_grant,
    .revoke = proportional_share_revoke,
    .release = proportional_share_release,
    .preempts = proportional_share_preempts,
};
