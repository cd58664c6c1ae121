/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Leaves a child in its queue when it grants a CPU to the child, and grants it another CPU later.
 *
 * Noticed: its grant hook chose a VP that is not a ready child
 */
#include "../core/policy.h"

#define GRANTS_TWICE_PARAMS(P)
#define GRANTS_TWICE_VP_PARAMS(P)
#define GRANTS_TWICE_MESSAGES(M)

struct grants_twice {
	struct hls_list queue;
};

struct grants_twice_vp {
	u64 count;
};

POLICY_WORDS(grants_twice);

static void grants_twice_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(grants_twice, s)->queue, v);
}

static void grants_twice_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(grants_twice, s)->queue, v);
}

static u32 grants_twice_grant(hls_t *h, u32 s, u32 cpu)
{
	h->slice_ns = HLS_MS(5);
	return hls_first_usable(h, &POLICY_STATE(grants_twice, s)->queue, cpu);
}

static void grants_twice_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* The child is still in the queue. */
}

static void grants_twice_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	grants_twice_withdraw(h, s, v);
}

static const struct hls_policy grants_twice_policy = {
    .name = "grants-twice",
    .what = "is bad on purpose",
    .source = "none",
    .request = grants_twice_request,
    .withdraw = grants_twice_withdraw,
    .grant = grants_twice_grant,
    .revoke = grants_twice_revoke,
    .release = grants_twice_release,
};
