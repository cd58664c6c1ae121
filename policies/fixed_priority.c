/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fixed priority, preemptive (RTSS 2001, section 5.1).
 *
 * The READY VP of the highest priority runs. The paper allows one VP a level. Here several VPs may share a level, and
 * take turns of a quantum there: then the calculus promises none of them anything.
 */
#include "../core/levels.h"

#define FIXED_PRIORITY_PARAMS(P)                                                          \
	P(FIXED_PRIORITY_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "turn of each VP when several share a level")
#define FIXED_PRIORITY_VP_PARAMS(P)                                                        \
	P(FIXED_PRIORITY_PRIORITY, "priority", HLS_COUNT, HLS_REQUIRED, 0, HLS_LEVELS - 1, \
	  "level of the VP; the greatest runs first")
#define FIXED_PRIORITY_MESSAGES(M)

enum { FIXED_PRIORITY_PARAMS(HLS_PARAM_INDEX) };
enum { FIXED_PRIORITY_VP_PARAMS(HLS_PARAM_INDEX) };

struct fixed_priority {
	struct hls_levels ready;
	u32 nr_shared; /* levels at which several VPs are registered */
	u32 registered[HLS_LEVELS];
};

struct fixed_priority_vp {
	u64 left_ns; /* of its turn */
	u64 level;   /* at which it is registered */
};

POLICY_WORDS(fixed_priority);

static s64 fixed_priority_register_vp(hls_t *h, u32 s, u32 v)
{
	u64 level = h->vp[v].param[FIXED_PRIORITY_PRIORITY];
	POLICY_VP(fixed_priority, v)->level = level;
	fixed_priority_t *fp = POLICY_STATE(fixed_priority, s);
	fp->nr_shared += ++fp->registered[level] == 2;
	return 0;
}

static void fixed_priority_unregister_vp(hls_t *h, u32 s, u32 v)
{
	fixed_priority_t *fp = POLICY_STATE(fixed_priority, s);
	fp->nr_shared -= --fp->registered[POLICY_VP(fixed_priority, v)->level] == 1;
}

static void fixed_priority_request(hls_t *h, u32 s, u32 v)
{
	fixed_priority_vp_t *vp = POLICY_VP(fixed_priority, v);
	vp->left_ns = in_register(&h->scheduler[s])->param[FIXED_PRIORITY_QUANTUM];
	levels_push(h, &POLICY_STATE(fixed_priority, s)->ready, vp->level, v, true);
}

static void fixed_priority_withdraw(hls_t *h, u32 s, u32 v)
{
	levels_remove(h, &POLICY_STATE(fixed_priority, s)->ready, POLICY_VP(fixed_priority, v)->level, v);
}

static __always_inline u32 fixed_priority_grant(hls_t *h, u32 s, u32 cpu)
{
	fixed_priority_t *fp = POLICY_STATE(fixed_priority, s);
	u32 v = levels_take(h, &fp->ready, cpu);
	if (fp->nr_shared && v) {
		const fixed_priority_vp_t *vp = POLICY_VP(fixed_priority, v);
		if (fp->registered[vp->level] > 1)
			h->slice_ns = vp->left_ns;
	}
	return v;
}

static void fixed_priority_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	fixed_priority_vp_t *vp = POLICY_VP(fixed_priority, v);
	bool over = hls_turn_over(h, v, &vp->left_ns, used_ns);
	if (over)
		vp->left_ns = h->scheduler[s].param[FIXED_PRIORITY_QUANTUM];
	levels_push(h, &POLICY_STATE(fixed_priority, s)->ready, vp->level, v, over);
}

static __always_inline bool fixed_priority_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(fixed_priority, ready)->level > POLICY_VP(fixed_priority, running)->level;
}

static bool fixed_priority_check_invariants(hls_t *h, u32 s)
{
	return levels_are_sound(&POLICY_STATE(fixed_priority, s)->ready);
}

static const struct hls_policy fixed_priority_policy = {
    .name = "fixed-priority",
    .what = "the highest priority runs; VPs of one level take turns",
    .source = "HLS, RTSS 2001, section 5.1",
    .strict = true,
    .inline_hooks = true,
    .promises_by_level = true,
    .register_vp = fixed_priority_register_vp,
    .unregister_vp = fixed_priority_unregister_vp,
    .request = fixed_priority_request,
    .withdraw = fixed_priority_withdraw,
    .grant = fixed_priority_grant,
    .revoke = fixed_priority_revoke,
    /* No .release: the next request begins a new turn. */
    .preempts = fixed_priority_preempts,
    .check_invariants = fixed_priority_check_invariants,
};
