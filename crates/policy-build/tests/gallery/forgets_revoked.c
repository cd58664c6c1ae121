/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Forgets a child when it is revoked.
 *
 * Noticed: its grant hook chose no VP while a ready child could use the CPU
 */
#include "../core/policy.h"

#define FORGETS_REVOKED_PARAMS(P)
#define FORGETS_REVOKED_VP_PARAMS(P)
#define FORGETS_REVOKED_MESSAGES(M)

struct forgets_revoked {
	struct hls_list queue;
};

struct forgets_revoked_vp {
	u64 count;
};

POLICY_WORDS(forgets_revoked);

static void forgets_revoked_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(forgets_revoked, s)->queue, v);
}

static void forgets_revoked_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(forgets_revoked, s)->queue, v);
}

static u32 forgets_revoked_grant(hls_t *h, u32 s, u32 cpu)
{
	forgets_revoked_t *state = POLICY_STATE(forgets_revoked, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void forgets_revoked_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* The child should be put back into the queue. */
}

static const struct hls_policy forgets_revoked_policy = {
    .name = "forgets-revoked",
    .what = "is bad on purpose",
    .source = "none",
    .request = forgets_revoked_request,
    .withdraw = forgets_revoked_withdraw,
    .grant = forgets_revoked_grant,
    .revoke = forgets_revoked_revoke,
};
