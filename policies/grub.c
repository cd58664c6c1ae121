/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Greedy reclamation of unused bandwidth (G. Lipari, S. Baruah, "Greedy Reclamation of Unused Bandwidth in
 * Constant-Bandwidth Servers", ECRTS 2000).
 *
 * Each VP is a constant bandwidth server, with a budget Q in every period P and thus a bandwidth U = Q/P, and has a
 * deadline D and what is left of its budget, q. The contending server with the earliest deadline runs. The paper has
 * the virtual time V = D - q/U in place of q: up to there the server has used its bandwidth.
 *
 *                 wakes up at t: V = t, D = t + P
 *      inactive ----------------------------------> active, contending (it wants the CPU)
 *          ^                                             |          ^
 *          |  t = V, or nobody wants the CPU       sleeps |          | wakes up at t < V: D = V + P
 *          |                                             v          |
 *          +-------------------------------------- active, not contending
 *
 * The bandwidths of active servers add up to the active bandwidth A. While a server runs, its budget falls not by the
 * time, as in cbs.c, but by A times the time: so the running server gets what inactive servers do not use. A server
 * that sleeps stays active until V, since up to there it has used its bandwidth in advance. When q is used up:
 *
 *      soft=1    as published: q = Q, and D is put off by P; it goes on at once, behind earlier deadlines
 *      soft=0    it sleeps until D (throttled; it stays active); then q = Q, and D is put off by P. If it wakes up at
 *                t < V, it goes on with its q and D: a new D would let it put off its own next budget by sleep
 *
 * A soft server runs ahead, as a soft one of cbs.c does, and has its bandwidth since it woke up; a hard one has Q, and
 * what it reclaims, in every period.
 *
 * The paper has a whole CPU. If the scheduler has less, because of schedulers above or of interrupts, active servers
 * may want A of the time while others have the CPU, and budgets must fall faster: `rate-ppm` says how much of a CPU
 * there is, R; then they fall by A + 1 - R, and never faster than time. On several CPUs they fall by the time.
 *
 * Bandwidths are in units of 2^-31 of a CPU, rounded up, so that budgets fall too fast rather than too slow. Each
 * charge is rounded up to whole nanoseconds, which are no more than the server had: so a budget lasts at least for its
 * own length, and no server takes more than its bandwidth from the others. V is rounded up.
 *
 * When A changes, the running server is charged for what it had so far (settled_ns). Some of that may turn out to be
 * stolen time, which a platform reports late: it is given back, rounded up, and exactly if A grew just once in that
 * time.
 */
#include "../core/budget.h"

#define GRUB_WHOLE (1ULL << 31) /* the bandwidth of a CPU */
#define GRUB_MILLION 1000000ULL

#define GRUB_PARAMS(P)                                                     \
	P(GRUB_RATE, "rate-ppm", HLS_COUNT, GRUB_MILLION, 1, GRUB_MILLION, \
	  "how much of a CPU there is for the servers, in millionths")
#define GRUB_VP_PARAMS(P)                                                                              \
	P(GRUB_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                       \
	  "CPU time that the VP gets in every period")                                                 \
	P(GRUB_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of a period") \
	P(GRUB_SOFT, "soft", HLS_COUNT, 0, 0, 1,                                                       \
	  "1: as published, with a later deadline when the budget is used up")
#define GRUB_MESSAGES(M)

enum { GRUB_PARAMS(HLS_PARAM_INDEX) };
enum { GRUB_VP_PARAMS(HLS_PARAM_INDEX) };

struct grub {
	struct hls_queue ready; /* contending servers, by deadline */
	u32 due;          /* heap of throttled servers, by deadline, and of active ones that do not contend, by V */
	u32 running;      /* the server with a budget that falls by the active bandwidth; 0: none */
	u64 settled_ns;   /* the part of its time for which it was already charged */
	u64 active;       /* the active bandwidth */
	u64 contending;   /* number of servers that want the CPU */
	u64 epoch;        /* counts how often no server wanted the CPU, from 1 on */
	u64 settled_pace; /* of the last that was charged of settled_ns */
};

struct grub_vp {
	struct hls_budget budget; /* q, and D as the end of its period */
	u32 bandwidth;            /* U */
	u64 epoch;                /* in which the server is active */
};

POLICY_WORDS(grub);

static void grub_init(hls_t *h, u32 s)
{
	POLICY_STATE(grub, s)->epoch = 1;
}

/* After a change of parameters, a VP keeps what is left of its budget, up to the new budget. */
static s64 grub_register_vp(hls_t *h, u32 s, u32 v)
{
	grub_vp_t *vp = POLICY_VP(grub, v);
	u64 amount_ns = h->vp[v].param[GRUB_BUDGET], period_ns = h->vp[v].param[GRUB_PERIOD];
	(void)s;
	if (amount_ns > period_ns)
		return -HLS_E_PARAM;
	if (vp->budget.left_ns > (s64)amount_ns)
		vp->budget.left_ns = amount_ns;
	vp->bandwidth = hls_mul_div_floor(amount_ns, GRUB_WHOLE, period_ns);
	if (hls_mul_div_floor(vp->bandwidth, period_ns, GRUB_WHOLE) < amount_ns)
		vp->bandwidth++;
	vp->epoch = 0;
	return 0;
}

static u64 grub_deadline(hls_t *h, u32 v)
{
	return POLICY_VP(grub, v)->budget.end_at;
}

static bool grub_is_active(hls_t *h, u32 s, u32 v)
{
	return POLICY_VP(grub, v)->epoch == POLICY_STATE(grub, s)->epoch;
}

/* V, rounded up. */
static u64 grub_virtual_time_ceil(hls_t *h, u32 v)
{
	const grub_vp_t *vp = POLICY_VP(grub, v);
	if (vp->budget.left_ns <= 0)
		return vp->budget.end_at;
	return vp->budget.end_at -
	       hls_mul_div_floor(vp->budget.left_ns, h->vp[v].param[GRUB_PERIOD], h->vp[v].param[GRUB_BUDGET]);
}

/* How fast the budget of the server `running` falls. */
static u64 grub_pace(hls_t *h, u32 s)
{
	u64 missing = GRUB_WHOLE - h->scheduler[s].param[GRUB_RATE] * GRUB_WHOLE / GRUB_MILLION;
	u64 pace = POLICY_STATE(grub, s)->active + missing;
	return pace < GRUB_WHOLE ? pace : GRUB_WHOLE;
}

/* How much of its budget a VP uses in used_ns, rounded up. */
static u64 grub_price_ns(u64 pace, u64 used_ns)
{
	return used_ns / GRUB_WHOLE * pace + (used_ns % GRUB_WHOLE * pace + GRUB_WHOLE - 1) / GRUB_WHOLE;
}

/* The VP had a CPU for used_ns, while its budget fell at this pace. */
static void grub_use(hls_t *h, u32 v, u64 pace, u64 used_ns)
{
	grub_vp_t *vp = POLICY_VP(grub, v);
	u64 price_ns = grub_price_ns(pace, used_ns);
	if (h->vp[v].param[GRUB_SOFT])
		budget_use(&vp->budget, price_ns);
	else
		budget_charge(h, v, &vp->budget, h->vp[v].param[GRUB_BUDGET], h->vp[v].param[GRUB_PERIOD],
			      price_ns);
}

/* The VP was charged this for time that was stolen. */
static void grub_give_back(hls_t *h, u32 v, u64 price_ns)
{
	budget_t *budget = &POLICY_VP(grub, v)->budget;
	s64 most_ns = h->vp[v].param[GRUB_BUDGET];
	budget->left_ns += price_ns;
	if (budget->left_ns > most_ns)
		budget->left_ns = most_ns;
}

/*
 * The pace has changed: charges the running server for what it had at the old one. If its deadline has passed
 * unnoticed, because a timer is late, it has a later deadline now, and others may go first.
 */
HLS_GLOBAL_FUNC u32 grub_settle(hls_t *h __arg_arena, u32 s, u64 pace)
{
	grub_t *grub = POLICY_STATE(grub, s);
	if (!grub->running)
		return 0;
	u64 used_ns = hls_used_ns(h, grub->running), due_at = grub_deadline(h, grub->running);
	if (used_ns <= grub->settled_ns)
		return 0;
	grub_use(h, grub->running, pace, used_ns - grub->settled_ns);
	grub->settled_ns = used_ns;
	grub->settled_pace = pace;
	if (grub_deadline(h, grub->running) != due_at)
		hls_recheck(h, grub->running);
	return 0;
}

/* v becomes active. The running server gets a shorter slice, if budgets fall faster now. */
static void grub_activate(hls_t *h, u32 s, u32 v)
{
	grub_t *grub = POLICY_STATE(grub, s);
	grub_vp_t *vp = POLICY_VP(grub, v);
	u64 pace = grub_pace(h, s);
	vp->epoch = grub->epoch;
	grub->active += vp->bandwidth;
	if (!grub->running || grub_pace(h, s) == pace)
		return;
	grub_settle(h, s, pace);
	hls_recheck(h, grub->running);
}

/* v becomes inactive. The running server gets a longer slice, when its old one is over. */
static void grub_deactivate(hls_t *h, u32 s, u32 v)
{
	grub_vp_t *vp = POLICY_VP(grub, v);
	u64 pace = grub_pace(h, s);
	vp->epoch = 0;
	POLICY_STATE(grub, s)->active -= vp->bandwidth;
	if (grub_pace(h, s) != pace)
		grub_settle(h, s, pace);
}

static void grub_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(grub, s)->due;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

static void grub_await(hls_t *h, u32 s, u32 v, u64 at)
{
	heap_push(h, &POLICY_STATE(grub, s)->due, v, at, h->seq++);
}

static void grub_unregister_vp(hls_t *h, u32 s, u32 v)
{
	if (!grub_is_active(h, s, v))
		return;
	heap_remove(h, &POLICY_STATE(grub, s)->due, v);
	grub_deactivate(h, s, v);
	grub_set_timer(h, s);
}

/* The VP begins to contend. */
static void grub_wake(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(grub, v)->budget;
	u64 amount_ns = h->vp[v].param[GRUB_BUDGET], period_ns = h->vp[v].param[GRUB_PERIOD];
	u64 virtual_at = 0;
	POLICY_STATE(grub, s)->contending++;
	if (grub_is_active(h, s, v)) {
		virtual_at = h->node[v].key;
		heap_remove(h, &POLICY_STATE(grub, s)->due, v);
	} else {
		grub_activate(h, s, v);
	}
	if (h->now_ns >= virtual_at)
		budget_begin(h, v, budget, amount_ns, h->now_ns + period_ns);
	else if (h->vp[v].param[GRUB_SOFT])
		budget_begin(h, v, budget, amount_ns, virtual_at + period_ns);
}

/* A soft server without budget gets the next one at once, a hard server when its deadline has passed. */
static void grub_replenish(hls_t *h, u32 v)
{
	budget_t *budget = &POLICY_VP(grub, v)->budget;
	u64 amount_ns = h->vp[v].param[GRUB_BUDGET], period_ns = h->vp[v].param[GRUB_PERIOD];
	if (!h->vp[v].param[GRUB_SOFT]) {
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

/* The VP is READY: it is queued if it has budget, else throttled. */
HLS_GLOBAL_FUNC u32 grub_enqueue(hls_t *h __arg_arena, u32 s, u32 v)
{
	grub_replenish(h, v);
	if (POLICY_VP(grub, v)->budget.left_ns > 0) {
		queue_push(h, &POLICY_STATE(grub, s)->ready, v, grub_deadline(h, v));
	} else {
		hls_throttle(h, v);
		grub_await(h, s, v, grub_deadline(h, v));
	}
	grub_set_timer(h, s);
	return 0;
}

static void grub_request(hls_t *h, u32 s, u32 v)
{
	h->vp[v].flags &= ~HLS_RESUMED;
	grub_wake(h, s, v);
	grub_enqueue(h, s, v);
}

/* The VP no longer contends. If no other VP does, all servers become inactive: nothing is owed to any of them. */
static void grub_rest(hls_t *h, u32 s, u32 v)
{
	grub_t *grub = POLICY_STATE(grub, s);
	u64 virtual_at = grub_virtual_time_ceil(h, v);
	grub->contending--;
	if (!grub->contending) {
		grub->epoch++;
		grub->active = 0;
		grub->due = 0;
	} else if (h->now_ns < virtual_at) {
		grub_await(h, s, v, virtual_at);
	} else {
		grub_deactivate(h, s, v);
	}
	grub_set_timer(h, s);
}

static void grub_withdraw(hls_t *h, u32 s, u32 v)
{
	grub_t *grub = POLICY_STATE(grub, s);
	if (h->vp[v].flags & HLS_THROTTLED)
		heap_remove(h, &grub->due, v);
	else
		queue_remove(h, &grub->ready, v);
	grub_rest(h, s, v);
}

/* How long the budget of v lasts, rounded down; for a hard server, not beyond its deadline. */
static u64 grub_slice_ns(hls_t *h, u32 v, u64 pace)
{
	const grub_vp_t *vp = POLICY_VP(grub, v);
	u64 left_ns = vp->budget.left_ns, lasts_ns = vp->budget.end_at - h->now_ns;
	u64 slice_ns = hls_mul_div_floor(left_ns, GRUB_WHOLE, pace);
	return h->vp[v].param[GRUB_SOFT] || slice_ns < lasts_ns ? slice_ns : lasts_ns;
}

/* The VP runs. On one CPU its budget falls by the active bandwidth. */
static void grub_start(hls_t *h, u32 s, u32 v)
{
	grub_t *grub = POLICY_STATE(grub, s);
	grub->running = h->scheduler[s].nr_up == 1 ? v : 0;
	grub->settled_ns = 0;
	h->slice_ns = grub_slice_ns(h, v, grub->running ? grub_pace(h, s) : GRUB_WHOLE);
}

/* Hard servers with deadlines that passed while they were READY get new deadlines first. */
static u32 grub_grant(hls_t *h, u32 s, u32 cpu)
{
	grub_t *grub = POLICY_STATE(grub, s);
	for (u32 i = opaque(0); i < HLS_MAX_VPS && can_loop; i++) {
		u32 v = queue_first_usable(h, &grub->ready, cpu);
		if (!v)
			return 0;
		queue_remove(h, &grub->ready, v);
		if (h->vp[v].param[GRUB_SOFT] || h->now_ns < grub_deadline(h, v)) {
			grub_start(h, s, v);
			return v;
		}
		grub_replenish(h, v);
		queue_push(h, &grub->ready, v, grub_deadline(h, v));
	}
	return 0;
}

/* The VP had a CPU for used_ns; settled_ns of it were already charged. */
static void grub_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	grub_t *grub = POLICY_STATE(grub, s);
	if (grub->running != v) {
		grub_use(h, v, GRUB_WHOLE, used_ns);
		return;
	}
	if (likely(used_ns >= grub->settled_ns))
		grub_use(h, v, grub_pace(h, s), used_ns - grub->settled_ns);
	else
		grub_give_back(h, v, grub_price_ns(grub->settled_pace, grub->settled_ns - used_ns));
	grub->running = 0;
}

static void grub_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	grub_charge(h, s, v, used_ns);
	grub_enqueue(h, s, v);
}

static void grub_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	grub_charge(h, s, v, used_ns);
	grub_replenish(h, v);
	grub_rest(h, s, v);
}

static bool grub_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return grub_deadline(h, ready) < grub_deadline(h, running);
}

/* A server that does not contend has reached its V, or the deadline of a throttled one has passed. */
static u32 grub_timer(hls_t *h, u32 s)
{
	grub_t *grub = POLICY_STATE(grub, s);
	u32 v = grub->due;
	if (!v || h->node[v].key > h->now_ns) {
		grub_set_timer(h, s);
		return 0;
	}
	heap_remove(h, &grub->due, v);
	if (h->vp[v].state == HLS_WAITING) {
		grub_deactivate(h, s, v);
		return v;
	}
	grub_replenish(h, v);
	if (POLICY_VP(grub, v)->budget.left_ns > 0) {
		hls_unthrottle(h, v);
		queue_push(h, &grub->ready, v, grub_deadline(h, v));
	} else {
		grub_await(h, s, v, grub_deadline(h, v));
	}
	return v;
}

/* The active bandwidth and the number of contending servers fit their definitions, and so do throttling and budgets. */
static bool grub_check_invariants(hls_t *h, u32 s)
{
	const grub_t *grub = POLICY_STATE(grub, s);
	u64 active = 0, contending = 0;
	for_each_child (h, v, s) {
		const grub_vp_t *vp = POLICY_VP(grub, v);
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (vp->budget.left_ns > (s64)h->vp[v].param[GRUB_BUDGET])
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (vp->budget.left_ns <= 0))
			return false;
		if (h->vp[v].state != HLS_WAITING && !grub_is_active(h, s, v))
			return false;
		contending += h->vp[v].state != HLS_WAITING;
		active += grub_is_active(h, s, v) ? vp->bandwidth : 0;
	}
	return active == grub->active && contending == grub->contending;
}

static const struct hls_policy grub_policy = {
    .name = "grub",
    .what = "constant bandwidth servers by EDF, which reclaim what inactive ones do not use",
    .source = "Lipari and Baruah, ECRTS 2000",
    .strict = true,
    .serial = true,
    .init = grub_init,
    .register_vp = grub_register_vp,
    .unregister_vp = grub_unregister_vp,
    .request = grub_request,
    .withdraw = grub_withdraw,
    .grant = grub_grant,
    .revoke = grub_revoke,
    .release = grub_release,
    .preempts = grub_preempts,
    .timer = grub_timer,
    .check_invariants = grub_check_invariants,
};
