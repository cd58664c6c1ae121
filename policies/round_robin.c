/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Round robin: every READY VP in turn, for a quantum each (RTSS 2001, section 5.4, gives it the time that reservations
 * leave).
 */
#include "../core/policy.h"

#define ROUND_ROBIN_PARAMS(P) \
	P(ROUND_ROBIN_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), "turn of each VP")
#define ROUND_ROBIN_VP_PARAMS(P)
#define ROUND_ROBIN_MESSAGES(M)

enum { ROUND_ROBIN_PARAMS(HLS_PARAM_INDEX) };

struct round_robin {
	struct hls_fifo queue;
};

struct round_robin_vp {
	u64 left_ns; /* of its turn */
};

POLICY_WORDS(round_robin);

static void round_robin_request(hls_t *h, u32 s, u32 v)
{
	POLICY_VP(round_robin, v)->left_ns = h->scheduler[s].param[ROUND_ROBIN_QUANTUM];
	fifo_push(h, &POLICY_STATE(round_robin, s)->queue, v, true);
}

static void round_robin_withdraw(hls_t *h, u32 s, u32 v)
{
	fifo_remove(h, &POLICY_STATE(round_robin, s)->queue, v);
}

static u32 round_robin_grant(hls_t *h, u32 s, u32 cpu)
{
	round_robin_t *rr = POLICY_STATE(round_robin, s);
	u32 v = fifo_first_usable(h, &rr->queue, cpu);
	if (v) {
		fifo_remove(h, &rr->queue, v);
		h->slice_ns = POLICY_VP(round_robin, v)->left_ns;
	}
	return v;
}

static void round_robin_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	round_robin_t *rr = POLICY_STATE(round_robin, s);
	round_robin_vp_t *vp = POLICY_VP(round_robin, v);
	if (hls_turn_over(h, v, &vp->left_ns, used_ns))
		round_robin_request(h, s, v);
	else
		fifo_push(h, &rr->queue, v, false);
}

static const struct hls_policy round_robin_policy = {
    .name = "round-robin",
    .what = "every child in turn",
    .source = "HLS, RTSS 2001, section 5.4",
    .may_serve_hls = true,
    .request = round_robin_request,
    .withdraw = round_robin_withdraw,
    .grant = round_robin_grant,
    .revoke = round_robin_revoke,
    /* No .release: the next request begins a new turn. */
};
