/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grants for less than no time: as a number without a sign that is very long.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

static const struct hls_policy negative_slices_policy = {
    .name = "negative-slices",
    .what = "is bad on purpose",
    .source = "none",
};

#define NEGATIVE_SLICES_PARAMS(P)
#define NEGATIVE_SLICES_VP_PARAMS(P)
#define NEGATIVE_SLICES_MESSAGES(M)

struct negative_slices {
	struct hls_list queue;
};

struct negative_slices_vp {
	u64 count;
};

POLICY_FITS(struct negative_slices, struct negative_slices_vp);

static void negative_slices_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h->node, &POLICY_STATE(struct negative_slices, s)->queue, v);
}

static void negative_slices_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h->node, &POLICY_STATE(struct negative_slices, s)->queue, v);
}

static u32 negative_slices_grant(hls_t *h, u32 s, u32 cpu)
{
	struct negative_slices __arena *state = POLICY_STATE(struct negative_slices, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h->node, &state->queue, v);
	h->slice_ns = 0 - HLS_US(1);
	return v;
}

static void negative_slices_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	negative_slices_request(h, s, v);
}

static void negative_slices_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* Nothing is kept. */
}

#define negative_slices_init hls_no_init
#define negative_slices_deinit hls_no_init
#define negative_slices_register_vp hls_no_register_vp
#define negative_slices_unregister_vp hls_no_unregister_vp
#define negative_slices_preempts hls_no_preempts
#define negative_slices_timer hls_no_timer
#define negative_slices_message hls_no_message
#define negative_slices_check_invariants hls_no_check_invariants
