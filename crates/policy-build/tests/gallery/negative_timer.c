/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets its timer to a negative time: without a sign, such a number is far ahead.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

#define NEGATIVE_TIMER_PARAMS(P)
#define NEGATIVE_TIMER_VP_PARAMS(P)
#define NEGATIVE_TIMER_MESSAGES(M)

struct negative_timer {
	struct hls_list queue;
};

struct negative_timer_vp {
	u64 count;
};

POLICY_WORDS(negative_timer);

static void negative_timer_request(hls_t *h, u32 s, u32 v)
{
	hls_set_timer(h, s, 0 - HLS_MS(1));
	list_push_tail(h, &POLICY_STATE(negative_timer, s)->queue, v);
}

static void negative_timer_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(negative_timer, s)->queue, v);
}

static u32 negative_timer_grant(hls_t *h, u32 s, u32 cpu)
{
	negative_timer_t *state = POLICY_STATE(negative_timer, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void negative_timer_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	negative_timer_request(h, s, v);
}

static u32 negative_timer_timer(hls_t *h, u32 s)
{
	hls_set_timer(h, s, 0 - HLS_MS(1));
	return 0;
}

static const struct hls_policy negative_timer_policy = {
    .name = "negative-timer",
    .what = "is bad on purpose",
    .source = "none",
    .request = negative_timer_request,
    .withdraw = negative_timer_withdraw,
    .grant = negative_timer_grant,
    .revoke = negative_timer_revoke,
    .timer = negative_timer_timer,
};
