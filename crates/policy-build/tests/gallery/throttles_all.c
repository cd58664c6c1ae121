/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Throttles every child, and unthrottles none.
 *
 * Noticed: no timer is set: it would wait for ever
 * In the kernel: nothing; nobody gets on
 */
#include "../core/policy.h"

#define THROTTLES_ALL_PARAMS(P)
#define THROTTLES_ALL_VP_PARAMS(P)
#define THROTTLES_ALL_MESSAGES(M)

struct throttles_all {
	struct hls_list queue;
};

struct throttles_all_vp {
	u64 count;
};

POLICY_WORDS(throttles_all);

static void throttles_all_request(hls_t *h, u32 s, u32 v)
{
	hls_throttle(h, v);
	list_push_tail(h, &POLICY_STATE(throttles_all, s)->queue, v);
}

static void throttles_all_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(throttles_all, s)->queue, v);
}

static u32 throttles_all_grant(hls_t *h, u32 s, u32 cpu)
{
	throttles_all_t *state = POLICY_STATE(throttles_all, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void throttles_all_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	throttles_all_request(h, s, v);
}

static const struct hls_policy throttles_all_policy = {
    .name = "throttles-all",
    .what = "is bad on purpose",
    .source = "none",
    .request = throttles_all_request,
    .withdraw = throttles_all_withdraw,
    .grant = throttles_all_grant,
    .revoke = throttles_all_revoke,
};
