/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Looks for a child in a loop that only can_loop ends.
 *
 * Noticed: one of its hooks took more steps than it may
 */
#include "../core/policy.h"

#define SPINS_PARAMS(P)
#define SPINS_VP_PARAMS(P)
#define SPINS_MESSAGES(M)

struct spins {
	struct hls_list queue;
};

struct spins_vp {
	u64 count;
};

POLICY_WORDS(spins);

static void spins_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(spins, s)->queue, v);
}

static void spins_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(spins, s)->queue, v);
}

static u32 spins_grant(hls_t *h, u32 s, u32 cpu)
{
	spins_t *state = POLICY_STATE(spins, s);
	u32 v = state->queue.head;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && can_loop; i++)
		v = h->node[v].next ? h->node[v].next : state->queue.head;
	if (!v || !hls_usable(&h->vp[v], cpu))
		return 0;
	list_remove(h, &state->queue, v);
	return v;
}

static void spins_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	spins_request(h, s, v);
}

static const struct hls_policy spins_policy = {
    .name = "spins",
    .what = "is bad on purpose",
    .source = "none",
    .request = spins_request,
    .withdraw = spins_withdraw,
    .grant = spins_grant,
    .revoke = spins_revoke,
};
