/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Earliest eligible virtual deadline first (I. Stoica et al., "A Proportional Share Resource Allocation Algorithm for
 * Real-Time, Time-Shared Systems", RTSS 1996).
 *
 * The virtual time V advances by one over the sum of the weights of all VPs that count, for each unit of CPU time that
 * the scheduler gives. A VP requests CPU time in pieces of `request`. A request is eligible at the virtual time ve, up
 * to which the VP has used its share, and has the virtual deadline vd = ve + request / share. The eligible VP (ve <= V)
 * with the earliest deadline runs, for a quantum or for what is left of its request. No VP is preempted within a
 * quantum. So a VP with a short request is served sooner, but gets no more.
 *
 * VPs come and go. A VP that has had too much when it blocks (ve > V) counts until V has caught up with it: else it
 * would leave its debt to the others. When it wakes up, its request begins at V, or where its used share ends, if that
 * is later; time that it was owed when it blocked is lost. The debts of VPs that have left for good are added up, and
 * so are their weights: those weights count until V has advanced by the sum of debts over the sum of weights. When all
 * VPs that want the CPU have had too much, V jumps to the ve of the first of them, past the debts of the VPs that do
 * not want it.
 *
 *                V reaches ve                          request not used up
 *     `future` --------------> `eligible` --> RUNNING ------------------------> `eligible`
 *        ^                                       |
 *        +---------------------------------------+ request used up: the next begins
 *
 * The queue `future` and the heap `leaving`, of the WAITING VPs that count, are in order of ve; `eligible` is in order
 * of vd. Where V passes many VPs at once, a grant brings over one and the timer brings over the others, at the same
 * instant.
 */
#include "../core/virtual_time.h"

#define EEVDF_PARAMS(P)                                                          \
	P(EEVDF_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "how long a VP runs before others are considered")
#define EEVDF_VP_PARAMS(P)                                                                      \
	P(EEVDF_SHARE, "share", HLS_COUNT, 1, 1, 131072, "weight of the VP among its siblings") \
	P(EEVDF_REQUEST, "request", HLS_TIME, 0, 0, HLS_S(10),                                  \
	  "CPU time that the VP asks for at once, 10 us at least: the shorter, the sooner; 0: a quantum")
#define EEVDF_MESSAGES(M)

enum { EEVDF_PARAMS(HLS_PARAM_INDEX) };
enum { EEVDF_VP_PARAMS(HLS_PARAM_INDEX) };

struct eevdf {
	u64 now;     /* V */
	s64 service; /* CPU time (1/256 ns) for which V has yet to advance; below 0: V is too far */
	u64 weight;  /* of all VPs that count */
	struct hls_queue future, eligible;
	u32 leaving;
	u32 unfinished;             /* V has passed VPs that are still in `future` */
	u64 gone_weight, gone_debt; /* of VPs that have left for good; the debt is in 1/256 ns */
};

struct eevdf_vp {
	u64 used;         /* virtual time up to which the VP has used its share: ve of its next request */
	u64 deadline;     /* vd of its request */
	u64 rest : 17;    /* remainder of the division that made `used` */
	u64 left_ns : 36; /* of its request */
	u64 counts : 1;
	u64 is_eligible : 1;
	u64 since; /* RUNNING: CPU time of this run by which V has advanced; WAITING: since when; gone: share */
};

POLICY_WORDS(eevdf);

static u64 eevdf_share(hls_t *h, u32 v)
{
	return h->vp[v].param[EEVDF_SHARE];
}

/* v counts from now on, or no longer counts. */
static void eevdf_set_counts(hls_t *h, u32 s, u32 v, bool counts)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	if (vp->counts == counts)
		return;
	vp->counts = counts;
	eevdf->weight += counts ? eevdf_share(h, v) : -eevdf_share(h, v);
}

/* Removes weight and debt of VPs that left for good: the debt is paid, or a VP that came back has taken it over. */
static void eevdf_forget_gone(eevdf_t *eevdf, u64 weight, u64 debt)
{
	eevdf->gone_debt -= debt;
	eevdf->gone_weight -= weight;
	eevdf->weight -= weight;
}

/* Advances V; the VPs that have left for good pay. */
static void eevdf_move_on(eevdf_t *eevdf, u64 by)
{
	eevdf->now += by;
	if (!eevdf->gone_weight)
		return;
	if (by > eevdf->gone_debt / eevdf->gone_weight)
		eevdf_forget_gone(eevdf, eevdf->gone_weight, eevdf->gone_debt);
	else
		eevdf->gone_debt -= by * eevdf->gone_weight;
}

/* If V is at most `ahead` behind the first of `leaving`: advances V to it, stops counting that VP, and returns true. */
static bool eevdf_catch_up(hls_t *h, u32 s, u64 ahead)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	u32 v = eevdf->leaving;
	if (!v || virtual_before(eevdf->now + ahead, h->node[v].key))
		return false;
	if (virtual_before(eevdf->now, h->node[v].key)) {
		u64 by = h->node[v].key - eevdf->now;
		eevdf->service -= by * eevdf->weight;
		eevdf_move_on(eevdf, by);
	}
	heap_pop(h, &eevdf->leaving);
	eevdf_set_counts(h, s, v, false);
	if (!eevdf->weight)
		eevdf->service = 0;
	return true;
}

/*
 * The scheduler has given `given_ns` more: V advances. It stops at the first VP of `leaving`, which no longer counts
 * from there on, and where the VPs that left for good have paid.
 */
HLS_RARE_FUNC u32 eevdf_advance(hls_t *h __arg_arena, u32 s, s64 given_ns)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	eevdf->service += given_ns * (1LL << VIRTUAL_SHIFT);
	if (!eevdf->weight || eevdf->service < 0)
		return 0;
	u64 ahead = (u64)eevdf->service / eevdf->weight;
	if (eevdf->gone_weight && ahead > eevdf->gone_debt / eevdf->gone_weight)
		ahead = eevdf->gone_debt / eevdf->gone_weight + 1;
	if (eevdf_catch_up(h, s, ahead))
		return 0;
	eevdf->service -= ahead * eevdf->weight;
	eevdf_move_on(eevdf, ahead);
	if (!eevdf->weight)
		eevdf->service = 0;
	return 0;
}

/* Jumps V to `ve`, first consuming CPU time for which V has yet to advance. */
static void eevdf_skip_to(eevdf_t *eevdf, u64 ve)
{
	u64 skipped = ve - eevdf->now, ahead = eevdf->service > 0 ? (u64)eevdf->service / eevdf->weight : 0;
	eevdf->service -= (ahead < skipped ? ahead : skipped) * eevdf->weight;
	eevdf_move_on(eevdf, skipped);
}

/* Whether V has yet to advance. */
static bool eevdf_is_late(const eevdf_t *eevdf)
{
	return eevdf->weight && eevdf->service >= (s64)eevdf->weight;
}

/* Advances V by the CPU time that v has had since the last such advance; `used_ns` counts from the grant of v. */
static void eevdf_advance_by(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	s64 given_ns = used_ns - vp->since;
	vp->since = used_ns;
	eevdf_advance(h, s, given_ns);
}

/* Brings V up to now. */
static void eevdf_advance_to_now(hls_t *h, u32 s)
{
	for_each_up (h, u, s) {
		u32 v = hls_running_by(h, s, u);
		if (v)
			eevdf_advance_by(h, s, v, hls_used_ns(h, v));
	}
}

/* Whether the request of a VP with this ve is eligible. */
static bool eevdf_is_due(const eevdf_t *eevdf, u64 ve)
{
	return !virtual_before(eevdf->now, ve);
}

/* The READY v waits for its request to become eligible, or for its turn. */
static void eevdf_enqueue(hls_t *h, u32 s, u32 v)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	if (vp->is_eligible)
		queue_push(h, &eevdf->eligible, v, vp->deadline);
	else
		queue_push(h, &eevdf->future, v, vp->used);
}

/* v begins a new request. */
static void eevdf_begin_request(hls_t *h, u32 s, u32 v)
{
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	u64 asked_ns = h->vp[v].param[EEVDF_REQUEST];
	vp->left_ns = asked_ns ? asked_ns : h->scheduler[s].param[EEVDF_QUANTUM];
	vp->deadline = vp->used + virtual_of(vp->left_ns, eevdf_share(h, v));
	vp->is_eligible = eevdf_is_due(POLICY_STATE(eevdf, s), vp->used);
}

/* The first VP of `future`, if its request is eligible now; 0: there is none. */
static u32 eevdf_due(hls_t *h, const eevdf_t *eevdf)
{
	u32 v = queue_first(h, &eevdf->future);
	return v && eevdf_is_due(eevdf, POLICY_VP(eevdf, v)->used) ? v : 0;
}

/* Moves v, the first VP of `future`, to `eligible`. */
static void eevdf_bring_over(hls_t *h, u32 s, u32 v)
{
	queue_remove(h, &POLICY_STATE(eevdf, s)->future, v);
	POLICY_VP(eevdf, v)->is_eligible = 1;
	eevdf_enqueue(h, s, v);
}

static void eevdf_request(hls_t *h, u32 s, u32 v)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	if (vp->counts)
		heap_remove(h, &eevdf->leaving, v);
	eevdf_advance_to_now(h, s);
	if ((!vp->counts && h->now_ns - vp->since > VIRTUAL_FORGET_NS) || virtual_before(vp->used, eevdf->now)) {
		vp->used = eevdf->now;
		vp->rest = 0;
	}
	eevdf_set_counts(h, s, v, true);
	eevdf_begin_request(h, s, v);
	eevdf_enqueue(h, s, v);
}

/* v no longer wants a CPU: it counts until V has caught up with it. */
static void eevdf_leave(hls_t *h, u32 s, u32 v)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	vp->since = h->now_ns;
	if (virtual_before(eevdf->now, vp->used))
		heap_push(h, &eevdf->leaving, v, vp->used, h->seq++);
	else
		eevdf_set_counts(h, s, v, false);
}

static void eevdf_withdraw(hls_t *h, u32 s, u32 v)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	queue_remove(h, POLICY_VP(eevdf, v)->is_eligible ? &eevdf->eligible : &eevdf->future, v);
	eevdf_advance_to_now(h, s);
	eevdf_leave(h, s, v);
}

static u32 eevdf_grant(hls_t *h, u32 s, u32 cpu)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	u32 v = eevdf_due(h, eevdf);
	if (v)
		eevdf_bring_over(h, s, v);
	eevdf->unfinished = eevdf_due(h, eevdf) || eevdf_is_late(eevdf);
	if (eevdf->unfinished)
		hls_set_timer(h, s, h->now_ns);
	v = queue_first_usable(h, &eevdf->eligible, cpu);
	if (v) {
		queue_remove(h, &eevdf->eligible, v);
	} else {
		v = queue_first_usable(h, &eevdf->future, cpu);
		if (!v)
			return 0;
		queue_remove(h, &eevdf->future, v);
		/* All VPs that can run here have had too much: V jumps. */
		if (!h->scheduler[s].nr_running && !eevdf_is_due(eevdf, POLICY_VP(eevdf, v)->used))
			eevdf_skip_to(eevdf, POLICY_VP(eevdf, v)->used);
	}
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	u64 quantum_ns = h->scheduler[s].param[EEVDF_QUANTUM];
	vp->is_eligible = 1;
	vp->since = 0;
	h->slice_ns = vp->left_ns < quantum_ns ? vp->left_ns : quantum_ns;
	return v;
}

/* v ran for used_ns: ve advances by used / share. */
static void eevdf_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	u64 service = (used_ns << VIRTUAL_SHIFT) + vp->rest, quotient = service / eevdf_share(h, v);
	eevdf_advance_by(h, s, v, used_ns);
	vp->used += quotient;
	vp->rest = service - quotient * eevdf_share(h, v);
	vp->left_ns -= used_ns < vp->left_ns ? used_ns : vp->left_ns;
}

static void eevdf_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	eevdf_charge(h, s, v, used_ns);
	if (!vp->left_ns || (h->vp[v].flags & HLS_YIELDED))
		eevdf_begin_request(h, s, v);
	h->vp[v].flags &= ~HLS_YIELDED;
	eevdf_enqueue(h, s, v);
}

static void eevdf_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	eevdf_charge(h, s, v, used_ns);
	eevdf_leave(h, s, v);
}

/* A running quantum is preempted only if it began before all due VPs had been brought over to `eligible`. */
static bool eevdf_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	return POLICY_STATE(eevdf, s)->unfinished &&
	       virtual_before(POLICY_VP(eevdf, ready)->deadline, POLICY_VP(eevdf, running)->deadline);
}

/* V has passed many VPs at once: brings over the rest of them, one at each call. */
static u32 eevdf_timer(hls_t *h, u32 s)
{
	eevdf_advance(h, s, 0);
	u32 v = eevdf_due(h, POLICY_STATE(eevdf, s));
	if (v) {
		eevdf_bring_over(h, s, v);
		return v;
	}
	POLICY_STATE(eevdf, s)->unfinished = eevdf_is_late(POLICY_STATE(eevdf, s));
	if (POLICY_STATE(eevdf, s)->unfinished)
		hls_set_timer(h, s, h->now_ns);
	return 0;
}

/* What v, which counts and is WAITING, has had too much, in 1/256 ns. */
static u64 eevdf_debt(hls_t *h, u32 s, u32 v, u64 share)
{
	const eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	u64 now = POLICY_STATE(eevdf, s)->now;
	return virtual_before(now, vp->used) ? (vp->used - now) * share + vp->rest : 0;
}

/* v leaves for good, or comes back at once with other parameters. */
static void eevdf_unregister_vp(hls_t *h, u32 s, u32 v)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	if (!vp->counts)
		return;
	heap_remove(h, &eevdf->leaving, v);
	vp->since = eevdf_share(h, v);
	eevdf->gone_weight += vp->since;
	eevdf->gone_debt += eevdf_debt(h, s, v, vp->since);
}

/* v comes back: rescales its debt to its new share. */
static void eevdf_come_back(hls_t *h, u32 s, u32 v)
{
	eevdf_t *eevdf = POLICY_STATE(eevdf, s);
	eevdf_vp_t *vp = POLICY_VP(eevdf, v);
	u64 debt = eevdf_debt(h, s, v, vp->since), share = eevdf_share(h, v);
	eevdf_forget_gone(eevdf, vp->since, debt);
	vp->used = eevdf->now + debt / share;
	vp->rest = debt % share;
	eevdf->weight += share;
	heap_push(h, &eevdf->leaving, v, vp->used, h->seq++);
}

/* Requests have the lower bound of a quantum: shorter ones would be too many for the machine. */
static s64 eevdf_register_vp(hls_t *h, u32 s, u32 v)
{
	u64 asked_ns = h->vp[v].param[EEVDF_REQUEST];
	if (asked_ns && asked_ns < HLS_US(10))
		return -HLS_E_PARAM;
	if (POLICY_VP(eevdf, v)->counts)
		eevdf_come_back(h, s, v);
	return 0;
}

/* All VPs that want a CPU count, and `weight` is the sum over all that count, with those that have left for good. */
static bool eevdf_check_invariants(hls_t *h, u32 s)
{
	u64 weight = POLICY_STATE(eevdf, s)->gone_weight;
	for_each_child (h, v, s) {
		const eevdf_vp_t *vp = POLICY_VP(eevdf, v);
		if (vp->counts)
			weight += eevdf_share(h, v);
		else if (h->vp[v].state != HLS_WAITING)
			return false;
	}
	return weight == POLICY_STATE(eevdf, s)->weight;
}

static const struct hls_policy eevdf_policy = {
    .name = "eevdf",
    .what = "CPU time in proportion to shares, the earliest virtual deadline first",
    .source = "Stoica et al., RTSS 1996",
    .serial = true,
    .register_vp = eevdf_register_vp,
    .unregister_vp = eevdf_unregister_vp,
    .request = eevdf_request,
    .withdraw = eevdf_withdraw,
    .grant = eevdf_grant,
    .revoke = eevdf_revoke,
    .release = eevdf_release,
    .preempts = eevdf_preempts,
    .timer = eevdf_timer,
    .check_invariants = eevdf_check_invariants,
};
