/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waits in a loop for a state that cannot change while its hook runs.
 *
 * Noticed: a hook did not return; by the verifier
 */
#include "../core/policy.h"

#define NEVER_RETURNS_PARAMS(P)
#define NEVER_RETURNS_VP_PARAMS(P)
#define NEVER_RETURNS_MESSAGES(M)

struct never_returns {
	struct hls_list queue;
};

struct never_returns_vp {
	u64 count;
};

POLICY_WORDS(never_returns);

static void never_returns_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(never_returns, s)->queue, v);
}

static void never_returns_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(never_returns, s)->queue, v);
}

static u32 never_returns_grant(hls_t *h, u32 s, u32 cpu)
{
	never_returns_t *state = POLICY_STATE(never_returns, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void never_returns_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	never_returns_request(h, s, v);
}

static void never_returns_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)s, (void)used_ns;
	while (*(volatile u8 __arena *)&h->vp[v].state != HLS_READY) /* here */
		;
}

static const struct hls_policy never_returns_policy = {
    .name = "never-returns",
    .what = "is bad on purpose",
    .source = "none",
    .request = never_returns_request,
    .withdraw = never_returns_withdraw,
    .grant = never_returns_grant,
    .revoke = never_returns_revoke,
    .release = never_returns_release,
};
