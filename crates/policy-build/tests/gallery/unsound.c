/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Answers that its own state is not sound.
 *
 * Noticed: its own invariants did not hold
 */
#include "../core/policy.h"

#define UNSOUND_PARAMS(P)
#define UNSOUND_VP_PARAMS(P)
#define UNSOUND_MESSAGES(M)

struct unsound {
	struct hls_list queue;
};

struct unsound_vp {
	u64 count;
};

POLICY_WORDS(unsound);

static void unsound_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(unsound, s)->queue, v);
}

static void unsound_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(unsound, s)->queue, v);
}

static u32 unsound_grant(hls_t *h, u32 s, u32 cpu)
{
	unsound_t *state = POLICY_STATE(unsound, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void unsound_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	unsound_request(h, s, v);
}

static bool unsound_check_invariants(hls_t *h, u32 s)
{
	return !h->scheduler[s].nr_ready;
}

static const struct hls_policy unsound_policy = {
    .name = "unsound",
    .what = "is bad on purpose",
    .source = "none",
    .request = unsound_request,
    .withdraw = unsound_withdraw,
    .grant = unsound_grant,
    .revoke = unsound_revoke,
    .check_invariants = unsound_check_invariants,
};
