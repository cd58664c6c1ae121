/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counts the children that are added, not those that go, and refuses any above its limit: even one that comes back.
 *
 * Noticed: its register hook refused a child that it had accepted before
 * In the kernel: nothing
 */
#include "../core/policy.h"

#define REFUSES_BACK_PARAMS(P)
#define REFUSES_BACK_VP_PARAMS(P)
#define REFUSES_BACK_MESSAGES(M)

struct refuses_back {
	struct hls_list queue;
};

struct refuses_back_vp {
	u64 count;
};

POLICY_WORDS(refuses_back);

static void refuses_back_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(refuses_back, s)->queue, v);
}

static void refuses_back_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(refuses_back, s)->queue, v);
}

static u32 refuses_back_grant(hls_t *h, u32 s, u32 cpu)
{
	refuses_back_t *state = POLICY_STATE(refuses_back, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void refuses_back_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	refuses_back_request(h, s, v);
}

static s64 refuses_back_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)v;
	return ++h->scheduler[s].word[HLS_SCHEDULER_WORDS - 1] > 8 ? -HLS_E_CHILDREN : 0;
}

static const struct hls_policy refuses_back_policy = {
    .name = "refuses-back",
    .what = "is bad on purpose",
    .source = "none",
    .register_vp = refuses_back_register_vp,
    .request = refuses_back_request,
    .withdraw = refuses_back_withdraw,
    .grant = refuses_back_grant,
    .revoke = refuses_back_revoke,
};
