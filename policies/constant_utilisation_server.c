/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Constant utilisation servers (Z. Deng, J. W.-S. Liu, J. Sun, "A Scheme for Scheduling Hard Real-Time Applications in
 * Open System Environment", Euromicro Workshop on Real-Time Systems 1997; J. W.-S. Liu, "Real-Time Systems", 2000,
 * section 7.4): `constant-utilisation-server`, CUS for short.
 *
 * Each VP is a server of the size U = budget/period. A job of its child of length e that begins at r is due at d = r +
 * e/U, and no job begins before the previous one is due; the job that is due first runs. So in any stretch of time the
 * jobs that begin and are due there take U of it, and no more: the server is like a CPU of its own of the speed U.
 *
 *      e       |####------|##--|            |####------|      # runs, - has no budget until d
 *           ---r1---------d1---d2-----------r3---------d3-->
 *              3 ready    2 ready           woken up
 *
 * The length of a job is not known in advance. So a job begins with e = budget, and is due a period later. When the
 * child sleeps, its job is done, and has used only u: then the deadline becomes what it would have been, r + u/U (Liu's
 * rule for lengths that are overestimated). A child that wakes up before its deadline waits for it; one that wakes up
 * later begins a job at once. A child that goes on after a budget's time has its next job at the deadline.
 *
 *      request         grant
 *   ---------> `ready`, by deadline ----> RUNNING
 *          \         ^         <-----------  |  revoke, budget left
 *   before  \        | timer                 |
 *   deadline +-> `depleted`, by deadline <---+  revoke, no budget
 *                (throttled)
 *
 * A job that is not done at its deadline, which happens if the CPU is overcommitted, is given up, and the next one
 * begins. CPU time that a late timer lets a VP have beyond its budget is a debt, which its next budgets pay (budget.h).
 */
#include "../core/budget.h"

#define CONSTANT_UTILISATION_SERVER_PARAMS(P)
#define CONSTANT_UTILISATION_SERVER_VP_PARAMS(P)                                                        \
	P(CONSTANT_UTILISATION_SERVER_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "CPU time that the VP gets in every period")                                                  \
	P(CONSTANT_UTILISATION_SERVER_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "length of a period")
#define CONSTANT_UTILISATION_SERVER_MESSAGES(M)

enum { CONSTANT_UTILISATION_SERVER_VP_PARAMS(HLS_PARAM_INDEX) };

struct constant_utilisation_server {
	struct hls_queue ready; /* by deadline */
	u32 depleted;           /* heap of the throttled VPs, by deadline */
};

struct constant_utilisation_server_vp {
	struct hls_budget budget; /* of the job, and when that is due; none while the VP is WAITING */
};

POLICY_WORDS(constant_utilisation_server);

static s64 constant_utilisation_server_register_vp(hls_t *h, u32 s, u32 v)
{
	const u64 __arena *param = h->vp[v].param;
	(void)s;
	return param[CONSTANT_UTILISATION_SERVER_BUDGET] > param[CONSTANT_UTILISATION_SERVER_PERIOD] ? -HLS_E_PARAM
												     : 0;
}

static u64 constant_utilisation_server_deadline(hls_t *h, u32 v)
{
	return POLICY_VP(constant_utilisation_server, v)->budget.end_at;
}

static bool constant_utilisation_server_has_budget(hls_t *h, u32 v)
{
	return POLICY_VP(constant_utilisation_server, v)->budget.left_ns > 0;
}

/* If the VP's job is due, the next one begins. */
static void constant_utilisation_server_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(constant_utilisation_server, v)->budget,
			     h->vp[v].param[CONSTANT_UTILISATION_SERVER_BUDGET],
			     h->vp[v].param[CONSTANT_UTILISATION_SERVER_PERIOD]);
}

/* The child sleeps: its job is done, and was due as early as its length demands, rounded up. */
static void constant_utilisation_server_finish(hls_t *h, u32 v)
{
	budget_t *budget = &POLICY_VP(constant_utilisation_server, v)->budget;
	const u64 __arena *param = h->vp[v].param;
	if (budget->left_ns <= 0)
		return;
	budget->end_at -= hls_mul_div_floor(budget->left_ns, param[CONSTANT_UTILISATION_SERVER_PERIOD],
					    param[CONSTANT_UTILISATION_SERVER_BUDGET]);
	budget->left_ns = 0;
}

static void constant_utilisation_server_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(constant_utilisation_server, s)->depleted;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

/* The VP is READY: it is queued if it has budget, else throttled. */
static void constant_utilisation_server_enqueue(hls_t *h, u32 s, u32 v)
{
	constant_utilisation_server_t *server = POLICY_STATE(constant_utilisation_server, s);
	u64 deadline_at = constant_utilisation_server_deadline(h, v);
	if (constant_utilisation_server_has_budget(h, v)) {
		queue_push(h, &server->ready, v, deadline_at);
		return;
	}
	hls_throttle(h, v);
	heap_push(h, &server->depleted, v, deadline_at, h->seq++);
	constant_utilisation_server_set_timer(h, s);
}

static void constant_utilisation_server_request(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(constant_utilisation_server, v)->budget;
	const u64 __arena *param = h->vp[v].param;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (h->now_ns >= budget->end_at)
		budget_begin(h, v, budget, param[CONSTANT_UTILISATION_SERVER_BUDGET],
			     h->now_ns + param[CONSTANT_UTILISATION_SERVER_PERIOD]);
	constant_utilisation_server_enqueue(h, s, v);
}

static void constant_utilisation_server_withdraw(hls_t *h, u32 s, u32 v)
{
	constant_utilisation_server_t *server = POLICY_STATE(constant_utilisation_server, s);
	if (h->vp[v].flags & HLS_THROTTLED) {
		heap_remove(h, &server->depleted, v);
		constant_utilisation_server_set_timer(h, s);
		return;
	}
	queue_remove(h, &server->ready, v);
	constant_utilisation_server_finish(h, v);
}

/* VPs with jobs that became due while they were READY begin new jobs first. */
static u32 constant_utilisation_server_grant(hls_t *h, u32 s, u32 cpu)
{
	constant_utilisation_server_t *server = POLICY_STATE(constant_utilisation_server, s);
	for (u32 i = opaque(0); i < HLS_MAX_VPS && can_loop; i++) {
		u32 v = queue_first_usable(h, &server->ready, cpu);
		if (!v)
			return 0;
		const budget_t *budget = &POLICY_VP(constant_utilisation_server, v)->budget;
		queue_remove(h, &server->ready, v);
		if (h->now_ns < budget->end_at) {
			u64 left_ns = budget->left_ns, lasts_ns = budget->end_at - h->now_ns;
			h->slice_ns = left_ns < lasts_ns ? left_ns : lasts_ns;
			return v;
		}
		constant_utilisation_server_renew_if_over(h, v);
		queue_push(h, &server->ready, v, constant_utilisation_server_deadline(h, v));
	}
	return 0;
}

static void constant_utilisation_server_charge(hls_t *h, u32 v, u64 used_ns)
{
	budget_charge(h, v, &POLICY_VP(constant_utilisation_server, v)->budget,
		      h->vp[v].param[CONSTANT_UTILISATION_SERVER_BUDGET],
		      h->vp[v].param[CONSTANT_UTILISATION_SERVER_PERIOD], used_ns);
}

static void constant_utilisation_server_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	constant_utilisation_server_charge(h, v, used_ns);
	constant_utilisation_server_renew_if_over(h, v);
	constant_utilisation_server_enqueue(h, s, v);
}

static void constant_utilisation_server_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)s;
	constant_utilisation_server_charge(h, v, used_ns);
	constant_utilisation_server_finish(h, v);
}

static bool constant_utilisation_server_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return constant_utilisation_server_deadline(h, ready) < constant_utilisation_server_deadline(h, running);
}

/* The deadline of the first depleted VP has passed. */
static u32 constant_utilisation_server_timer(hls_t *h, u32 s)
{
	constant_utilisation_server_t *server = POLICY_STATE(constant_utilisation_server, s);
	u32 v = server->depleted;
	if (!v || h->node[v].key > h->now_ns) {
		constant_utilisation_server_set_timer(h, s);
		return 0;
	}
	heap_remove(h, &server->depleted, v);
	constant_utilisation_server_renew_if_over(h, v);
	if (constant_utilisation_server_has_budget(h, v)) {
		hls_unthrottle(h, v);
		queue_push(h, &server->ready, v, constant_utilisation_server_deadline(h, v));
	} else {
		heap_push(h, &server->depleted, v, constant_utilisation_server_deadline(h, v), h->seq++);
	}
	return v;
}

/* A READY VP is throttled exactly if it has no budget, a WAITING VP has none, and no VP has more than its budget. */
static bool constant_utilisation_server_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 left_ns = POLICY_VP(constant_utilisation_server, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[CONSTANT_UTILISATION_SERVER_BUDGET] ||
		    left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (left_ns <= 0))
			return false;
		if (h->vp[v].state == HLS_WAITING && left_ns > 0)
			return false;
	}
	return true;
}

static const struct hls_policy constant_utilisation_server_policy = {
    .name = "constant-utilisation-server",
    .what = "servers that are each like a slower CPU, by EDF",
    .source = "Deng, Liu and Sun, Euromicro RTS 1997; Liu, Real-Time Systems, section 7.4",
    .strict = true,
    .serial = true,
    .register_vp = constant_utilisation_server_register_vp,
    .request = constant_utilisation_server_request,
    .withdraw = constant_utilisation_server_withdraw,
    .grant = constant_utilisation_server_grant,
    .revoke = constant_utilisation_server_revoke,
    .release = constant_utilisation_server_release,
    .preempts = constant_utilisation_server_preempts,
    .timer = constant_utilisation_server_timer,
    .check_invariants = constant_utilisation_server_check_invariants,
};
