/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets a timer by the index of a VP in place of the index of its scheduler.
 *
 * Noticed: one of its hooks throttled, unthrottled, rechecked or set a timer where it must not
 */
#include "../core/policy.h"

#define WRONG_TIMER_PARAMS(P)
#define WRONG_TIMER_VP_PARAMS(P)
#define WRONG_TIMER_MESSAGES(M)

struct wrong_timer {
	struct hls_list queue;
};

struct wrong_timer_vp {
	u64 count;
};

POLICY_WORDS(wrong_timer);

static void wrong_timer_request(hls_t *h, u32 s, u32 v)
{
	hls_set_timer(h, v + 1000, h->now_ns + HLS_MS(1));
	list_push_tail(h, &POLICY_STATE(wrong_timer, s)->queue, v);
}

static void wrong_timer_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(wrong_timer, s)->queue, v);
}

static u32 wrong_timer_grant(hls_t *h, u32 s, u32 cpu)
{
	wrong_timer_t *state = POLICY_STATE(wrong_timer, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void wrong_timer_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	wrong_timer_request(h, s, v);
}

static const struct hls_policy wrong_timer_policy = {
    .name = "wrong-timer",
    .what = "is bad on purpose",
    .source = "none",
    .request = wrong_timer_request,
    .withdraw = wrong_timer_withdraw,
    .grant = wrong_timer_grant,
    .revoke = wrong_timer_revoke,
};
