/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls a function that does not exist.
 *
 * Noticed: by the compiler
 */
#include "../core/policy.h"

#define UNKNOWN_CALL_PARAMS(P)
#define UNKNOWN_CALL_VP_PARAMS(P)
#define UNKNOWN_CALL_MESSAGES(M)

struct unknown_call {
	struct hls_list queue;
};

struct unknown_call_vp {
	u64 count;
};

POLICY_WORDS(unknown_call);

void unknown_call_wake_up(u32 v);

static void unknown_call_request(hls_t *h, u32 s, u32 v)
{
	unknown_call_wake_up(v); /* here */
	list_push_tail(h, &POLICY_STATE(unknown_call, s)->queue, v);
}

static void unknown_call_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(unknown_call, s)->queue, v);
}

static u32 unknown_call_grant(hls_t *h, u32 s, u32 cpu)
{
	unknown_call_t *state = POLICY_STATE(unknown_call, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void unknown_call_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	unknown_call_request(h, s, v);
}

static const struct hls_policy unknown_call_policy = {
    .name = "unknown-call",
    .what = "is bad on purpose",
    .source = "none",
    .request = unknown_call_request,
    .withdraw = unknown_call_withdraw,
    .grant = unknown_call_grant,
    .revoke = unknown_call_revoke,
};
