/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Has itself called every microsecond.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

#define TIMER_STORM_PARAMS(P)
#define TIMER_STORM_VP_PARAMS(P)
#define TIMER_STORM_MESSAGES(M)

struct timer_storm {
	struct hls_list queue;
};

struct timer_storm_vp {
	u64 count;
};

POLICY_WORDS(timer_storm);

static void timer_storm_request(hls_t *h, u32 s, u32 v)
{
	hls_set_timer(h, s, h->now_ns);
	list_push_tail(h, &POLICY_STATE(timer_storm, s)->queue, v);
}

static void timer_storm_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(timer_storm, s)->queue, v);
}

static u32 timer_storm_grant(hls_t *h, u32 s, u32 cpu)
{
	timer_storm_t *state = POLICY_STATE(timer_storm, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void timer_storm_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	timer_storm_request(h, s, v);
}

static u32 timer_storm_timer(hls_t *h, u32 s)
{
	hls_set_timer(h, s, h->now_ns + HLS_US(1));
	return 0;
}

static const struct hls_policy timer_storm_policy = {
    .name = "timer-storm",
    .what = "is bad on purpose",
    .source = "none",
    .request = timer_storm_request,
    .withdraw = timer_storm_withdraw,
    .grant = timer_storm_grant,
    .revoke = timer_storm_revoke,
    .timer = timer_storm_timer,
};
