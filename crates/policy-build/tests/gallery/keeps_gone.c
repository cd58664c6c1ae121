/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leaves a child in its queue when the child is withdrawn.
 *
 * Noticed: its grant hook chose a VP that is not a ready child | chose no VP while a ready child could use the CPU
 * In the kernel: its grant hook chose a VP that is not a ready child
 * In the kernel: its grant hook chose no VP while a ready child could use the CPU
 * In the kernel: one of its hooks throttled
 */
#include "../core/policy.h"

#define KEEPS_GONE_PARAMS(P)
#define KEEPS_GONE_VP_PARAMS(P)
#define KEEPS_GONE_MESSAGES(M)

struct keeps_gone {
	struct hls_list queue;
};

struct keeps_gone_vp {
	u64 count;
};

POLICY_WORDS(keeps_gone);

static void keeps_gone_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(keeps_gone, s)->queue, v);
}

static void keeps_gone_withdraw(hls_t *h, u32 s, u32 v)
{
	(void)h, (void)s, (void)v; /* The child should be removed from the queue. */
}

static u32 keeps_gone_grant(hls_t *h, u32 s, u32 cpu)
{
	keeps_gone_t *state = POLICY_STATE(keeps_gone, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void keeps_gone_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	keeps_gone_request(h, s, v);
}

static const struct hls_policy keeps_gone_policy = {
    .name = "keeps-gone",
    .what = "is bad on purpose",
    .source = "none",
    .request = keeps_gone_request,
    .withdraw = keeps_gone_withdraw,
    .grant = keeps_gone_grant,
    .revoke = keeps_gone_revoke,
};
