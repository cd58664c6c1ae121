/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Does not compile.
 *
 * Noticed: by the compiler
 */
#include "../core/policy.h"

static const struct hls_policy no_c_policy = {
    .name = "no-c",
    .what = "is bad on purpose",
    .source = "none",
};

#define NO_C_PARAMS(P)
#define NO_C_VP_PARAMS(P)
#define NO_C_MESSAGES(M)

struct no_c {
	struct hls_list queue;
};

struct no_c_vp {
	u64 count;
};

POLICY_FITS(struct no_c, struct no_c_vp);

static void no_c_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h->node, &POLICY_STATE(struct no_c, s)->queue, v);
}

static void no_c_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h->node, &POLICY_STATE(struct no_c, s)->queue, v);
}

static u32 no_c_grant(hls_t *h, u32 s, u32 cpu)
{
	struct no_c __arena *state = POLICY_STATE(struct no_c, s);
	(void)cpu;
	return list_first(&state->queue); /* here */
}

static void no_c_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	no_c_request(h, s, v);
}

static void no_c_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* Nothing is kept. */
}

#define no_c_init hls_no_init
#define no_c_deinit hls_no_init
#define no_c_register_vp hls_no_register_vp
#define no_c_unregister_vp hls_no_unregister_vp
#define no_c_preempts hls_no_preempts
#define no_c_timer hls_no_timer
#define no_c_message hls_no_message
#define no_c_check_invariants hls_no_check_invariants
