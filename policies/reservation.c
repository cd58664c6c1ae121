/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU reservations, basic and hard, by EDF (RTSS 2001, section 5.1): each VP gets `budget` of CPU time in every
 * period; of the VPs that have budget, the one whose period ends first runs; a VP without budget waits for its next
 * period. Hard: no VP gets more than its budget. A VP that a late timer lets run over its budget does not pay that
 * back: the budget ends at 0, and the time is lost to the other VPs.
 *
 * The wake-up rule, which the paper does not state: a VP that requests the CPU at time t, with c of its budget left
 * and its period ending at d > t, keeps both only if c <= (d - t) * budget / period. Otherwise the rest of the period
 * might not hold what the other VPs were promised. What happens then depends on why the VP was WAITING. If its thread
 * slept, a new period begins at t. If its child ran by another VP meanwhile (it is resumed, behind a join), the
 * period stays, and c is cut: to c less the time since the VP was released, which the child had by the other VP, or
 * to the bound if that is more. The other VPs are no worse off than if this VP had kept the CPU.
 *
 *      request                        grant
 *   ------------> `ready` heap ---------------------> `running` heap
 *                   ^      ^     revoke, budget left      |
 *             timer |      +------------------------------+
 *                   |                                     | revoke, no budget
 *                `depleted` heap (throttled) <------------+
 *
 * All three heaps are ordered by the end of the period, and the timer is set to the first of all ends.
 */
#include "../core/policy.h"

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
	u64 budget_ns;   /* left in this period */
	u64 deadline_at; /* end of this period */
	u64 released_at; /* when it was last released from a CPU */
};

POLICY_FITS(struct reservation, struct reservation_vp);

/* A VP whose parameters have changed keeps what is left of its budget, as far as the new budget allows. */
static s64 reservation_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
	u64 budget = h->vp[v].param[RESERVATION_BUDGET];
	if (budget > h->vp[v].param[RESERVATION_PERIOD])
		return -HLS_E_PARAM;
	if (vp->budget_ns > budget)
		vp->budget_ns = budget;
	return 0;
}

static void reservation_replenish(hls_t *h, u32 v, u64 budget_ns, u64 deadline_at)
{
	struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
	vp->budget_ns = budget_ns;
	vp->deadline_at = deadline_at;
	hls_emit(h, v, HLS_REC_REPLENISH, budget_ns, deadline_at);
}

/* If the VP's period is over, begins the period of now; those between, which a late timer missed, are skipped. */
static void reservation_renew_if_over(hls_t *h, u32 v)
{
	struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
	u64 period = h->vp[v].param[RESERVATION_PERIOD];
	if (h->now_ns >= vp->deadline_at)
		reservation_replenish(h, v, h->vp[v].param[RESERVATION_BUDGET],
				      vp->deadline_at + period * ((h->now_ns - vp->deadline_at) / period + 1));
}

/* The wake-up rule. */
static void reservation_wake(hls_t *h, u32 v)
{
	struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
	u64 budget = h->vp[v].param[RESERVATION_BUDGET], period = h->vp[v].param[RESERVATION_PERIOD];
	bool resumed = h->vp[v].flags & HLS_RESUMED;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (h->now_ns < vp->deadline_at) {
		u64 bearable_ns = hls_mul_div_floor(vp->deadline_at - h->now_ns, budget, period);
		u64 elsewhere_ns = h->now_ns - vp->released_at;
		if (resumed && vp->budget_ns > bearable_ns + elsewhere_ns)
			bearable_ns = vp->budget_ns - elsewhere_ns;
		if (vp->budget_ns <= bearable_ns)
			return;
		if (resumed) {
			reservation_replenish(h, v, bearable_ns, vp->deadline_at);
			return;
		}
	}
	reservation_replenish(h, v, budget, h->now_ns + period);
}

static void reservation_set_timer(hls_t *h, u32 s)
{
	struct reservation __arena *res = POLICY_STATE(struct reservation, s);
	u64 first = HLS_NEVER;
	u32 ready = queue_first(h, &res->ready);
	if (ready)
		first = POLICY_VP(struct reservation_vp, ready)->deadline_at;
	/* A RUNNING VP whose period is over is about to be revoked, and that sets the timer again. */
	if (res->running && h->node[res->running].key < first && h->node[res->running].key > h->now_ns)
		first = h->node[res->running].key;
	if (res->depleted && h->node[res->depleted].key < first)
		first = h->node[res->depleted].key;
	hls_set_timer(h, s, first);
}

/* The VP is READY: it goes into the heap `ready` if it has budget, else it is throttled. */
static void reservation_enqueue(hls_t *h, u32 s, u32 v)
{
	struct reservation __arena *res = POLICY_STATE(struct reservation, s);
	struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
	if (vp->budget_ns) {
		queue_push(h, &res->ready, v, vp->deadline_at);
	} else {
		hls_throttle(h, v);
		heap_push(h->node, &res->depleted, v, vp->deadline_at, h->seq++);
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
	struct reservation __arena *res = POLICY_STATE(struct reservation, s);
	if (h->vp[v].flags & HLS_THROTTLED)
		heap_remove(h->node, &res->depleted, v);
	else
		queue_remove(h, &res->ready, v);
	reservation_set_timer(h, s);
}

static u32 reservation_grant(hls_t *h, u32 s, u32 cpu)
{
	struct reservation __arena *res = POLICY_STATE(struct reservation, s);
	u32 v = queue_first_usable(h, &res->ready, cpu);
	if (v) {
		struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
		queue_remove(h, &res->ready, v);
		heap_push(h->node, &res->running, v, vp->deadline_at, h->seq++);
		h->slice_ns = vp->budget_ns;
	}
	return v;
}

static void reservation_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
	heap_remove(h->node, &POLICY_STATE(struct reservation, s)->running, v);
	vp->budget_ns -= used_ns < vp->budget_ns ? used_ns : vp->budget_ns;
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
	POLICY_VP(struct reservation_vp, v)->released_at = h->now_ns;
	reservation_set_timer(h, s);
}

static bool reservation_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(struct reservation_vp, ready)->deadline_at <
	       POLICY_VP(struct reservation_vp, running)->deadline_at;
}

/*
 * Some periods are over: READY VPs begin their next one; RUNNING VPs are revoked, to be charged for the old one first.
 */
static u32 reservation_timer(hls_t *h, u32 s)
{
	struct reservation __arena *res = POLICY_STATE(struct reservation, s);
	u32 v = res->running;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		if (h->node[v].key <= h->now_ns)
			hls_recheck(h, v);
		v = heap_next(h->node, v);
	}
	for (u32 i = opaque(0); i < HLS_MAX_BATCH && can_loop; i++) {
		v = queue_first(h, &res->ready);
		if (!v || POLICY_VP(struct reservation_vp, v)->deadline_at > h->now_ns)
			break;
		queue_remove(h, &res->ready, v);
		reservation_renew_if_over(h, v);
		queue_push(h, &res->ready, v, POLICY_VP(struct reservation_vp, v)->deadline_at);
	}
	v = res->depleted;
	if (!v || h->node[v].key > h->now_ns) {
		reservation_set_timer(h, s);
		return 0;
	}
	heap_remove(h->node, &res->depleted, v);
	reservation_renew_if_over(h, v);
	hls_unthrottle(h, v);
	queue_push(h, &res->ready, v, POLICY_VP(struct reservation_vp, v)->deadline_at);
	return v;
}

/* No VP has more than a period's budget, and a READY VP is throttled exactly if it has none. */
static bool reservation_check_invariants(hls_t *h, u32 s)
{
	u32 v = h->scheduler[s].first_child;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		struct reservation_vp __arena *vp = POLICY_VP(struct reservation_vp, v);
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (vp->budget_ns > h->vp[v].param[RESERVATION_BUDGET])
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (vp->budget_ns == 0))
			return false;
		v = h->vp[v].sib_next;
	}
	return true;
}

static const struct hls_policy reservation_policy = {
    .name = "reservation",
    .what = "so much CPU time in every period, hard, by EDF",
    .source = "HLS, RTSS 2001, section 5.1",
    .strict = true,
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
