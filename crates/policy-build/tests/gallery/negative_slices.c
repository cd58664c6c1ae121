/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grants slices of negative length: without a sign, such a number is very large.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

#define NEGATIVE_SLICES_PARAMS(P)
#define NEGATIVE_SLICES_VP_PARAMS(P)
#define NEGATIVE_SLICES_MESSAGES(M)

struct negative_slices {
	struct hls_list queue;
};

struct negative_slices_vp {
	u64 count;
};

POLICY_WORDS(negative_slices);

static void negative_slices_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(negative_slices, s)->queue, v);
}

static void negative_slices_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(negative_slices, s)->queue, v);
}

static u32 negative_slices_grant(hls_t *h, u32 s, u32 cpu)
{
	negative_slices_t *state = POLICY_STATE(negative_slices, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = 0 - HLS_US(1);
	return v;
}

static void negative_slices_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	negative_slices_request(h, s, v);
}

static const struct hls_policy negative_slices_policy = {
    .name = "negative-slices",
    .what = "is bad on purpose",
    .source = "none",
    .request = negative_slices_request,
    .withdraw = negative_slices_withdraw,
    .grant = negative_slices_grant,
    .revoke = negative_slices_revoke,
};
