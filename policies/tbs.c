/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Total bandwidth servers (M. Spuri, G. Buttazzo, "Scheduling Aperiodic Tasks in Dynamic Priority Systems", Real-Time
 * Systems 1996, section 4), with hard budgets, and with slack for VPs without budget.
 *
 * Each VP is a server with a bandwidth U = budget/period, and a job is one budget of its child's CPU time. As
 * published, job k, which comes at r, is due at d_k = max(r, d_(k-1)) + C/U; the job that is due first runs. Since it
 * is not known how long a child will run, each job has C = budget and thus d_k = max(r, d_(k-1)) + period; and two
 * rules are added:
 *
 *      a job is done before d_k     the next one begins at d_k. Until then the child has the CPU while no VP with
 *                                   budget wants it (slack), which costs no budget: VPs have the slack in turns
 *      the child wakes up at w      the rest c of its job, due at d, goes on if c <= (d - w) * U; else a new job
 *                                   begins at w. So no child puts its deadline off by sleep
 *
 * As published, a child that always wants the CPU would have its next job at once, run ahead while others sleep, and
 * then get nothing for as long. With these rules it has its budget in every period, and the slack besides.
 *
 *      request              grant
 *   -----------> `ready`, by deadline ----------> RUNNING
 *                    ^                               |
 *       timer: d_k   |   +---------------------------+  revoke
 *                    |   v         grant
 *      `slack`, in turns ---------------> RUNNING       READY or RUNNING, a VP without budget lies in the heap
 *                        <---------------               `depleted` by its deadline, too.
 *                             revoke
 *
 * A job that is not done at its deadline, which happens if the CPU is overcommitted, is given up, and the next one
 * begins. CPU time that a late timer lets a VP have beyond its budget is a debt (budget.h); slack that it used beyond
 * its deadline is charged to the job that began then.
 */
#include "../core/budget.h"

#define TBS_PARAMS(P)                                                         \
	P(TBS_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(1), \
	  "how long a VP without budget runs before others without budget do")
#define TBS_VP_PARAMS(P)                                                        \
	P(TBS_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "CPU time that the VP gets in every period")                          \
	P(TBS_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period")
#define TBS_MESSAGES(M)

enum { TBS_PARAMS(HLS_PARAM_INDEX) };
enum { TBS_VP_PARAMS(HLS_PARAM_INDEX) };

struct tbs {
	struct hls_queue ready; /* VPs with budget, by deadline */
	struct hls_fifo slack;  /* VPs without budget, in turns */
	u32 depleted;           /* heap of the READY and RUNNING VPs without budget, by deadline */
};

struct tbs_vp {
	struct hls_budget budget; /* of its job, and when that is due */
	u64 turn_ns;              /* what is left of its turn of the slack */
};

POLICY_WORDS(tbs);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 tbs_register_vp(hls_t *h, u32 s, u32 v)
{
	tbs_vp_t *vp = POLICY_VP(tbs, v);
	s64 budget = h->vp[v].param[TBS_BUDGET];
	if (h->vp[v].param[TBS_BUDGET] > h->vp[v].param[TBS_PERIOD])
		return -HLS_E_PARAM;
	if (vp->budget.left_ns > budget)
		vp->budget.left_ns = budget;
	vp->turn_ns = h->scheduler[s].param[TBS_QUANTUM];
	return 0;
}

static bool tbs_has_budget(hls_t *h, u32 v)
{
	return POLICY_VP(tbs, v)->budget.left_ns > 0;
}

static u64 tbs_deadline(hls_t *h, u32 v)
{
	return POLICY_VP(tbs, v)->budget.end_at;
}

/* If the VP's job is due, the next one begins. */
static void tbs_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(tbs, v)->budget, h->vp[v].param[TBS_BUDGET],
			     h->vp[v].param[TBS_PERIOD]);
}

/* The wake-up rule. */
static void tbs_wake(hls_t *h, u32 v)
{
	budget_t *budget = &POLICY_VP(tbs, v)->budget;
	u64 amount_ns = h->vp[v].param[TBS_BUDGET], period_ns = h->vp[v].param[TBS_PERIOD];
	if (h->now_ns < budget->end_at &&
	    budget->left_ns <= (s64)hls_mul_div_floor(budget->end_at - h->now_ns, amount_ns, period_ns))
		return;
	budget_begin(h, v, budget, amount_ns, h->now_ns + period_ns);
}

static void tbs_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(tbs, s)->depleted;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

/* The VP begins its next job at its deadline. */
static void tbs_await_deadline(hls_t *h, u32 s, u32 v)
{
	heap_push(h, &POLICY_STATE(tbs, s)->depleted, v, tbs_deadline(h, v), h->seq++);
}

/* The VP without budget no longer awaits its deadline. No effect for a RUNNING VP that the timer has taken out. */
static void tbs_forget_deadline(hls_t *h, u32 s, u32 v)
{
	if (h->node[v].dist)
		heap_remove(h, &POLICY_STATE(tbs, s)->depleted, v);
	tbs_set_timer(h, s);
}

/* The VP is READY. Among those without budget it is behind the others, or before them. */
static void tbs_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	tbs_t *tbs = POLICY_STATE(tbs, s);
	if (tbs_has_budget(h, v)) {
		queue_push(h, &tbs->ready, v, tbs_deadline(h, v));
		return;
	}
	tbs_await_deadline(h, s, v);
	fifo_push(h, &tbs->slack, v, behind);
	tbs_set_timer(h, s);
}

static void tbs_request(hls_t *h, u32 s, u32 v)
{
	h->vp[v].flags &= ~HLS_RESUMED;
	tbs_wake(h, v);
	tbs_enqueue(h, s, v, true);
}

static void tbs_withdraw(hls_t *h, u32 s, u32 v)
{
	tbs_t *tbs = POLICY_STATE(tbs, s);
	if (tbs_has_budget(h, v)) {
		queue_remove(h, &tbs->ready, v);
		return;
	}
	fifo_remove(h, &tbs->slack, v);
	tbs_forget_deadline(h, s, v);
}

/* The first VP with budget that can use the CPU; jobs that became due while they waited are given up first. */
static u32 tbs_first(hls_t *h, u32 s, u32 cpu)
{
	tbs_t *tbs = POLICY_STATE(tbs, s);
	for (u32 i = opaque(0); i < HLS_MAX_VPS && can_loop; i++) {
		u32 v = queue_first_usable(h, &tbs->ready, cpu);
		if (!v)
			return 0;
		queue_remove(h, &tbs->ready, v);
		if (h->now_ns < tbs_deadline(h, v))
			return v;
		tbs_renew_if_over(h, v);
		queue_push(h, &tbs->ready, v, tbs_deadline(h, v));
	}
	return 0;
}

static u32 tbs_grant(hls_t *h, u32 s, u32 cpu)
{
	tbs_t *tbs = POLICY_STATE(tbs, s);
	u32 v = tbs_first(h, s, cpu);
	if (v) {
		u64 left_ns = POLICY_VP(tbs, v)->budget.left_ns, lasts_ns = tbs_deadline(h, v) - h->now_ns;
		h->slice_ns = left_ns < lasts_ns ? left_ns : lasts_ns;
		return v;
	}
	v = fifo_first_usable(h, &tbs->slack, cpu);
	if (v) {
		fifo_remove(h, &tbs->slack, v);
		h->slice_ns = POLICY_VP(tbs, v)->turn_ns;
	}
	return v;
}

/* The VP had a CPU for used_ns, from its budget or from the slack. Returns whether others without budget go next. */
static bool tbs_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	tbs_vp_t *vp = POLICY_VP(tbs, v);
	bool over = true;
	if (!tbs_has_budget(h, v)) {
		u64 end_at = vp->budget.end_at, since_ns = 0;
		if (h->now_ns > end_at)
			since_ns = h->now_ns - end_at - hls_stolen_since_ns(h, v, end_at);
		tbs_forget_deadline(h, s, v);
		over = hls_turn_over(h, v, &vp->turn_ns, used_ns);
		if (over)
			vp->turn_ns = h->scheduler[s].param[TBS_QUANTUM];
		used_ns = used_ns < since_ns ? used_ns : since_ns;
	}
	h->vp[v].flags &= ~HLS_YIELDED;
	budget_charge(h, v, &vp->budget, h->vp[v].param[TBS_BUDGET], h->vp[v].param[TBS_PERIOD], used_ns);
	return over;
}

static void tbs_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool behind = tbs_charge(h, s, v, used_ns);
	tbs_renew_if_over(h, v);
	tbs_enqueue(h, s, v, behind);
}

static void tbs_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	tbs_charge(h, s, v, used_ns);
}

static bool tbs_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return tbs_has_budget(h, ready) &&
	       (!tbs_has_budget(h, running) || tbs_deadline(h, ready) < tbs_deadline(h, running));
}

/* The deadline of the first VP without budget has come: a RUNNING one is revoked, so that its slack ends there. */
static u32 tbs_timer(hls_t *h, u32 s)
{
	tbs_t *tbs = POLICY_STATE(tbs, s);
	u32 v = tbs->depleted;
	if (!v || h->node[v].key > h->now_ns) {
		tbs_set_timer(h, s);
		return 0;
	}
	heap_remove(h, &tbs->depleted, v);
	if (h->vp[v].state == HLS_RUNNING) {
		hls_recheck(h, v);
		return v;
	}
	tbs_renew_if_over(h, v);
	if (tbs_has_budget(h, v)) {
		fifo_remove(h, &tbs->slack, v);
		queue_push(h, &tbs->ready, v, tbs_deadline(h, v));
	} else {
		tbs_await_deadline(h, s, v);
	}
	return v;
}

/* No VP exceeds its budget or the greatest debt, and READY VPs without budget await their deadlines. */
static bool tbs_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 left_ns = POLICY_VP(tbs, v)->budget.left_ns;
		if (left_ns > (s64)h->vp[v].param[TBS_BUDGET] || left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && left_ns <= 0 && !h->node[v].dist)
			return false;
	}
	return true;
}

static const struct hls_policy tbs_policy = {
    .name = "tbs",
    .what = "total bandwidth servers by EDF, with hard budgets, and the slack in turns",
    .source = "Spuri and Buttazzo, Real-Time Systems 1996, section 4",
    .strict = true,
    .serial = true,
    .register_vp = tbs_register_vp,
    .request = tbs_request,
    .withdraw = tbs_withdraw,
    .grant = tbs_grant,
    .revoke = tbs_revoke,
    .release = tbs_release,
    .preempts = tbs_preempts,
    .timer = tbs_timer,
    .check_invariants = tbs_check_invariants,
};
