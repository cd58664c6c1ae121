/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Servers with a budget of CPU time in every period, at a fixed priority: what deferrable and polling servers have in
 * common. As it stands here, a server keeps its budget while its child sleeps.
 *
 *      request        grant
 *     ---------> READY -----> RUNNING
 *                ^   ^ revoke    |            READY VPs that have budget lie in a search tree by priority; all that
 *          timer |   +-----------+            want the CPU in the heap `due`, by the ends of their periods.
 *             throttled <--------+ revoke, no budget
 *
 * Periods follow each other from the first request on, also while the child sleeps. Among equal priorities, the VP that
 * came first goes on until it sleeps or has used its budget. CPU time that a late timer lets a VP have beyond its
 * budget is a debt (budget.h).
 */
#ifndef HLS_SERVER_H
#define HLS_SERVER_H

#include "../core/budget.h"

#define SERVER_PRIORITIES 64

#define SERVER_VP_PARAMS(P)                                                                              \
	P(SERVER_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                       \
	  "CPU time that the server has in every period")                                                \
	P(SERVER_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period") \
	P(SERVER_PRIORITY, "priority", HLS_COUNT, HLS_REQUIRED, 0, SERVER_PRIORITIES - 1, "the greatest goes first")

enum { SERVER_VP_PARAMS(HLS_PARAM_INDEX) };

struct server {
	u32 ready; /* search tree of the VPs that may run, the highest priority first */
	u32 due;   /* heap of the VPs that want the CPU, by the ends of their periods */
};

struct server_vp {
	struct hls_budget budget;
};

POLICY_WORDS(server);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 server_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	budget_t *budget = &POLICY_VP(server, v)->budget;
	s64 amount = h->vp[v].param[SERVER_BUDGET];
	if (h->vp[v].param[SERVER_BUDGET] > h->vp[v].param[SERVER_PERIOD])
		return -HLS_E_PARAM;
	if (budget->left_ns > amount)
		budget->left_ns = amount;
	return 0;
}

static bool server_has_budget(hls_t *h, u32 v)
{
	return POLICY_VP(server, v)->budget.left_ns > 0;
}

/* If the VP's period is over, begins the period of now. */
static void server_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(server, v)->budget, h->vp[v].param[SERVER_BUDGET],
			     h->vp[v].param[SERVER_PERIOD]);
}

static void server_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(server, s)->due;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

static void server_await_end(hls_t *h, u32 s, u32 v)
{
	heap_push(h, &POLICY_STATE(server, s)->due, v, POLICY_VP(server, v)->budget.end_at, h->seq++);
}

/* The VP no longer waits for the end of its period. No effect for a RUNNING VP that the timer has already taken out. */
static void server_forget_end(hls_t *h, u32 s, u32 v)
{
	if (h->node[v].dist)
		heap_remove(h, &POLICY_STATE(server, s)->due, v);
}

/* Puts a VP that has budget among the others of its priority, behind them or before them. */
static void server_push(hls_t *h, u32 s, u32 v, bool behind)
{
	u64 depth = SERVER_PRIORITIES - h->vp[v].param[SERVER_PRIORITY];
	queue_push_tree(h, &POLICY_STATE(server, s)->ready, v, depth, queue_place(h, behind));
}

/* The VP is READY. */
static void server_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	server_await_end(h, s, v);
	if (server_has_budget(h, v))
		server_push(h, s, v, behind);
	else
		hls_throttle(h, v);
	server_set_timer(h, s);
}

static void server_request(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(server, v)->budget;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (unlikely(!budget->end_at))
		budget->end_at = h->now_ns;
	server_renew_if_over(h, v);
	server_enqueue(h, s, v, true);
}

static void server_withdraw(hls_t *h, u32 s, u32 v)
{
	server_forget_end(h, s, v);
	if (!(h->vp[v].flags & HLS_THROTTLED))
		queue_remove_tree(h, &POLICY_STATE(server, s)->ready, v);
	server_set_timer(h, s);
}

static u32 server_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 __arena *ready = &POLICY_STATE(server, s)->ready;
	u32 v = queue_first_usable_of_tree(h, *ready, cpu);
	if (v) {
		queue_remove_tree(h, ready, v);
		h->slice_ns = POLICY_VP(server, v)->budget.left_ns;
	}
	return v;
}

static void server_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	server_forget_end(h, s, v);
	budget_charge(h, v, &POLICY_VP(server, v)->budget, h->vp[v].param[SERVER_BUDGET],
		      h->vp[v].param[SERVER_PERIOD], used_ns);
}

static void server_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool yielded = h->vp[v].flags & HLS_YIELDED;
	h->vp[v].flags &= ~HLS_YIELDED;
	server_charge(h, s, v, used_ns);
	server_renew_if_over(h, v);
	server_enqueue(h, s, v, yielded);
}

static void server_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	server_charge(h, s, v, used_ns);
	server_set_timer(h, s);
}

static bool server_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return h->vp[ready].param[SERVER_PRIORITY] > h->vp[running].param[SERVER_PRIORITY];
}

/* A READY VP's period is over. */
static void server_refill(hls_t *h, u32 s, u32 v)
{
	server_renew_if_over(h, v);
	server_await_end(h, s, v);
	if ((h->vp[v].flags & HLS_THROTTLED) && server_has_budget(h, v)) {
		hls_unthrottle(h, v);
		server_push(h, s, v, true);
	}
}

/* Deals with the periods that are over, one at each call: a RUNNING VP is revoked, so that it is charged first. */
static u32 server_timer(hls_t *h, u32 s)
{
	u32 v = POLICY_STATE(server, s)->due;
	if (!v || h->node[v].key > h->now_ns) {
		server_set_timer(h, s);
		return 0;
	}
	server_forget_end(h, s, v);
	if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	else
		server_refill(h, s, v);
	return v;
}

/* No VP has more than a period's budget or the greatest debt; a READY VP is throttled exactly if it has no budget. */
static bool server_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 left_ns = POLICY_VP(server, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[SERVER_BUDGET] || left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (left_ns <= 0))
			return false;
	}
	return true;
}

#endif
