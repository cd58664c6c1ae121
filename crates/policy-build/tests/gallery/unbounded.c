/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Has a loop that ends only when the queue does, as far as anybody can see.
 *
 * Noticed: by the verifier
 */
#include "../core/policy.h"

static const struct hls_policy unbounded_policy = {
    .name = "unbounded",
    .what = "is bad on purpose",
    .source = "none",
};

#define UNBOUNDED_PARAMS(P)
#define UNBOUNDED_VP_PARAMS(P)
#define UNBOUNDED_MESSAGES(M)

struct unbounded {
	struct hls_list queue;
};

struct unbounded_vp {
	u64 count;
};

POLICY_FITS(struct unbounded, struct unbounded_vp);

static void unbounded_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h->node, &POLICY_STATE(struct unbounded, s)->queue, v);
}

static void unbounded_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h->node, &POLICY_STATE(struct unbounded, s)->queue, v);
}

static u32 unbounded_grant(hls_t *h, u32 s, u32 cpu)
{
	struct unbounded __arena *state = POLICY_STATE(struct unbounded, s);
	u32 v = state->queue.head;
	while (v && !hls_usable(&h->vp[v], cpu)) /* here */
		v = h->node[v].next;             /* here */
	if (v)
		list_remove(h->node, &state->queue, v);
	return v;
}

static void unbounded_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	unbounded_request(h, s, v);
}

static void unbounded_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* Nothing is kept. */
}

#define unbounded_init hls_no_init
#define unbounded_deinit hls_no_init
#define unbounded_register_vp hls_no_register_vp
#define unbounded_unregister_vp hls_no_unregister_vp
#define unbounded_preempts hls_no_preempts
#define unbounded_timer hls_no_timer
#define unbounded_message hls_no_message
#define unbounded_check_invariants hls_no_check_invariants
