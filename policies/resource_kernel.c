/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The resource kernel's CPU reserves (R. Rajkumar, K. Juvva, A. Molano, S. Oikawa, "Resource Kernels: A
 * Resource-Centric Approach to Real-Time and Multimedia Systems", MMCN 1998, section 3; S. Oikawa, R. Rajkumar,
 * "Portable RK", RTAS 1999): each VP has `budget` of CPU time in every `period`; of the VPs that have budget, the one
 * with the shortest period runs (rate monotonic).
 *
 * Budgets are renewed at fixed instants, a period apart, beginning with the VP's first request. Unused budget stays
 * until the next renewal, also while the VP sleeps (a deferrable server). The `kind` says what a VP gets when it has
 * used its budget:
 *
 *      0, hard    nothing, until its budget is renewed
 *      1, firm    the CPU if no VP with budget and no soft one wants it
 *      2, soft    the CPU if no VP with budget wants it
 *
 *      request        grant
 *     ---------> READY -----> RUNNING           the search tree `ready` is in order of ranks:
 *                ^   ^ revoke    |                with budget: the period
 *          timer |   +-----------+                depleted, soft: behind all these, in turns
 *                |               | revoke,        depleted, firm: behind those, in turns
 *             throttled <--------+ depleted and hard
 *
 * All VPs that want the CPU lie in the heap `due`, too, by the time when their budgets are renewed.
 *
 * What depleted VPs get costs no budget: no VP with budget wants it. In the paper, soft reserves compete with threads
 * that have no reserve, and firm ones come behind these. Here each child has a reserve: threads without one belong
 * below another scheduler, and a join, in place of firm and soft, takes a VP there.
 *
 * It can be cheated as any deferrable server can: a VP that uses its budget at the end of a period has the next one at
 * once, and takes twice the budget in a row. The analysis accounts for that. CPU time that a late timer lets a VP have
 * beyond its budget is a debt (budget.h).
 */
#include "../core/budget.h"

#define RESOURCE_KERNEL_PARAMS(P)                                                         \
	P(RESOURCE_KERNEL_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(1), \
	  "how long a depleted VP runs before others of its kind do")
#define RESOURCE_KERNEL_VP_PARAMS(P)                                                                        \
	P(RESOURCE_KERNEL_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                 \
	  "CPU time that the VP gets in every period")                                                      \
	P(RESOURCE_KERNEL_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                 \
	  "length of a period; the shortest goes first")                                                    \
	P(RESOURCE_KERNEL_KIND, "kind", HLS_COUNT, RESOURCE_KERNEL_HARD, RESOURCE_KERNEL_HARD,              \
	  RESOURCE_KERNEL_SOFT,                                                                             \
	  "what it has beyond its budget: 0 nothing, 1 (firm) what nobody else wants, 2 (soft) what no VP " \
	  "with budget wants")
#define RESOURCE_KERNEL_MESSAGES(M)

enum { RESOURCE_KERNEL_HARD, RESOURCE_KERNEL_FIRM, RESOURCE_KERNEL_SOFT };
enum { RESOURCE_KERNEL_PARAMS(HLS_PARAM_INDEX) };
enum { RESOURCE_KERNEL_VP_PARAMS(HLS_PARAM_INDEX) };

/* The rank of a depleted firm VP; the rank of a soft one is one less. All periods are shorter. */
#define RESOURCE_KERNEL_LAST_RANK HLS_S(7200)

struct resource_kernel {
	u32 ready; /* search tree of the VPs that may run, by rank */
	u32 due;   /* heap of the VPs that want the CPU, by the ends of their periods */
};

struct resource_kernel_vp {
	struct hls_budget budget;
	u64 rank;    /* its rank while it is READY, or when it was granted a CPU */
	u64 turn_ns; /* what is left of its turn among depleted VPs */
};

POLICY_WORDS(resource_kernel);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 resource_kernel_register_vp(hls_t *h, u32 s, u32 v)
{
	resource_kernel_vp_t *vp = POLICY_VP(resource_kernel, v);
	s64 budget = h->vp[v].param[RESOURCE_KERNEL_BUDGET];
	if (h->vp[v].param[RESOURCE_KERNEL_BUDGET] > h->vp[v].param[RESOURCE_KERNEL_PERIOD])
		return -HLS_E_PARAM;
	if (vp->budget.left_ns > budget)
		vp->budget.left_ns = budget;
	vp->turn_ns = h->scheduler[s].param[RESOURCE_KERNEL_QUANTUM];
	return 0;
}

/* If the VP's period is over, begins the period of now. */
static void resource_kernel_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(resource_kernel, v)->budget, h->vp[v].param[RESOURCE_KERNEL_BUDGET],
			     h->vp[v].param[RESOURCE_KERNEL_PERIOD]);
}

static u64 resource_kernel_rank(hls_t *h, u32 v)
{
	if (POLICY_VP(resource_kernel, v)->budget.left_ns > 0)
		return h->vp[v].param[RESOURCE_KERNEL_PERIOD];
	return RESOURCE_KERNEL_LAST_RANK - (h->vp[v].param[RESOURCE_KERNEL_KIND] == RESOURCE_KERNEL_SOFT);
}

static void resource_kernel_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(resource_kernel, s)->due;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

/* The VP's budget will be renewed at the end of its period. */
static void resource_kernel_await_end(hls_t *h, u32 s, u32 v)
{
	heap_push(h, &POLICY_STATE(resource_kernel, s)->due, v, POLICY_VP(resource_kernel, v)->budget.end_at,
		  h->seq++);
}

/* The VP no longer waits for a renewal. No effect for a RUNNING VP that the timer has already taken out. */
static void resource_kernel_forget_end(hls_t *h, u32 s, u32 v)
{
	if (h->node[v].dist)
		heap_remove(h, &POLICY_STATE(resource_kernel, s)->due, v);
}

static bool resource_kernel_may_run(hls_t *h, u32 v)
{
	return POLICY_VP(resource_kernel, v)->budget.left_ns > 0 ||
	       h->vp[v].param[RESOURCE_KERNEL_KIND] != RESOURCE_KERNEL_HARD;
}

/* Puts a VP that may run among the others of its rank, behind them or before them. */
static void resource_kernel_push(hls_t *h, u32 s, u32 v, bool behind)
{
	resource_kernel_vp_t *vp = POLICY_VP(resource_kernel, v);
	vp->rank = resource_kernel_rank(h, v);
	queue_push_tree(h, &POLICY_STATE(resource_kernel, s)->ready, v, vp->rank, queue_place(h, behind));
}

/* The VP is READY. */
static void resource_kernel_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	resource_kernel_await_end(h, s, v);
	if (resource_kernel_may_run(h, v))
		resource_kernel_push(h, s, v, behind);
	else
		hls_throttle(h, v);
	resource_kernel_set_timer(h, s);
}

static void resource_kernel_request(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(resource_kernel, v)->budget;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (unlikely(!budget->end_at))
		budget->end_at = h->now_ns;
	resource_kernel_renew_if_over(h, v);
	resource_kernel_enqueue(h, s, v, true);
}

static void resource_kernel_withdraw(hls_t *h, u32 s, u32 v)
{
	resource_kernel_forget_end(h, s, v);
	if (!(h->vp[v].flags & HLS_THROTTLED))
		queue_remove_tree(h, &POLICY_STATE(resource_kernel, s)->ready, v);
	resource_kernel_set_timer(h, s);
}

static bool resource_kernel_has_rank_of_budget(hls_t *h, u32 v)
{
	return POLICY_VP(resource_kernel, v)->rank < RESOURCE_KERNEL_LAST_RANK - 1;
}

static u32 resource_kernel_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 __arena *ready = &POLICY_STATE(resource_kernel, s)->ready;
	u32 v = queue_first_usable_of_tree(h, *ready, cpu);
	if (!v)
		return 0;
	resource_kernel_vp_t *vp = POLICY_VP(resource_kernel, v);
	queue_remove_tree(h, ready, v);
	h->slice_ns = resource_kernel_has_rank_of_budget(h, v) ? (u64)vp->budget.left_ns : vp->turn_ns;
	return v;
}

/* The VP had a CPU for used_ns, from its budget or beyond it. Returns whether others of its rank go next. */
static bool resource_kernel_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	resource_kernel_vp_t *vp = POLICY_VP(resource_kernel, v);
	bool yielded = h->vp[v].flags & HLS_YIELDED;
	if (!resource_kernel_has_rank_of_budget(h, v)) {
		bool over = hls_turn_over(h, v, &vp->turn_ns, used_ns);
		if (over)
			vp->turn_ns = h->scheduler[s].param[RESOURCE_KERNEL_QUANTUM];
		return over;
	}
	h->vp[v].flags &= ~HLS_YIELDED;
	budget_charge(h, v, &vp->budget, h->vp[v].param[RESOURCE_KERNEL_BUDGET],
		      h->vp[v].param[RESOURCE_KERNEL_PERIOD], used_ns);
	return yielded || vp->budget.left_ns <= 0;
}

static void resource_kernel_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool behind = resource_kernel_charge(h, s, v, used_ns);
	resource_kernel_forget_end(h, s, v);
	resource_kernel_renew_if_over(h, v);
	resource_kernel_enqueue(h, s, v, behind);
}

static void resource_kernel_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	resource_kernel_charge(h, s, v, used_ns);
	resource_kernel_forget_end(h, s, v);
	resource_kernel_set_timer(h, s);
}

static bool resource_kernel_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(resource_kernel, ready)->rank < POLICY_VP(resource_kernel, running)->rank;
}

/* A READY VP's period is over. */
static void resource_kernel_refill(hls_t *h, u32 s, u32 v)
{
	bool throttled = h->vp[v].flags & HLS_THROTTLED;
	resource_kernel_renew_if_over(h, v);
	resource_kernel_await_end(h, s, v);
	if (throttled && !resource_kernel_may_run(h, v))
		return;
	if (throttled)
		hls_unthrottle(h, v);
	else if (POLICY_VP(resource_kernel, v)->rank == resource_kernel_rank(h, v))
		return;
	else
		queue_remove_tree(h, &POLICY_STATE(resource_kernel, s)->ready, v);
	resource_kernel_push(h, s, v, true);
}

/* Deals with the periods that are over, one at each call: a RUNNING VP is revoked, so that it is charged first. */
static u32 resource_kernel_timer(hls_t *h, u32 s)
{
	u32 v = POLICY_STATE(resource_kernel, s)->due;
	if (!v || h->node[v].key > h->now_ns) {
		resource_kernel_set_timer(h, s);
		return 0;
	}
	resource_kernel_forget_end(h, s, v);
	if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	else
		resource_kernel_refill(h, s, v);
	return v;
}

/* No VP has more than a period's budget or the greatest debt; hard READY VPs are throttled exactly if depleted. */
static bool resource_kernel_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 left_ns = POLICY_VP(resource_kernel, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[RESOURCE_KERNEL_BUDGET] || left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && throttled == resource_kernel_may_run(h, v))
			return false;
	}
	return true;
}

static const struct hls_policy resource_kernel_policy = {
    .name = "resource-kernel",
    .what = "a budget in every period, hard, firm or soft, the shortest period first",
    .source = "Rajkumar et al., MMCN 1998; Oikawa and Rajkumar, RTAS 1999",
    .strict = true,
    .serial = true,
    .register_vp = resource_kernel_register_vp,
    .request = resource_kernel_request,
    .withdraw = resource_kernel_withdraw,
    .grant = resource_kernel_grant,
    .revoke = resource_kernel_revoke,
    .release = resource_kernel_release,
    .preempts = resource_kernel_preempts,
    .timer = resource_kernel_timer,
    .check_invariants = resource_kernel_check_invariants,
};
