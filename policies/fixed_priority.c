/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fixed priority, preemptive (RTSS 2001, section 5.1).
 *
 * The READY VP of the highest priority runs. The paper admits one VP a level; here several may share one, and take
 * turns of a quantum: then the calculus promises nothing to any of them.
 */
#include "../core/policy.h"

#define FIXED_PRIORITY_LEVELS 64

#define FIXED_PRIORITY_PARAMS(P)                                                          \
	P(FIXED_PRIORITY_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "turn of each VP when several share a level")
#define FIXED_PRIORITY_VP_PARAMS(P)                                                                   \
	P(FIXED_PRIORITY_PRIORITY, "priority", HLS_COUNT, HLS_REQUIRED, 0, FIXED_PRIORITY_LEVELS - 1, \
	  "level of the VP; the greatest runs first")

enum { FIXED_PRIORITY_PARAMS(HLS_PARAM_INDEX) };
enum { FIXED_PRIORITY_VP_PARAMS(HLS_PARAM_INDEX) };

struct fixed_priority {
	u64 occupied; /* bit n: queue[n] is not empty */
	struct hls_list queue[FIXED_PRIORITY_LEVELS];
	u32 registered[FIXED_PRIORITY_LEVELS];
};

struct fixed_priority_vp {
	u64 left_ns; /* of its turn */
	u64 level;   /* under which it is registered */
};

POLICY_FITS(struct fixed_priority, struct fixed_priority_vp);

static s64 fixed_priority_register_vp(hls_t *h, u32 s, u32 v)
{
	u64 level = h->vp[v].param[FIXED_PRIORITY_PRIORITY];
	POLICY_VP(struct fixed_priority_vp, v)->level = level;
	POLICY_STATE(struct fixed_priority, s)->registered[level]++;
	return 0;
}

static void fixed_priority_unregister_vp(hls_t *h, u32 s, u32 v)
{
	POLICY_STATE(struct fixed_priority, s)->registered[POLICY_VP(struct fixed_priority_vp, v)->level]--;
}

static void fixed_priority_request(hls_t *h, u32 s, u32 v)
{
	struct fixed_priority ARENA *fp = POLICY_STATE(struct fixed_priority, s);
	struct fixed_priority_vp ARENA *vp = POLICY_VP(struct fixed_priority_vp, v);
	vp->left_ns = h->scheduler[s].param[FIXED_PRIORITY_QUANTUM];
	list_push_tail(h->node, &fp->queue[vp->level], v);
	fp->occupied |= 1ULL << vp->level;
}

static void fixed_priority_dequeue(hls_t *h, struct fixed_priority ARENA *fp, u64 level, u32 v)
{
	list_remove(h->node, &fp->queue[level], v);
	if (!fp->queue[level].head)
		fp->occupied &= ~(1ULL << level);
}

static void fixed_priority_withdraw(hls_t *h, u32 s, u32 v)
{
	fixed_priority_dequeue(h, POLICY_STATE(struct fixed_priority, s),
			       POLICY_VP(struct fixed_priority_vp, v)->level, v);
}

static u32 fixed_priority_grant(hls_t *h, u32 s, u32 cpu)
{
	struct fixed_priority ARENA *fp = POLICY_STATE(struct fixed_priority, s);
	u64 occupied = fp->occupied;
	for (u32 i = 0; i < FIXED_PRIORITY_LEVELS && occupied && can_loop; i++) {
		u32 level = hls_top_bit(occupied);
		u32 v = hls_first_usable(h, &fp->queue[level], cpu);
		if (likely(v)) {
			fixed_priority_dequeue(h, fp, level, v);
			if (unlikely(fp->registered[level] > 1))
				h->slice_ns = POLICY_VP(struct fixed_priority_vp, v)->left_ns;
			return v;
		}
		occupied &= ~(1ULL << level);
	}
	return 0;
}

static void fixed_priority_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct fixed_priority ARENA *fp = POLICY_STATE(struct fixed_priority, s);
	struct fixed_priority_vp ARENA *vp = POLICY_VP(struct fixed_priority_vp, v);
	if (hls_turn_over(h, v, &vp->left_ns, used_ns)) {
		vp->left_ns = h->scheduler[s].param[FIXED_PRIORITY_QUANTUM];
		list_push_tail(h->node, &fp->queue[vp->level], v);
	} else {
		list_push_head(h->node, &fp->queue[vp->level], v);
	}
	fp->occupied |= 1ULL << vp->level;
}

static void fixed_priority_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* The next request begins a new turn. */
}

static bool fixed_priority_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(struct fixed_priority_vp, ready)->level >
	       POLICY_VP(struct fixed_priority_vp, running)->level;
}

/* The occupied levels are those with a queue. */
static bool fixed_priority_check_invariants(hls_t *h, u32 s)
{
	struct fixed_priority ARENA *fp = POLICY_STATE(struct fixed_priority, s);
	for (u32 level = 0; level < FIXED_PRIORITY_LEVELS && can_loop; level++)
		if (((fp->occupied >> level) & 1) != (fp->queue[level].head != 0))
			return false;
	return true;
}

#define fixed_priority_init hls_no_init
#define fixed_priority_deinit hls_no_init
#define fixed_priority_timer hls_no_timer
