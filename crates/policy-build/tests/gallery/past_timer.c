/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets its timer to a time in the past, again and again.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

#define PAST_TIMER_PARAMS(P)
#define PAST_TIMER_VP_PARAMS(P)
#define PAST_TIMER_MESSAGES(M)

struct past_timer {
	struct hls_list queue;
};

struct past_timer_vp {
	u64 count;
};

POLICY_WORDS(past_timer);

static void past_timer_request(hls_t *h, u32 s, u32 v)
{
	hls_set_timer(h, s, h->now_ns);
	list_push_tail(h, &POLICY_STATE(past_timer, s)->queue, v);
}

static void past_timer_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(past_timer, s)->queue, v);
}

static u32 past_timer_grant(hls_t *h, u32 s, u32 cpu)
{
	past_timer_t *state = POLICY_STATE(past_timer, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void past_timer_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	past_timer_request(h, s, v);
}

static u32 past_timer_timer(hls_t *h, u32 s)
{
	hls_set_timer(h, s, h->now_ns - 1);
	return 0;
}

static const struct hls_policy past_timer_policy = {
    .name = "past-timer",
    .what = "is bad on purpose",
    .source = "none",
    .request = past_timer_request,
    .withdraw = past_timer_withdraw,
    .grant = past_timer_grant,
    .revoke = past_timer_revoke,
    .timer = past_timer_timer,
};
