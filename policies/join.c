/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Join (RTSS 2001, section 5.1): runs its one child whenever any of its parents gives it a CPU.
 *
 * The infrastructure requests every VP that a join holds as soon as the child wants the CPU. The child uses one CPU
 * at a time: a second grant is declined, and requested again, as resumed, when the first is lost.
 */
#include "../core/policy.h"

static const struct hls_policy join_policy = {
    .name = "join",
    .what = "runs its child when any of its parents gives it a CPU",
    .source = "HLS, RTSS 2001, section 5.1",
    .most_children = 1,
    .joins = true,
};

#define JOIN_PARAMS(P)
#define JOIN_VP_PARAMS(P)
#define JOIN_MESSAGES(M)

struct join {
	u64 ready; /* the child, while it is READY; else 0 */
};

struct join_vp {
	u64 unused;
};

POLICY_FITS(struct join, struct join_vp);

static void join_request(hls_t *h, u32 s, u32 v)
{
	POLICY_STATE(struct join, s)->ready = v;
}

static void join_withdraw(hls_t *h, u32 s, u32 v)
{
	(void)v;
	POLICY_STATE(struct join, s)->ready = 0;
}

static u32 join_grant(hls_t *h, u32 s, u32 cpu)
{
	struct join __arena *join = POLICY_STATE(struct join, s);
	u32 v = join->ready;
	if (!v || !hls_usable(&h->vp[v], cpu))
		return 0;
	join->ready = 0;
	return v;
}

static void join_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	join_request(h, s, v);
}

static void join_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* Nothing is kept of a child that does not want to run. */
}

#define join_init hls_no_init
#define join_deinit hls_no_init
#define join_register_vp hls_no_register_vp
#define join_unregister_vp hls_no_unregister_vp
#define join_preempts hls_no_preempts
#define join_timer hls_no_timer
#define join_check_invariants hls_no_check_invariants
#define join_message hls_no_message
