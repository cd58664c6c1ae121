/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Throttles a child that is throttled already.
 *
 * Noticed: one of its hooks throttled, unthrottled, rechecked or set a timer where it must not
 */
#include "../core/policy.h"

#define THROTTLES_TWICE_PARAMS(P)
#define THROTTLES_TWICE_VP_PARAMS(P)
#define THROTTLES_TWICE_MESSAGES(M)

struct throttles_twice {
	struct hls_list queue;
};

struct throttles_twice_vp {
	u64 count;
};

POLICY_WORDS(throttles_twice);

static void throttles_twice_request(hls_t *h, u32 s, u32 v)
{
	hls_throttle(h, v);
	hls_throttle(h, v);
	list_push_tail(h, &POLICY_STATE(throttles_twice, s)->queue, v);
}

static void throttles_twice_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(throttles_twice, s)->queue, v);
}

static u32 throttles_twice_grant(hls_t *h, u32 s, u32 cpu)
{
	throttles_twice_t *state = POLICY_STATE(throttles_twice, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void throttles_twice_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	throttles_twice_request(h, s, v);
}

static const struct hls_policy throttles_twice_policy = {
    .name = "throttles-twice",
    .what = "is bad on purpose",
    .source = "none",
    .request = throttles_twice_request,
    .withdraw = throttles_twice_withdraw,
    .grant = throttles_twice_grant,
    .revoke = throttles_twice_revoke,
};
