/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Forgets every third request while siblings run. Only when the forgotten child is the only one that is ready can the
 * infrastructure know that something is wrong.
 *
 * Noticed: its grant hook chose no VP while a ready child could use the CPU
 */
#include "../core/policy.h"

#define FORGETS_THIRD_PARAMS(P)
#define FORGETS_THIRD_VP_PARAMS(P)
#define FORGETS_THIRD_MESSAGES(M)

struct forgets_third {
	struct hls_list queue;
};

struct forgets_third_vp {
	u64 count;
};

POLICY_WORDS(forgets_third);

static void forgets_third_request(hls_t *h, u32 s, u32 v)
{
	if (POLICY_VP(forgets_third, v)->count++ % 3 < 2)
		list_push_tail(h, &POLICY_STATE(forgets_third, s)->queue, v);
}

static void forgets_third_withdraw(hls_t *h, u32 s, u32 v)
{
	if (POLICY_VP(forgets_third, v)->count % 3)
		list_remove(h, &POLICY_STATE(forgets_third, s)->queue, v);
}

static u32 forgets_third_grant(hls_t *h, u32 s, u32 cpu)
{
	forgets_third_t *state = POLICY_STATE(forgets_third, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void forgets_third_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	forgets_third_request(h, s, v);
}

static const struct hls_policy forgets_third_policy = {
    .name = "forgets-third",
    .what = "is bad on purpose",
    .source = "none",
    .request = forgets_third_request,
    .withdraw = forgets_third_withdraw,
    .grant = forgets_third_grant,
    .revoke = forgets_third_revoke,
};
