/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU reservations, basic and hard, by EDF (RTSS 2001, section 5.1): each VP gets `budget` of CPU time in every period;
 * of the VPs that have budget, the one with the earliest end of its period runs; a VP without budget waits for its next
 * period. Hard: no VP gets more than its budget; CPU time that a late timer lets it have beyond that is a debt, which
 * its next budgets pay (budget.h).
 *
 * The wake-up rule, which the paper does not state: a VP that requests the CPU at time t, with c of its budget left
 * and its period ending at d > t, keeps both only if c <= (d - t) * budget / period. Otherwise the rest of the period
 * might not hold what the other VPs were promised. What happens then depends on why the VP was WAITING. If its thread
 * slept, a new period begins at t. If its child ran by another VP meanwhile (it is resumed, behind a join), the
 * period stays, and c is cut: to c less the time since the VP was released, which the child had by the other VP, or
 * to the bound if that is more. The other VPs are no worse off than if this VP had kept the CPU.
 *
 * A debt (c < 0) is kept at a wake-up: within the period the VP waits for the end of it, and a period that begins with
 * the wake-up begins with the budget less the debt. So no VP gets rid of its debt by sleeping. The promises of the
 * other VPs hold, except for one overrun of each: by the end of any of its periods, EDF must have done for a VP with a
 * debt at most what it must have done for one without.
 *
 *      request                        grant
 *   ------------> `ready` heap ---------------------> `running` heap
 *                   ^      ^     revoke, budget left      |
 *             timer |      +------------------------------+
 *                   |                                     | revoke, no budget
 *                `depleted` heap (throttled) <------------+
 *
 * All three heaps are ordered by the end of the period, and the timer is set to the first of all ends. The earliest end
 * of a VP with budget is the deadline that the scheduler tells the schedulers above. Below a slower processor, budgets
 * are in that processor's time (hls_amount_ns).
 */
#include "../core/budget.h"

#define RESERVATION_PARAMS(P)
#define RESERVATION_VP_PARAMS(P)                                                        \
	P(RESERVATION_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "CPU time that the VP gets in every period")                                  \
	P(RESERVATION_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period")
#define RESERVATION_MESSAGES(M)

enum { RESERVATION_VP_PARAMS(HLS_PARAM_INDEX) };

struct reservation {
	struct hls_queue ready;
	u32 running, depleted;
};

struct reservation_vp {
	struct hls_budget budget; /* the end of its period is the VP's deadline */
	u64 released_at;          /* when it was last released from a CPU */
};

POLICY_WORDS(reservation);

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 reservation_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	reservation_vp_t *vp = POLICY_VP(reservation, v);
	s64 budget = h->vp[v].param[RESERVATION_BUDGET];
	if (h->vp[v].param[RESERVATION_BUDGET] > h->vp[v].param[RESERVATION_PERIOD])
		return -HLS_E_PARAM;
	if (vp->budget.left_ns > budget)
		vp->budget.left_ns = budget;
	return 0;
}

/* The VP's budget; below a slower processor, a part of the budget in the parameters. */
static u64 reservation_amount_ns(hls_t *h, u32 v)
{
	return hls_amount_ns(h, h->vp[v].parent, h->vp[v].param[RESERVATION_BUDGET]);
}

static bool reservation_has_budget(hls_t *h, u32 v)
{
	return POLICY_VP(reservation, v)->budget.left_ns > 0;
}

static u64 reservation_deadline_at(hls_t *h, u32 v)
{
	return POLICY_VP(reservation, v)->budget.end_at;
}

/* If the VP's period is over, begins the period of now. */
static void reservation_renew_if_over(hls_t *h, u32 v)
{
	budget_renew_if_over(h, v, &POLICY_VP(reservation, v)->budget, reservation_amount_ns(h, v),
			     h->vp[v].param[RESERVATION_PERIOD]);
}

/* The wake-up rule. */
static void reservation_wake(hls_t *h, u32 v)
{
	reservation_vp_t *vp = POLICY_VP(reservation, v);
	u64 budget = reservation_amount_ns(h, v), period = h->vp[v].param[RESERVATION_PERIOD];
	bool resumed = h->vp[v].flags & HLS_RESUMED;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (h->now_ns < vp->budget.end_at) {
		s64 bearable_ns = hls_mul_div_floor(vp->budget.end_at - h->now_ns, budget, period);
		s64 elsewhere_ns = h->now_ns - vp->released_at;
		if (resumed && vp->budget.left_ns > bearable_ns + elsewhere_ns)
			bearable_ns = vp->budget.left_ns - elsewhere_ns;
		if (vp->budget.left_ns <= bearable_ns)
			return;
		if (resumed) {
			budget_begin(h, v, &vp->budget, bearable_ns, vp->budget.end_at);
			return;
		}
	}
	budget_begin(h, v, &vp->budget, budget, h->now_ns + period);
}

static void reservation_set_timer(hls_t *h, u32 s)
{
	reservation_t *res = POLICY_STATE(reservation, s);
	u64 first = HLS_NEVER;
	u32 ready = queue_first(h, &res->ready);
	if (ready)
		first = reservation_deadline_at(h, ready);
	/* If the period of a RUNNING VP is over, the VP is about to be revoked, and that sets the timer again. */
	if (res->running && h->node[res->running].key < first && h->node[res->running].key > h->now_ns)
		first = h->node[res->running].key;
	if (first != HLS_NEVER)
		hls_tell_parents(h, s, HLS_TOLD_DEADLINE, first);
	if (res->depleted && h->node[res->depleted].key < first)
		first = h->node[res->depleted].key;
	hls_set_timer(h, s, first);
}

/* The VP is READY: it goes into the heap `ready` if it has budget, else it is throttled. */
static void reservation_enqueue(hls_t *h, u32 s, u32 v)
{
	reservation_t *res = POLICY_STATE(reservation, s);
	if (reservation_has_budget(h, v)) {
		queue_push(h, &res->ready, v, reservation_deadline_at(h, v));
	} else {
		hls_throttle(h, v);
		heap_push(h, &res->depleted, v, reservation_deadline_at(h, v), h->seq++);
	}
	reservation_set_timer(h, s);
}

static void reservation_request(hls_t *h, u32 s, u32 v)
{
	reservation_wake(h, v);
	reservation_enqueue(h, s, v);
}

static void reservation_withdraw(hls_t *h, u32 s, u32 v)
{
	reservation_t *res = POLICY_STATE(reservation, s);
	if (h->vp[v].flags & HLS_THROTTLED)
		heap_remove(h, &res->depleted, v);
	else
		queue_remove(h, &res->ready, v);
	reservation_set_timer(h, s);
}

static u32 reservation_grant(hls_t *h, u32 s, u32 cpu)
{
	reservation_t *res = POLICY_STATE(reservation, s);
	u32 v = queue_first_usable(h, &res->ready, cpu);
	if (v) {
		queue_remove(h, &res->ready, v);
		heap_push(h, &res->running, v, reservation_deadline_at(h, v), h->seq++);
		h->slice_ns = POLICY_VP(reservation, v)->budget.left_ns;
	}
	return v;
}

static void reservation_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	heap_remove(h, &POLICY_STATE(reservation, s)->running, v);
	budget_charge(h, v, &POLICY_VP(reservation, v)->budget, reservation_amount_ns(h, v),
		      h->vp[v].param[RESERVATION_PERIOD], used_ns);
}

static void reservation_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	reservation_charge(h, s, v, used_ns);
	reservation_renew_if_over(h, v);
	reservation_enqueue(h, s, v);
}

static void reservation_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	reservation_charge(h, s, v, used_ns);
	POLICY_VP(reservation, v)->released_at = h->now_ns;
	reservation_set_timer(h, s);
}

static bool reservation_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return reservation_deadline_at(h, ready) < reservation_deadline_at(h, running);
}

/* The READY VP has no budget in its next period: its processor has become slower. */
HLS_RARE_FUNC u32 reservation_throttle(hls_t *h __arg_arena, u32 v)
{
	hls_throttle(h, v);
	return 0;
}

/* The first depleted VP begins its next period if the one before is over. Returns that VP; 0: none. */
static u32 reservation_refill(hls_t *h, u32 s)
{
	reservation_t *res = POLICY_STATE(reservation, s);
	u32 v = res->depleted;
	if (!v || h->node[v].key > h->now_ns) {
		reservation_set_timer(h, s);
		return 0;
	}
	heap_remove(h, &res->depleted, v);
	reservation_renew_if_over(h, v);
	if (reservation_has_budget(h, v)) {
		hls_unthrottle(h, v);
		queue_push(h, &res->ready, v, reservation_deadline_at(h, v));
	} else {
		heap_push(h, &res->depleted, v, reservation_deadline_at(h, v), h->seq++);
	}
	return v;
}

/*
 * Some periods are over: RUNNING VPs are revoked, so that they are charged for the old period first. A READY VP begins
 * its next period, and when all READY VPs have, a depleted VP does: one VP at each call.
 */
static u32 reservation_timer(hls_t *h, u32 s)
{
	reservation_t *res = POLICY_STATE(reservation, s);
	u32 v = res->running;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		if (h->node[v].key <= h->now_ns)
			hls_recheck(h, v);
		v = heap_next(h, v);
	}
	v = queue_first(h, &res->ready);
	if (!v || reservation_deadline_at(h, v) > h->now_ns)
		return reservation_refill(h, s);
	queue_remove(h, &res->ready, v);
	reservation_renew_if_over(h, v);
	if (likely(reservation_has_budget(h, v))) {
		queue_push(h, &res->ready, v, reservation_deadline_at(h, v));
	} else {
		reservation_throttle(h, v);
		heap_push(h, &res->depleted, v, reservation_deadline_at(h, v), h->seq++);
	}
	return v;
}

/* No VP has more than a period's budget or the greatest debt; a READY VP is throttled exactly if it has no budget. */
static bool reservation_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 left_ns = POLICY_VP(reservation, v)->budget.left_ns;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (left_ns > (s64)h->vp[v].param[RESERVATION_BUDGET] || left_ns < -(s64)HLS_MOST_DEBT_NS)
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (left_ns <= 0))
			return false;
	}
	return true;
}

static const struct hls_policy reservation_policy = {
    .name = "reservation",
    .what = "a hard budget of CPU time in every period, by EDF",
    .source = "HLS, RTSS 2001, section 5.1",
    .strict = true,
    .serial = true,
    .tells_deadlines = true,
    .register_vp = reservation_register_vp,
    .request = reservation_request,
    .withdraw = reservation_withdraw,
    .grant = reservation_grant,
    .revoke = reservation_revoke,
    .release = reservation_release,
    .preempts = reservation_preempts,
    .timer = reservation_timer,
    .check_invariants = reservation_check_invariants,
};
