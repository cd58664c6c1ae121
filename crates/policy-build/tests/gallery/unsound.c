/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds its own state unsound.
 *
 * Noticed: its own invariants did not hold
 */
#include "../core/policy.h"

static const struct hls_policy unsound_policy = {
    .name = "unsound",
    .what = "is bad on purpose",
    .source = "none",
};

#define UNSOUND_PARAMS(P)
#define UNSOUND_VP_PARAMS(P)
#define UNSOUND_MESSAGES(M)

struct unsound {
	struct hls_list queue;
};

struct unsound_vp {
	u64 count;
};

POLICY_FITS(struct unsound, struct unsound_vp);

static void unsound_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h->node, &POLICY_STATE(struct unsound, s)->queue, v);
}

static void unsound_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h->node, &POLICY_STATE(struct unsound, s)->queue, v);
}

static u32 unsound_grant(hls_t *h, u32 s, u32 cpu)
{
	struct unsound __arena *state = POLICY_STATE(struct unsound, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h->node, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void unsound_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	unsound_request(h, s, v);
}

static void unsound_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* Nothing is kept. */
}

static bool unsound_check_invariants(hls_t *h, u32 s)
{
	return !h->scheduler[s].nr_ready;
}

#define unsound_init hls_no_init
#define unsound_deinit hls_no_init
#define unsound_register_vp hls_no_register_vp
#define unsound_unregister_vp hls_no_unregister_vp
#define unsound_preempts hls_no_preempts
#define unsound_timer hls_no_timer
#define unsound_message hls_no_message
