/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranks: a thread says by a message what rank its present work has, and the greatest goes first. For servers with
 * threads that do the work of clients, now for a client that pays and now for one that does not.
 */
#include "../core/levels.h"

#define RANKS_PARAMS(P)
#define RANKS_VP_PARAMS(P)
#define RANKS_WORK_FIELDS(P) \
	P(RANKS_RANK, "rank", HLS_COUNT, HLS_REQUIRED, 0, HLS_LEVELS - 1, "the greatest goes first")
#define RANKS_MESSAGES(M) M(RANKS_WORK, RANKS_WORK_FIELDS, "work", "the thread's work has this rank from now on")

enum { RANKS_MESSAGES(HLS_MESSAGE_INDEX) };
enum { RANKS_WORK_FIELDS(HLS_PARAM_INDEX) };

struct ranks {
	struct hls_levels ready;
};

struct ranks_vp {
	u64 rank;
};

POLICY_WORDS(ranks);

static void ranks_push(hls_t *h, u32 s, u32 v, bool behind)
{
	levels_push(h, &POLICY_STATE(ranks, s)->ready, POLICY_VP(ranks, v)->rank, v, behind);
}

static void ranks_request(hls_t *h, u32 s, u32 v)
{
	ranks_push(h, s, v, true);
}

static void ranks_withdraw(hls_t *h, u32 s, u32 v)
{
	levels_remove(h, &POLICY_STATE(ranks, s)->ready, POLICY_VP(ranks, v)->rank, v);
}

static u32 ranks_grant(hls_t *h, u32 s, u32 cpu)
{
	return levels_take(h, &POLICY_STATE(ranks, s)->ready, cpu);
}

static void ranks_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool yielded = h->vp[v].flags & HLS_YIELDED;
	(void)used_ns;
	h->vp[v].flags &= ~HLS_YIELDED;
	ranks_push(h, s, v, yielded);
}

static bool ranks_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(ranks, ready)->rank > POLICY_VP(ranks, running)->rank;
}

/* The thread that says so is RUNNING, or READY if somebody else says it: either way its scheduler chooses anew. */
static s64 ranks_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	(void)message;
	if (h->vp[v].state == HLS_READY)
		ranks_withdraw(h, s, v);
	POLICY_VP(ranks, v)->rank = payload->value[RANKS_RANK];
	if (h->vp[v].state == HLS_READY)
		ranks_push(h, s, v, true);
	if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	return 0;
}

static const struct hls_policy ranks_policy = {
    .name = "ranks",
    .what = "threads say by messages how urgent their present work is",
    .source = "",
    .request = ranks_request,
    .withdraw = ranks_withdraw,
    .grant = ranks_grant,
    .revoke = ranks_revoke,
    .preempts = ranks_preempts,
    .message = ranks_message,
};
