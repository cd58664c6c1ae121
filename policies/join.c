/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Join (RTSS 2001, section 5.1): runs its one child whenever any of its parents gives the join a CPU.
 *
 * The infrastructure requests all VPs that a join holds as soon as the child wants a CPU. The child uses one CPU at a
 * time: when a second one is granted the join declines it, and when the first one is lost the infrastructure requests
 * the second one again. That request is resumed (HLS_RESUMED): it goes on where the child ran before.
 */
#include "../core/policy.h"

#define JOIN_PARAMS(P)
#define JOIN_VP_PARAMS(P)
#define JOIN_MESSAGES(M)

struct join {
	u64 ready; /* the child, while it is READY; else 0 */
};

struct join_vp {
	u64 unused;
};

POLICY_WORDS(join);

/* What its child tells, a join tells its own parents. */
static void join_told(hls_t *h, u32 s, u32 v)
{
	for (u32 i = 0; i < HLS_NR_TOLD; i++)
		hls_tell_parents(h, s, i, hls_told(h, v, i));
}

static void join_request(hls_t *h, u32 s, u32 v)
{
	join_told(h, s, v);
	POLICY_STATE(join, s)->ready = v;
}

static void join_withdraw(hls_t *h, u32 s, u32 v)
{
	(void)v;
	POLICY_STATE(join, s)->ready = 0;
}

static u32 join_grant(hls_t *h, u32 s, u32 cpu)
{
	join_t *join = POLICY_STATE(join, s);
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

static const struct hls_policy join_policy = {
    .name = "join",
    .what = "runs its child when any of its parents gives it a CPU",
    .source = "HLS, RTSS 2001, section 5.1",
    .most_children = 1,
    .joins = true,
    .serial = true,
    .request = join_request,
    .withdraw = join_withdraw,
    .grant = join_grant,
    .revoke = join_revoke,
    .told = join_told,
    /* No .release: nothing is kept of a child that does not want to run. */
};
