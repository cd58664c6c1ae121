/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polling servers (J. P. Lehoczky, L. Sha, J. K. Strosnider, "Enhanced Aperiodic Responsiveness in Hard Real-Time
 * Environments", RTSS 1987, which compares deferrable servers with them): each VP is a server with a budget of CPU time
 * in every period, at a fixed priority.
 *
 * At the start of a period the server looks whether its child wants the CPU. If so, the child has the budget, until it
 * sleeps or has used it. What is left when it sleeps is lost; and if it does not want the CPU at the start of a period,
 * all of that period's budget is lost. So to lower priorities a server is a periodic task, and a child that wakes up
 * first waits for the start of the next period.
 *
 *                     start of a period             grant
 *     request --> throttled ------------------> READY ------> RUNNING
 *                 ^   ^                           ^  revoke   |    |
 *                 |   |                           +-----------+    | release: the rest of the budget is lost
 *                 |   +--- revoke, no budget -----------------+    v
 *                 +--------------- request --------------------- WAITING
 *
 * READY VPs that have budget lie in a search tree by priority; all that want the CPU in the heap `due`, by the ends of
 * their periods. Periods follow each other from the first request on, which begins the first. Among equal priorities,
 * the VP that came first goes on until it sleeps or has used its budget.
 *
 * No VP gains by sleeping. CPU time that a late timer lets a VP have beyond its budget is a debt (budget.h), which a
 * sleep does not forgive.
 */
#include "../core/budget.h"

#define POLLING_SERVER_PRIORITIES 64

#define POLLING_SERVER_PARAMS(P)
#define POLLING_SERVER_VP_PARAMS(P)                                                                              \
	P(POLLING_SERVER_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                       \
	  "CPU time that the server has in every period")                                                        \
	P(POLLING_SERVER_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period") \
	P(POLLING_SERVER_PRIORITY, "priority", HLS_COUNT, HLS_REQUIRED, 0, POLLING_SERVER_PRIORITIES - 1,        \
	  "the greatest goes first")
#define POLLING_SERVER_MESSAGES(M)

enum { POLLING_SERVER_VP_PARAMS(HLS_PARAM_INDEX) };

struct polling_server {
	u32 ready; /* search tree of the VPs that may run, the highest priority first */
	u32 due;   /* heap of the VPs that want the CPU, by the ends of their periods */
};

struct polling_server_vp {
	struct hls_budget budget;
};

POLICY_FITS(struct polling_server, struct polling_server_vp);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 polling_server_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	budget_t *budget = &POLICY_VP(struct polling_server_vp, v)->budget;
	s64 amount = h->vp[v].param[POLLING_SERVER_BUDGET];
	if (h->vp[v].param[POLLING_SERVER_BUDGET] > h->vp[v].param[POLLING_SERVER_PERIOD])
		return -HLS_E_PARAM;
	if (budget->left_ns > amount)
		budget->left_ns = amount;
	return 0;
}

static bool polling_server_has_budget(hls_t *h, u32 v)
{
	return POLICY_VP(struct polling_server_vp, v)->budget.left_ns > 0;
}

/* If the VP's period is over, begins the period of now. */
static void polling_server_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(struct polling_server_vp, v)->budget,
			     h->vp[v].param[POLLING_SERVER_BUDGET], h->vp[v].param[POLLING_SERVER_PERIOD]);
}

static void polling_server_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(struct polling_server, s)->due;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

static void polling_server_await_end(hls_t *h, u32 s, u32 v)
{
	heap_push(h->node, &POLICY_STATE(struct polling_server, s)->due, v,
		  POLICY_VP(struct polling_server_vp, v)->budget.end_at, h->seq++);
}

/* The VP no longer waits for the end of its period. No effect for a RUNNING VP that the timer has already taken out. */
static void polling_server_forget_end(hls_t *h, u32 s, u32 v)
{
	if (h->node[v].dist)
		heap_remove(h->node, &POLICY_STATE(struct polling_server, s)->due, v);
}

/* Puts a VP that has budget among the others of its priority, behind them or before them. */
static void polling_server_push(hls_t *h, u32 s, u32 v, bool behind)
{
	u64 depth = POLLING_SERVER_PRIORITIES - h->vp[v].param[POLLING_SERVER_PRIORITY];
	queue_push_tree(h, &POLICY_STATE(struct polling_server, s)->ready, v, depth, queue_place(h, behind));
}

/* The VP is READY. */
static void polling_server_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	polling_server_await_end(h, s, v);
	if (polling_server_has_budget(h, v))
		polling_server_push(h, s, v, behind);
	else
		hls_throttle(h, v);
	polling_server_set_timer(h, s);
}

/* What is left of the budget is lost; a debt is not. */
static void polling_server_lose(hls_t *h, u32 v)
{
	budget_t *budget = &POLICY_VP(struct polling_server_vp, v)->budget;
	if (budget->left_ns > 0)
		budget->left_ns = 0;
}

static void polling_server_request(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(struct polling_server_vp, v)->budget;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (unlikely(!budget->end_at))
		budget->end_at = h->now_ns;
	if (h->now_ns >= budget->end_at) {
		bool begins = (h->now_ns - budget->end_at) % h->vp[v].param[POLLING_SERVER_PERIOD] == 0;
		polling_server_renew_if_over(h, v);
		if (!begins)
			polling_server_lose(h, v);
	}
	polling_server_enqueue(h, s, v, true);
}

static void polling_server_withdraw(hls_t *h, u32 s, u32 v)
{
	polling_server_forget_end(h, s, v);
	if (!(h->vp[v].flags & HLS_THROTTLED))
		queue_remove_tree(h, &POLICY_STATE(struct polling_server, s)->ready, v);
	polling_server_lose(h, v);
	polling_server_set_timer(h, s);
}

static u32 polling_server_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 __arena *ready = &POLICY_STATE(struct polling_server, s)->ready;
	u32 v = tree_first_usable(h->queue_node, *ready, 1ULL << cpu);
	if (v) {
		queue_remove_tree(h, ready, v);
		h->slice_ns = POLICY_VP(struct polling_server_vp, v)->budget.left_ns;
	}
	return v;
}

static void polling_server_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	polling_server_forget_end(h, s, v);
	budget_charge(h, v, &POLICY_VP(struct polling_server_vp, v)->budget, h->vp[v].param[POLLING_SERVER_BUDGET],
		      h->vp[v].param[POLLING_SERVER_PERIOD], used_ns);
}

static void polling_server_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool yielded = h->vp[v].flags & HLS_YIELDED;
	h->vp[v].flags &= ~HLS_YIELDED;
	polling_server_charge(h, s, v, used_ns);
	polling_server_renew_if_over(h, v);
	polling_server_enqueue(h, s, v, yielded);
}

static void polling_server_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	polling_server_charge(h, s, v, used_ns);
	polling_server_lose(h, v);
	polling_server_set_timer(h, s);
}

static bool polling_server_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return h->vp[ready].param[POLLING_SERVER_PRIORITY] > h->vp[running].param[POLLING_SERVER_PRIORITY];
}

/* A READY VP's period is over. */
static void polling_server_refill(hls_t *h, u32 s, u32 v)
{
	polling_server_renew_if_over(h, v);
	polling_server_await_end(h, s, v);
	if ((h->vp[v].flags & HLS_THROTTLED) && polling_server_has_budget(h, v)) {
		hls_unthrottle(h, v);
		polling_server_push(h, s, v, true);
	}
}

/* Deals with the periods that are over, one at each call: a RUNNING VP is revoked, so that it is charged first. */
static u32 polling_server_timer(hls_t *h, u32 s)
{
	u32 v = POLICY_STATE(struct polling_server, s)->due;
	if (!v || h->node[v].key > h->now_ns) {
		polling_server_set_timer(h, s);
		return 0;
	}
	polling_server_forget_end(h, s, v);
	if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	else
		polling_server_refill(h, s, v);
	return v;
}

/* No VP has more than a period's budget or the greatest debt; a READY VP is throttled exactly if it has no budget. */
static bool polling_server_check_invariants(hls_t *h, u32 s)
{
	u32 v = h->scheduler[s].first_child;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		s64 left_ns = POLICY_VP(struct polling_server_vp, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[POLLING_SERVER_BUDGET] || left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (left_ns <= 0))
			return false;
		v = h->vp[v].sib_next;
	}
	return true;
}

static const struct hls_policy polling_server_policy = {
    .name = "polling-server",
    .what = "a budget in every period at a fixed priority, for a child that wants it when the period begins",
    .source = "Lehoczky, Sha and Strosnider, RTSS 1987",
    .strict = true,
    .serial = true,
    .register_vp = polling_server_register_vp,
    .request = polling_server_request,
    .withdraw = polling_server_withdraw,
    .grant = polling_server_grant,
    .revoke = polling_server_revoke,
    .release = polling_server_release,
    .preempts = polling_server_preempts,
    .timer = polling_server_timer,
    .check_invariants = polling_server_check_invariants,
};
