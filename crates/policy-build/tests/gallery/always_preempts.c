/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Answers that every ready child preempts every running one, and yet grants in turn.
 *
 * Noticed: it is strict, and a ready child waited beside a running one | goes round without end
 */
#include "../core/policy.h"

#define ALWAYS_PREEMPTS_PARAMS(P)
#define ALWAYS_PREEMPTS_VP_PARAMS(P)
#define ALWAYS_PREEMPTS_MESSAGES(M)

struct always_preempts {
	struct hls_list queue;
};

struct always_preempts_vp {
	u64 count;
};

POLICY_WORDS(always_preempts);

static void always_preempts_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(always_preempts, s)->queue, v);
}

static void always_preempts_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(always_preempts, s)->queue, v);
}

static u32 always_preempts_grant(hls_t *h, u32 s, u32 cpu)
{
	always_preempts_t *state = POLICY_STATE(always_preempts, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void always_preempts_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	always_preempts_request(h, s, v);
}

static bool always_preempts_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)h, (void)s, (void)ready, (void)running;
	return true;
}

static const struct hls_policy always_preempts_policy = {
    .name = "always-preempts",
    .what = "is bad on purpose",
    .source = "none",
    .strict = true,
    .request = always_preempts_request,
    .withdraw = always_preempts_withdraw,
    .grant = always_preempts_grant,
    .revoke = always_preempts_revoke,
    .preempts = always_preempts_preempts,
};
