/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limit (RTSS 2001, section 5.1): makes a soft guarantee hard. Its one child gets at most `budget` of CPU time in
 * each period; "when its child is about to receive more than the guaranteed amount, it releases the processor and
 * does not request it again until the start of the next period".
 *
 * Periods follow each other while the child wants the CPU. When the child requests the CPU after its period is over, a
 * new period begins with the request. CPU time that a late timer lets the child have beyond a budget is a debt, which
 * the next budgets pay, even if a request began their period (budget.h).
 */
#include "../core/budget.h"

#define LIMIT_PARAMS(P)
#define LIMIT_VP_PARAMS(P)                                                        \
	P(LIMIT_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "most CPU time that the child gets in a period")                        \
	P(LIMIT_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period")
#define LIMIT_MESSAGES(M)

enum { LIMIT_VP_PARAMS(HLS_PARAM_INDEX) };

struct limit {
	u64 ready; /* the child, while it is READY and has budget; else 0 */
	u64 child; /* the child, while it is not WAITING; else 0 */
};

struct limit_vp {
	struct hls_budget budget;
};

POLICY_WORDS(limit);

/* After a change of parameters, a child keeps what is left of its budget, up to the new budget. */
static s64 limit_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	limit_vp_t *vp = POLICY_VP(limit, v);
	s64 budget = h->vp[v].param[LIMIT_BUDGET];
	if (h->vp[v].param[LIMIT_BUDGET] > h->vp[v].param[LIMIT_PERIOD])
		return -HLS_E_PARAM;
	if (vp->budget.left_ns > budget)
		vp->budget.left_ns = budget;
	return 0;
}

/* If the child's period is over, begins the period of now. */
static void limit_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(limit, v)->budget, h->vp[v].param[LIMIT_BUDGET],
			     h->vp[v].param[LIMIT_PERIOD]);
}

/* The child is READY: it may run if it has budget, else it is throttled. */
static void limit_enqueue(hls_t *h, u32 s, u32 v)
{
	limit_t *limit = POLICY_STATE(limit, s);
	limit_vp_t *vp = POLICY_VP(limit, v);
	limit->child = v;
	limit->ready = vp->budget.left_ns > 0 ? v : 0;
	if (!limit->ready)
		hls_throttle(h, v);
	hls_set_timer(h, s, vp->budget.end_at);
}

static void limit_request(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(limit, v)->budget;
	if (h->now_ns >= budget->end_at)
		budget_begin(h, v, budget, h->vp[v].param[LIMIT_BUDGET], h->now_ns + h->vp[v].param[LIMIT_PERIOD]);
	limit_enqueue(h, s, v);
}

static void limit_withdraw(hls_t *h, u32 s, u32 v)
{
	limit_t *limit = POLICY_STATE(limit, s);
	(void)v;
	limit->ready = limit->child = 0;
	hls_set_timer(h, s, HLS_NEVER);
}

static u32 limit_grant(hls_t *h, u32 s, u32 cpu)
{
	limit_t *limit = POLICY_STATE(limit, s);
	u32 v = limit->ready;
	if (!v || !hls_usable(&h->vp[v], cpu))
		return 0;
	limit->ready = 0;
	h->slice_ns = POLICY_VP(limit, v)->budget.left_ns;
	return v;
}

static void limit_charge(hls_t *h, u32 v, u64 used_ns)
{
	budget_charge(h, v, &POLICY_VP(limit, v)->budget, h->vp[v].param[LIMIT_BUDGET],
		      h->vp[v].param[LIMIT_PERIOD], used_ns);
}

static void limit_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	limit_charge(h, v, used_ns);
	limit_renew_if_over(h, v);
	limit_enqueue(h, s, v);
}

static void limit_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	limit_charge(h, v, used_ns);
	limit_withdraw(h, s, v);
}

/* The period is over. A RUNNING child is revoked, so that what it used is charged to the old period. */
static u32 limit_timer(hls_t *h, u32 s)
{
	limit_t *limit = POLICY_STATE(limit, s);
	u32 v = limit->child;
	budget_t *budget = &POLICY_VP(limit, v)->budget;
	if (!v || h->now_ns < budget->end_at)
		return 0;
	if (h->vp[v].state == HLS_RUNNING) {
		hls_recheck(h, v);
		return 0;
	}
	limit_renew_if_over(h, v);
	hls_set_timer(h, s, budget->end_at);
	if (!(h->vp[v].flags & HLS_THROTTLED) || budget->left_ns <= 0)
		return 0;
	hls_unthrottle(h, v);
	limit->ready = v;
	return v;
}

static bool limit_check_invariants(hls_t *h, u32 s)
{
	u32 v = POLICY_STATE(limit, s)->child;
	s64 left_ns = POLICY_VP(limit, v)->budget.left_ns;
	return !v || (left_ns <= (s64)h->vp[v].param[LIMIT_BUDGET] && left_ns >= -(s64)HLS_MOST_DEBT_NS);
}

static const struct hls_policy limit_policy = {
    .name = "limit",
    .what = "a cap on the CPU time of one child in every period",
    .source = "HLS, RTSS 2001, section 5.1",
    .most_children = 1,
    .serial = true,
    .register_vp = limit_register_vp,
    .request = limit_request,
    .withdraw = limit_withdraw,
    .grant = limit_grant,
    .revoke = limit_revoke,
    .release = limit_release,
    .timer = limit_timer,
    .check_invariants = limit_check_invariants,
};
