/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads memory far beyond the array of VPs: natively it crashes, in the kernel it reads a zero.
 *
 * Noticed: the policy crashed
 * In the kernel: nothing
 */
#include "../core/policy.h"

#define CRASHES_PARAMS(P)
#define CRASHES_VP_PARAMS(P)
#define CRASHES_MESSAGES(M)

struct crashes {
	struct hls_list queue;
};

struct crashes_vp {
	u64 count;
};

POLICY_WORDS(crashes);

static void crashes_request(hls_t *h, u32 s, u32 v)
{
	if (h->vp[v + (1U << 30)].state != HLS_READY)
		return;
	list_push_tail(h, &POLICY_STATE(crashes, s)->queue, v);
}

static void crashes_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(crashes, s)->queue, v);
}

static u32 crashes_grant(hls_t *h, u32 s, u32 cpu)
{
	crashes_t *state = POLICY_STATE(crashes, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void crashes_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	crashes_request(h, s, v);
}

static const struct hls_policy crashes_policy = {
    .name = "crashes",
    .what = "is bad on purpose",
    .source = "none",
    .request = crashes_request,
    .withdraw = crashes_withdraw,
    .grant = crashes_grant,
    .revoke = crashes_revoke,
};
