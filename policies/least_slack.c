/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Least slack first (A. K. Mok, "Fundamental Design Problems of Distributed Systems for the Hard-Real-Time
 * Environment", MIT 1983; M. L. Dertouzos, "Control Robotics: The Procedural Control of Physical Processes", IFIP
 * 1974): each VP has `budget` of CPU time in every period; the VP that can be put off for the shortest time runs.
 *
 * A VP with c of its budget left and its period ending at d has the slack d - c - t at the time t. Until it runs, the
 * latest time to run, d - c, stays the same: so READY VPs lie in a tree by d - c. While it runs, c falls and d - c
 * grows, until another VP must run earlier:
 *
 *      d - c
 *        |         a runs /|  b runs
 *        |            /.....|.......... quantum
 *        |  b waits _/______|
 *        |       /
 *        +-----/-----------------------> t
 *
 * Once their slacks are equal, the CPU would change hands without end. So the RUNNING VP goes on until another VP has
 * less slack by `quantum`. Only a VP that becomes READY with less slack preempts at once.
 *
 * The quantum weakens the guarantee of least slack: each VP is as sure of its budget as if all budgets were longer by a
 * quantum (the calculus has the proof). So the wake-up rule is stricter than the one in reservation.c. A VP that
 * requests the CPU at t begins a new period if c > (d - t) * budget / period; otherwise c is cut to (d - t) * (budget +
 * quantum) / period - quantum, if c is more. That is never less than what the VP was promised.
 *
 * CPU time that a late timer lets a VP have beyond its budget is a debt (budget.h). Unlike in the papers, where jobs
 * run until they are done, budgets are hard. On several CPUs nothing is promised; a VP that becomes READY is compared
 * with all RUNNING VPs.
 */
#include "../core/budget.h"

#define LEAST_SLACK_PARAMS(P)                                                        \
	P(LEAST_SLACK_QUANTUM, "quantum", HLS_TIME, HLS_MS(1), HLS_US(10), HLS_S(1), \
	  "another VP runs instead when it has this much less slack")
#define LEAST_SLACK_VP_PARAMS(P)                                                        \
	P(LEAST_SLACK_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "CPU time that the VP gets in every period")                                  \
	P(LEAST_SLACK_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period")
#define LEAST_SLACK_MESSAGES(M)

enum { LEAST_SLACK_PARAMS(HLS_PARAM_INDEX) };
enum { LEAST_SLACK_VP_PARAMS(HLS_PARAM_INDEX) };

struct least_slack {
	u32 ready; /* search tree of the VPs that may run, by their latest start */
	u32 due;   /* heap of the VPs that want the CPU, by the ends of their periods */
};

struct least_slack_vp {
	struct hls_budget budget; /* the end of its period is the VP's deadline */
};

POLICY_WORDS(least_slack);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 least_slack_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	least_slack_vp_t *vp = POLICY_VP(least_slack, v);
	s64 budget = h->vp[v].param[LEAST_SLACK_BUDGET];
	if (h->vp[v].param[LEAST_SLACK_BUDGET] > h->vp[v].param[LEAST_SLACK_PERIOD])
		return -HLS_E_PARAM;
	if (vp->budget.left_ns > budget)
		vp->budget.left_ns = budget;
	return 0;
}

static bool least_slack_has_budget(hls_t *h, u32 v)
{
	return POLICY_VP(least_slack, v)->budget.left_ns > 0;
}

/* When the READY VP must run at the latest. */
static u64 least_slack_latest(hls_t *h, u32 v)
{
	const struct hls_budget __arena *budget = &POLICY_VP(least_slack, v)->budget;
	return budget->end_at - budget->left_ns;
}

/* If the VP's period is over, begins the period of now. */
static void least_slack_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(least_slack, v)->budget, h->vp[v].param[LEAST_SLACK_BUDGET],
			     h->vp[v].param[LEAST_SLACK_PERIOD]);
}

/* The budget that a waking VP may keep with `rest_ns` left of its period. A VP without siblings may keep all. */
static s64 least_slack_bearable_ns(hls_t *h, u32 s, u32 v, u64 rest_ns)
{
	u64 amount = h->vp[v].param[LEAST_SLACK_BUDGET], quantum = h->scheduler[s].param[LEAST_SLACK_QUANTUM];
	if (h->scheduler[s].nr_children == 1)
		return amount;
	u64 worth_ns = hls_mul_div_floor(rest_ns, amount + quantum, h->vp[v].param[LEAST_SLACK_PERIOD]);
	return worth_ns > quantum ? worth_ns - quantum : 0;
}

/* The wake-up rule. */
static void least_slack_wake(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(least_slack, v)->budget;
	u64 amount = h->vp[v].param[LEAST_SLACK_BUDGET], period = h->vp[v].param[LEAST_SLACK_PERIOD];
	u64 rest_ns = h->now_ns < budget->end_at ? budget->end_at - h->now_ns : 0;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (!rest_ns || budget->left_ns > (s64)hls_mul_div_floor(rest_ns, amount, period)) {
		budget_begin(h, v, budget, amount, h->now_ns + period);
		return;
	}
	s64 bearable_ns = least_slack_bearable_ns(h, s, v, rest_ns);
	if (budget->left_ns > bearable_ns)
		budget->left_ns = bearable_ns;
}

static void least_slack_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(least_slack, s)->due;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

static void least_slack_await_end(hls_t *h, u32 s, u32 v)
{
	heap_push(h, &POLICY_STATE(least_slack, s)->due, v, POLICY_VP(least_slack, v)->budget.end_at, h->seq++);
}

/* The VP no longer waits for the end of its period. No effect for a RUNNING VP that the timer has already taken out. */
static void least_slack_forget_end(hls_t *h, u32 s, u32 v)
{
	if (h->node[v].dist)
		heap_remove(h, &POLICY_STATE(least_slack, s)->due, v);
}

/*
 * v has become READY. A RUNNING VP with a slice beyond the time when v has a quantum less slack is revoked and chosen
 * again, with a shorter slice. (One that v preempts already is revoked anyway.)
 */
HLS_RARE_FUNC u32 least_slack_shorten(hls_t *h __arg_arena, u32 s, u32 v)
{
	u64 limit = least_slack_latest(h, v) + h->scheduler[s].param[LEAST_SLACK_QUANTUM];
	for_each_up (h, u, s) {
		u32 r = hls_running_by(h, s, u);
		if (!r || !hls_usable(&h->vp[v], h->vp[r].cpu))
			continue;
		u64 latest = least_slack_latest(h, r) + hls_used_ns(h, r);
		if (latest < limit && hls_slice_left_ns(h, r) > limit - latest)
			hls_recheck(h, r);
	}
	return 0;
}

static void least_slack_push(hls_t *h, u32 s, u32 v)
{
	queue_push_tree(h, &POLICY_STATE(least_slack, s)->ready, v, least_slack_latest(h, v), h->seq++);
}

/* The VP is READY. */
static void least_slack_enqueue(hls_t *h, u32 s, u32 v)
{
	least_slack_await_end(h, s, v);
	if (least_slack_has_budget(h, v))
		least_slack_push(h, s, v);
	else
		hls_throttle(h, v);
	least_slack_set_timer(h, s);
}

static void least_slack_request(hls_t *h, u32 s, u32 v)
{
	least_slack_wake(h, s, v);
	least_slack_enqueue(h, s, v);
	if (!(h->vp[v].flags & HLS_THROTTLED))
		least_slack_shorten(h, s, v);
}

static void least_slack_withdraw(hls_t *h, u32 s, u32 v)
{
	least_slack_forget_end(h, s, v);
	if (!(h->vp[v].flags & HLS_THROTTLED))
		queue_remove_tree(h, &POLICY_STATE(least_slack, s)->ready, v);
	least_slack_set_timer(h, s);
}

/* The slice lasts until the next VP has a quantum less slack, or the budget is used. */
static u32 least_slack_grant(hls_t *h, u32 s, u32 cpu)
{
	least_slack_t *slack = POLICY_STATE(least_slack, s);
	u32 v = queue_first_usable_of_tree(h, slack->ready, cpu);
	if (!v)
		return 0;
	queue_remove_tree(h, &slack->ready, v);
	u32 next = queue_first_usable_of_tree(h, slack->ready, cpu);
	h->slice_ns = POLICY_VP(least_slack, v)->budget.left_ns;
	if (next) {
		u64 ahead_ns = least_slack_latest(h, next) - least_slack_latest(h, v);
		u64 longest_ns = ahead_ns + h->scheduler[s].param[LEAST_SLACK_QUANTUM];
		if (h->slice_ns > longest_ns)
			h->slice_ns = longest_ns;
	}
	return v;
}

static void least_slack_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	least_slack_forget_end(h, s, v);
	budget_charge(h, v, &POLICY_VP(least_slack, v)->budget, h->vp[v].param[LEAST_SLACK_BUDGET],
		      h->vp[v].param[LEAST_SLACK_PERIOD], used_ns);
}

static void least_slack_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	least_slack_charge(h, s, v, used_ns);
	least_slack_renew_if_over(h, v);
	least_slack_enqueue(h, s, v);
}

static void least_slack_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	least_slack_charge(h, s, v, used_ns);
	least_slack_set_timer(h, s);
}

static bool least_slack_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return least_slack_latest(h, ready) < least_slack_latest(h, running) + hls_used_ns(h, running);
}

/* A READY VP's period is over. */
static void least_slack_refill(hls_t *h, u32 s, u32 v)
{
	bool throttled = h->vp[v].flags & HLS_THROTTLED;
	least_slack_renew_if_over(h, v);
	least_slack_await_end(h, s, v);
	if (!throttled)
		queue_remove_tree(h, &POLICY_STATE(least_slack, s)->ready, v);
	else if (!least_slack_has_budget(h, v))
		return;
	else
		hls_unthrottle(h, v);
	least_slack_push(h, s, v);
	least_slack_shorten(h, s, v);
}

/* Deals with the periods that are over, one at each call: a RUNNING VP is revoked, so that it is charged first. */
static u32 least_slack_timer(hls_t *h, u32 s)
{
	u32 v = POLICY_STATE(least_slack, s)->due;
	if (!v || h->node[v].key > h->now_ns) {
		least_slack_set_timer(h, s);
		return 0;
	}
	least_slack_forget_end(h, s, v);
	if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	else
		least_slack_refill(h, s, v);
	return v;
}

/* No VP exceeds its budget or the greatest debt; a READY VP is throttled exactly if it has no budget. */
static bool least_slack_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 left_ns = POLICY_VP(least_slack, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[LEAST_SLACK_BUDGET] || left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (left_ns <= 0))
			return false;
	}
	return true;
}

static const struct hls_policy least_slack_policy = {
    .name = "least-slack",
    .what = "a hard budget in every period, the least slack first",
    .source = "Dertouzos, IFIP 1974; Mok, MIT 1983",
    .serial = true,
    .register_vp = least_slack_register_vp,
    .request = least_slack_request,
    .withdraw = least_slack_withdraw,
    .grant = least_slack_grant,
    .revoke = least_slack_revoke,
    .release = least_slack_release,
    .preempts = least_slack_preempts,
    .timer = least_slack_timer,
    .check_invariants = least_slack_check_invariants,
};
