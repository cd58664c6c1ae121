/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Constant bandwidth servers (L. Abeni, G. Buttazzo, "Integrating Multimedia Applications in Hard Real-Time Systems",
 * RTSS 1998, section 3), as published (soft), and hard.
 *
 * Each VP is a server with a budget Q in every period T, and thus a bandwidth U = Q/T. It has a deadline d, and what is
 * left of its budget, c. The READY server with the earliest deadline runs, and its c falls.
 *
 *      c is used up             soft: c = Q, and d is put off by T: it goes on at once, behind earlier deadlines
 *                               hard: it sleeps until d; then c = Q, and d is put off by T
 *      it wakes up at t < d     if c <= (d - t) * U, it goes on with both
 *                               else soft: c = Q, d = t + T; hard: c is cut to (d - t) * U
 *      it wakes up at t >= d    c = Q, d = t + T
 *      d passes                 soft: nothing; hard: what is left lapses, c = Q, and d is put off by T
 *
 *      request                        grant
 *   ------------> `ready`, by deadline ------------------> RUNNING
 *                   ^      ^                                  |
 *             timer |      +----------------------------------+  revoke: budget left, or soft
 *                   |                                         |
 *                `depleted`, by deadline (throttled) <--------+  hard, no budget
 *
 * A soft server isolates: whatever it does, the others have their bandwidths. It runs ahead while others sleep, which
 * puts its deadline off without limit, and then gets nothing until the others' deadlines are as late. So it has its
 * bandwidth since it woke up, and not in every window. The hard rules, which are not the publication's, give a
 * reservation: a new period at a wake-up would let a server that sleeps at the right times have 2Q in a row and more.
 *
 * Soft servers cannot be cheated: a server that uses more has later deadlines. CPU time that a late timer lets a hard
 * server have beyond its budget is a debt, which its next budgets pay (budget.h).
 */
#include "../core/budget.h"

#define CBS_PARAMS(P)
#define CBS_VP_PARAMS(P)                                                                              \
	P(CBS_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                       \
	  "CPU time that the VP gets in every period")                                                \
	P(CBS_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period") \
	P(CBS_SOFT, "soft", HLS_COUNT, 0, 0, 1, "1: as published, with a later deadline when the budget is used up")
#define CBS_MESSAGES(M)

enum { CBS_VP_PARAMS(HLS_PARAM_INDEX) };

struct cbs {
	struct hls_queue ready; /* by deadline */
	u32 depleted;           /* heap of the throttled VPs, by deadline */
};

struct cbs_vp {
	struct hls_budget budget; /* c, and d as the end of its period */
};

POLICY_WORDS(cbs);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 cbs_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	budget_t *budget = &POLICY_VP(cbs, v)->budget;
	s64 most_ns = h->vp[v].param[CBS_BUDGET];
	if (h->vp[v].param[CBS_BUDGET] > h->vp[v].param[CBS_PERIOD])
		return -HLS_E_PARAM;
	if (budget->left_ns > most_ns)
		budget->left_ns = most_ns;
	return 0;
}

static u64 cbs_deadline(hls_t *h, u32 v)
{
	return POLICY_VP(cbs, v)->budget.end_at;
}

static void cbs_wake(hls_t *h, u32 v)
{
	budget_t *budget = &POLICY_VP(cbs, v)->budget;
	u64 amount_ns = h->vp[v].param[CBS_BUDGET], period_ns = h->vp[v].param[CBS_PERIOD];
	if (h->now_ns < budget->end_at) {
		s64 bearable_ns = hls_mul_div_floor(budget->end_at - h->now_ns, amount_ns, period_ns);
		if (budget->left_ns <= bearable_ns)
			return;
		if (!h->vp[v].param[CBS_SOFT]) {
			budget_begin(h, v, budget, bearable_ns, budget->end_at);
			return;
		}
	}
	budget_begin(h, v, budget, amount_ns, h->now_ns + period_ns);
}

/* A soft server without budget gets the next one at once, a hard server when its deadline has passed. */
static void cbs_replenish(hls_t *h, u32 v)
{
	budget_t *budget = &POLICY_VP(cbs, v)->budget;
	u64 amount_ns = h->vp[v].param[CBS_BUDGET], period_ns = h->vp[v].param[CBS_PERIOD];
	if (!h->vp[v].param[CBS_SOFT]) {
		budget_renew_if_over(h, v, budget, amount_ns, period_ns);
		return;
	}
	if (budget->left_ns > 0)
		return;
	/* If its slice ended late, it may have used several budgets. */
	u64 overrun = (u64)-budget->left_ns / amount_ns;
	budget->left_ns += overrun * amount_ns;
	budget_begin(h, v, budget, amount_ns, budget->end_at + period_ns * (overrun + 1));
}

static void cbs_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(cbs, s)->depleted;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

/* The VP is READY: it is queued if it has budget, else throttled. */
static void cbs_enqueue(hls_t *h, u32 s, u32 v)
{
	cbs_t *cbs = POLICY_STATE(cbs, s);
	cbs_replenish(h, v);
	if (POLICY_VP(cbs, v)->budget.left_ns > 0) {
		queue_push(h, &cbs->ready, v, cbs_deadline(h, v));
		return;
	}
	hls_throttle(h, v);
	heap_push(h, &cbs->depleted, v, cbs_deadline(h, v), h->seq++);
	cbs_set_timer(h, s);
}

static void cbs_request(hls_t *h, u32 s, u32 v)
{
	cbs_wake(h, v);
	cbs_enqueue(h, s, v);
}

static void cbs_withdraw(hls_t *h, u32 s, u32 v)
{
	cbs_t *cbs = POLICY_STATE(cbs, s);
	if (!(h->vp[v].flags & HLS_THROTTLED)) {
		queue_remove(h, &cbs->ready, v);
		return;
	}
	heap_remove(h, &cbs->depleted, v);
	cbs_set_timer(h, s);
}

/* The budget that v has; for a hard server, not beyond its deadline. */
static u64 cbs_slice(hls_t *h, u32 v)
{
	const budget_t *budget = &POLICY_VP(cbs, v)->budget;
	u64 left_ns = budget->left_ns, lasts_ns = budget->end_at - h->now_ns;
	return h->vp[v].param[CBS_SOFT] || left_ns < lasts_ns ? left_ns : lasts_ns;
}

/* Hard servers with deadlines that passed while they were READY get new deadlines first. */
static u32 cbs_grant(hls_t *h, u32 s, u32 cpu)
{
	cbs_t *cbs = POLICY_STATE(cbs, s);
	for (u32 i = opaque(0); i < HLS_MAX_VPS && can_loop; i++) {
		u32 v = queue_first_usable(h, &cbs->ready, cpu);
		if (!v)
			return 0;
		queue_remove(h, &cbs->ready, v);
		if (h->vp[v].param[CBS_SOFT] || h->now_ns < cbs_deadline(h, v)) {
			h->slice_ns = cbs_slice(h, v);
			return v;
		}
		cbs_replenish(h, v);
		queue_push(h, &cbs->ready, v, cbs_deadline(h, v));
	}
	return 0;
}

static void cbs_charge(hls_t *h, u32 v, u64 used_ns)
{
	budget_t *budget = &POLICY_VP(cbs, v)->budget;
	if (h->vp[v].param[CBS_SOFT])
		budget_use(budget, used_ns);
	else
		budget_charge(h, v, budget, h->vp[v].param[CBS_BUDGET], h->vp[v].param[CBS_PERIOD], used_ns);
}

static void cbs_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	cbs_charge(h, v, used_ns);
	cbs_enqueue(h, s, v);
}

static void cbs_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)s;
	cbs_charge(h, v, used_ns);
}

static bool cbs_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return cbs_deadline(h, ready) < cbs_deadline(h, running);
}

/* The deadline of the first depleted VP has passed. */
static u32 cbs_timer(hls_t *h, u32 s)
{
	cbs_t *cbs = POLICY_STATE(cbs, s);
	u32 v = cbs->depleted;
	if (!v || h->node[v].key > h->now_ns) {
		cbs_set_timer(h, s);
		return 0;
	}
	heap_remove(h, &cbs->depleted, v);
	cbs_replenish(h, v);
	if (POLICY_VP(cbs, v)->budget.left_ns > 0) {
		hls_unthrottle(h, v);
		queue_push(h, &cbs->ready, v, cbs_deadline(h, v));
	} else {
		heap_push(h, &cbs->depleted, v, cbs_deadline(h, v), h->seq++);
	}
	return v;
}

/* A READY VP is throttled exactly if it has no budget, and no VP has more than one. */
static bool cbs_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 left_ns = POLICY_VP(cbs, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[CBS_BUDGET])
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (left_ns <= 0))
			return false;
	}
	return true;
}

static const struct hls_policy cbs_policy = {
    .name = "cbs",
    .what = "constant bandwidth servers by EDF, hard or soft",
    .source = "Abeni and Buttazzo, RTSS 1998, section 3",
    .strict = true,
    .serial = true,
    .register_vp = cbs_register_vp,
    .request = cbs_request,
    .withdraw = cbs_withdraw,
    .grant = cbs_grant,
    .revoke = cbs_revoke,
    .release = cbs_release,
    .preempts = cbs_preempts,
    .timer = cbs_timer,
    .check_invariants = cbs_check_invariants,
};
