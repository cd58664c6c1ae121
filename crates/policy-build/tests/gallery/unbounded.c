/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Has a loop without a bound: it ends when the queue does, and the verifier does not know that queues end.
 *
 * Noticed: by the verifier
 */
#include "../core/policy.h"

#define UNBOUNDED_PARAMS(P)
#define UNBOUNDED_VP_PARAMS(P)
#define UNBOUNDED_MESSAGES(M)

struct unbounded {
	struct hls_list queue;
};

struct unbounded_vp {
	u64 count;
};

POLICY_WORDS(unbounded);

static void unbounded_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(unbounded, s)->queue, v);
}

static void unbounded_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(unbounded, s)->queue, v);
}

static u32 unbounded_grant(hls_t *h, u32 s, u32 cpu)
{
	unbounded_t *state = POLICY_STATE(unbounded, s);
	u32 v = state->queue.head;
	while (v && !hls_usable(&h->vp[v], cpu)) /* here */
		v = h->node[v].next;             /* here */
	if (v)
		list_remove(h, &state->queue, v);
	return v;
}

static void unbounded_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	unbounded_request(h, s, v);
}

static const struct hls_policy unbounded_policy = {
    .name = "unbounded",
    .what = "is bad on purpose",
    .source = "none",
    .request = unbounded_request,
    .withdraw = unbounded_withdraw,
    .grant = unbounded_grant,
    .revoke = unbounded_revoke,
};
