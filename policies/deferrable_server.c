/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deferrable servers (J. P. Lehoczky, L. Sha, J. K. Strosnider, "Enhanced Aperiodic Responsiveness in Hard Real-Time
 * Environments", RTSS 1987; J. K. Strosnider, J. P. Lehoczky, L. Sha, "The Deferrable Server Algorithm", IEEE
 * Transactions on Computers, 1995): each VP is a server with a budget of CPU time in every period, at a fixed priority.
 *
 * A server keeps its budget while its child sleeps, until the period ends; then it has a whole one, and nothing more.
 * So a child that wakes up is served at once, at the server's priority, if it has not used the budget in this period.
 *
 *      request        grant
 *     ---------> READY -----> RUNNING
 *                ^   ^ revoke    |            READY VPs that have budget lie in a search tree by priority; all that
 *          timer |   +-----------+            want the CPU in the heap `due`, by the ends of their periods.
 *             throttled <--------+ revoke, no budget
 *
 * Periods follow each other from the first request on, also while the child sleeps. Among equal priorities, the VP that
 * came first goes on until it sleeps or has used its budget.
 *
 * It can be cheated, as the papers say themselves: a VP that uses its budget at the end of a period has the next one at
 * once, and takes twice the budget in a row from lower priorities. The analysis accounts for that; sporadic_server.c
 * does not allow it. CPU time that a late timer lets a VP have beyond its budget is a debt (budget.h).
 */
#include "../core/budget.h"

#define DEFERRABLE_SERVER_PRIORITIES 64

#define DEFERRABLE_SERVER_PARAMS(P)
#define DEFERRABLE_SERVER_VP_PARAMS(P)                                                                          \
	P(DEFERRABLE_SERVER_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                   \
	  "CPU time that the server has in every period")                                                       \
	P(DEFERRABLE_SERVER_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                   \
	  "length of a period")                                                                                 \
	P(DEFERRABLE_SERVER_PRIORITY, "priority", HLS_COUNT, HLS_REQUIRED, 0, DEFERRABLE_SERVER_PRIORITIES - 1, \
	  "the greatest goes first")
#define DEFERRABLE_SERVER_MESSAGES(M)

enum { DEFERRABLE_SERVER_VP_PARAMS(HLS_PARAM_INDEX) };

struct deferrable_server {
	u32 ready; /* search tree of the VPs that may run, the highest priority first */
	u32 due;   /* heap of the VPs that want the CPU, by the ends of their periods */
};

struct deferrable_server_vp {
	struct hls_budget budget;
};

POLICY_FITS(struct deferrable_server, struct deferrable_server_vp);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 deferrable_server_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	budget_t *budget = &POLICY_VP(struct deferrable_server_vp, v)->budget;
	s64 amount = h->vp[v].param[DEFERRABLE_SERVER_BUDGET];
	if (h->vp[v].param[DEFERRABLE_SERVER_BUDGET] > h->vp[v].param[DEFERRABLE_SERVER_PERIOD])
		return -HLS_E_PARAM;
	if (budget->left_ns > amount)
		budget->left_ns = amount;
	return 0;
}

static bool deferrable_server_has_budget(hls_t *h, u32 v)
{
	return POLICY_VP(struct deferrable_server_vp, v)->budget.left_ns > 0;
}

/* If the VP's period is over, begins the period of now. */
static void deferrable_server_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(struct deferrable_server_vp, v)->budget,
			     h->vp[v].param[DEFERRABLE_SERVER_BUDGET], h->vp[v].param[DEFERRABLE_SERVER_PERIOD]);
}

static void deferrable_server_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(struct deferrable_server, s)->due;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

static void deferrable_server_await_end(hls_t *h, u32 s, u32 v)
{
	heap_push(h->node, &POLICY_STATE(struct deferrable_server, s)->due, v,
		  POLICY_VP(struct deferrable_server_vp, v)->budget.end_at, h->seq++);
}

/* The VP no longer waits for the end of its period. No effect for a RUNNING VP that the timer has already taken out. */
static void deferrable_server_forget_end(hls_t *h, u32 s, u32 v)
{
	if (h->node[v].dist)
		heap_remove(h->node, &POLICY_STATE(struct deferrable_server, s)->due, v);
}

/* Puts a VP that has budget among the others of its priority, behind them or before them. */
static void deferrable_server_push(hls_t *h, u32 s, u32 v, bool behind)
{
	u64 depth = DEFERRABLE_SERVER_PRIORITIES - h->vp[v].param[DEFERRABLE_SERVER_PRIORITY];
	queue_push_tree(h, &POLICY_STATE(struct deferrable_server, s)->ready, v, depth, queue_place(h, behind));
}

/* The VP is READY. */
static void deferrable_server_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	deferrable_server_await_end(h, s, v);
	if (deferrable_server_has_budget(h, v))
		deferrable_server_push(h, s, v, behind);
	else
		hls_throttle(h, v);
	deferrable_server_set_timer(h, s);
}

static void deferrable_server_request(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(struct deferrable_server_vp, v)->budget;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (unlikely(!budget->end_at))
		budget->end_at = h->now_ns;
	deferrable_server_renew_if_over(h, v);
	deferrable_server_enqueue(h, s, v, true);
}

static void deferrable_server_withdraw(hls_t *h, u32 s, u32 v)
{
	deferrable_server_forget_end(h, s, v);
	if (!(h->vp[v].flags & HLS_THROTTLED))
		queue_remove_tree(h, &POLICY_STATE(struct deferrable_server, s)->ready, v);
	deferrable_server_set_timer(h, s);
}

static u32 deferrable_server_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 __arena *ready = &POLICY_STATE(struct deferrable_server, s)->ready;
	u32 v = tree_first_usable(h->queue_node, *ready, 1ULL << cpu);
	if (v) {
		queue_remove_tree(h, ready, v);
		h->slice_ns = POLICY_VP(struct deferrable_server_vp, v)->budget.left_ns;
	}
	return v;
}

static void deferrable_server_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	deferrable_server_forget_end(h, s, v);
	budget_charge(h, v, &POLICY_VP(struct deferrable_server_vp, v)->budget,
		      h->vp[v].param[DEFERRABLE_SERVER_BUDGET], h->vp[v].param[DEFERRABLE_SERVER_PERIOD], used_ns);
}

static void deferrable_server_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool yielded = h->vp[v].flags & HLS_YIELDED;
	h->vp[v].flags &= ~HLS_YIELDED;
	deferrable_server_charge(h, s, v, used_ns);
	deferrable_server_renew_if_over(h, v);
	deferrable_server_enqueue(h, s, v, yielded);
}

static void deferrable_server_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	deferrable_server_charge(h, s, v, used_ns);
	deferrable_server_set_timer(h, s);
}

static bool deferrable_server_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return h->vp[ready].param[DEFERRABLE_SERVER_PRIORITY] > h->vp[running].param[DEFERRABLE_SERVER_PRIORITY];
}

/* A READY VP's period is over. */
static void deferrable_server_refill(hls_t *h, u32 s, u32 v)
{
	deferrable_server_renew_if_over(h, v);
	deferrable_server_await_end(h, s, v);
	if ((h->vp[v].flags & HLS_THROTTLED) && deferrable_server_has_budget(h, v)) {
		hls_unthrottle(h, v);
		deferrable_server_push(h, s, v, true);
	}
}

/* Deals with the periods that are over, one at each call: a RUNNING VP is revoked, so that it is charged first. */
static u32 deferrable_server_timer(hls_t *h, u32 s)
{
	u32 v = POLICY_STATE(struct deferrable_server, s)->due;
	if (!v || h->node[v].key > h->now_ns) {
		deferrable_server_set_timer(h, s);
		return 0;
	}
	deferrable_server_forget_end(h, s, v);
	if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	else
		deferrable_server_refill(h, s, v);
	return v;
}

/* No VP has more than a period's budget or the greatest debt; a READY VP is throttled exactly if it has no budget. */
static bool deferrable_server_check_invariants(hls_t *h, u32 s)
{
	u32 v = h->scheduler[s].first_child;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		s64 left_ns = POLICY_VP(struct deferrable_server_vp, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[DEFERRABLE_SERVER_BUDGET] || left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (left_ns <= 0))
			return false;
		v = h->vp[v].sib_next;
	}
	return true;
}

static const struct hls_policy deferrable_server_policy = {
    .name = "deferrable-server",
    .what = "a budget in every period at a fixed priority, kept while the child sleeps",
    .source = "Lehoczky, Sha and Strosnider, RTSS 1987",
    .strict = true,
    .serial = true,
    .register_vp = deferrable_server_register_vp,
    .request = deferrable_server_request,
    .withdraw = deferrable_server_withdraw,
    .grant = deferrable_server_grant,
    .revoke = deferrable_server_revoke,
    .release = deferrable_server_release,
    .preempts = deferrable_server_preempts,
    .timer = deferrable_server_timer,
    .check_invariants = deferrable_server_check_invariants,
};
