/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grants slices of no length.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

#define EMPTY_SLICES_PARAMS(P)
#define EMPTY_SLICES_VP_PARAMS(P)
#define EMPTY_SLICES_MESSAGES(M)

struct empty_slices {
	struct hls_list queue;
};

struct empty_slices_vp {
	u64 count;
};

POLICY_WORDS(empty_slices);

static void empty_slices_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(empty_slices, s)->queue, v);
}

static void empty_slices_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(empty_slices, s)->queue, v);
}

static u32 empty_slices_grant(hls_t *h, u32 s, u32 cpu)
{
	empty_slices_t *state = POLICY_STATE(empty_slices, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = 0;
	return v;
}

static void empty_slices_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	empty_slices_request(h, s, v);
}

static const struct hls_policy empty_slices_policy = {
    .name = "empty-slices",
    .what = "is bad on purpose",
    .source = "none",
    .request = empty_slices_request,
    .withdraw = empty_slices_withdraw,
    .grant = empty_slices_grant,
    .revoke = empty_slices_revoke,
};
