/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets h->now_ns back by the time that a child has used.
 *
 * Noticed: one of its hooks changed the time
 */
#include "../core/policy.h"

#define CHANGES_TIME_PARAMS(P)
#define CHANGES_TIME_VP_PARAMS(P)
#define CHANGES_TIME_MESSAGES(M)

struct changes_time {
	struct hls_list queue;
};

struct changes_time_vp {
	u64 count;
};

POLICY_WORDS(changes_time);

static void changes_time_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(changes_time, s)->queue, v);
}

static void changes_time_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(changes_time, s)->queue, v);
}

static u32 changes_time_grant(hls_t *h, u32 s, u32 cpu)
{
	changes_time_t *state = POLICY_STATE(changes_time, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void changes_time_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	h->now_ns -= used_ns + 1;
	changes_time_request(h, s, v);
}

static const struct hls_policy changes_time_policy = {
    .name = "changes-time",
    .what = "is bad on purpose",
    .source = "none",
    .request = changes_time_request,
    .withdraw = changes_time_withdraw,
    .grant = changes_time_grant,
    .revoke = changes_time_revoke,
};
