/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sporadic servers (B. Sprunt, L. Sha, J. P. Lehoczky, "Aperiodic Task Scheduling for Hard-Real-Time Systems",
 * Real-Time Systems 1, 1989): each VP is a server with a budget of CPU time, at a fixed priority. The part of the
 * budget that it uses comes back one period after it could first use it.
 *
 *          budget  |\                         |`
 *                  | \           ____         |     Woken at `a`, the child uses 2 of 5, sleeps, and
 *                  |  \_________/    \        |     wants more at `b`. The 2 are back at a + period,
 *                  +--a----------b----------a+period-->what it uses then a period after b.
 *
 * So it serves a child that wakes up at once, as a deferrable server does, but takes no more from lower priorities than
 * a periodic task would: each piece of the budget is like a periodic task with jobs a period apart.
 *
 *      request        grant
 *     ---------> READY -----> RUNNING          READY VPs that have budget lie in a search tree by priority, throttled
 *                ^   ^ revoke    |             ones in the heap `depleted` by the time when something comes back.
 *          timer |   +-----------+
 *             throttled <--------+ revoke, no budget
 *
 * A VP uses one piece after the other: the next one is taken up when the one before is used, or when the child wakes
 * up. The child could first use a piece when it woke up, or when the piece was back, whichever was later. In the paper,
 * this is when the server's priority level became active, which may be earlier: with that rule servers can have more
 * than their budget in a period (M. Stanovich et al., "Defects of the POSIX Sporadic Server and How to Correct Them",
 * RTAS 2010).
 *
 * There is room for two times at which budget comes back. A piece that would need a third comes back with the second,
 * at the later of both times: that is to the server's disadvantage, so it gets no more than the paper's server. A child
 * that always wants the CPU, or sleeps at most once a period, loses nothing by that; and a child that waits for the CPU
 * has all of its budget back within a period. CPU time that a late timer lets a VP have beyond its budget is a debt.
 * The next piece pays it when it is taken up, as if the child had used that part of the piece then.
 */
#include "../core/policy.h"

#define SPORADIC_SERVER_PRIORITIES 64
#define SPORADIC_SERVER_MOST_DEBT_NS HLS_MS(10) /* as in budget.h, and for the reason that is given there */

#define SPORADIC_SERVER_PARAMS(P)
#define SPORADIC_SERVER_VP_PARAMS(P)                                                                        \
	P(SPORADIC_SERVER_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600),                 \
	  "CPU time that the server has in every period")                                                   \
	P(SPORADIC_SERVER_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(2),                    \
	  "how long until used budget comes back")                                                          \
	P(SPORADIC_SERVER_PRIORITY, "priority", HLS_COUNT, HLS_REQUIRED, 0, SPORADIC_SERVER_PRIORITIES - 1, \
	  "the greatest goes first")
#define SPORADIC_SERVER_MESSAGES(M)

enum { SPORADIC_SERVER_VP_PARAMS(HLS_PARAM_INDEX) };

struct sporadic_server {
	u32 ready;    /* search tree of the VPs that may run, the highest priority first */
	u32 depleted; /* heap of the throttled VPs, by first_at */
};

/* The budget is the sum of what is left (a debt counts as 0), what comes back first, and what comes back second. */
struct sporadic_server_vp {
	s64 left_ns;  /* below 0: a debt */
	u64 since;    /* when the child could first use what is left */
	u64 first_at; /* when first_ns come back */
	u32 first_ns; /* 0: all of the budget is left */
	u32 gap_ns;   /* how much later the rest comes back */
};

POLICY_WORDS(sporadic_server);

/* How much comes back second. */
static u64 sporadic_server_second_ns(hls_t *h, u32 v)
{
	const sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
	u64 left_ns = vp->left_ns > 0 ? vp->left_ns : 0;
	return h->vp[v].param[SPORADIC_SERVER_BUDGET] - left_ns - vp->first_ns;
}

/* When the parameters of a VP change, all that is to come back does so together, at the later time. */
static void sporadic_server_unregister_vp(hls_t *h, u32 s, u32 v)
{
	sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
	(void)s;
	vp->first_ns += sporadic_server_second_ns(h, v);
	vp->first_at += vp->gap_ns;
	vp->gap_ns = 0;
}

/* If nothing is to come back, the VP has all of its budget; else no more than was left, and the rest in a period. */
static s64 sporadic_server_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
	s64 budget = h->vp[v].param[SPORADIC_SERVER_BUDGET];
	u64 period = h->vp[v].param[SPORADIC_SERVER_PERIOD];
	if ((u64)budget > period)
		return -HLS_E_PARAM;
	if (!vp->first_ns || vp->left_ns > budget)
		vp->left_ns = budget;
	u64 used_ns = budget - (vp->left_ns > 0 ? vp->left_ns : 0);
	if (vp->first_ns != used_ns) {
		vp->first_ns = used_ns;
		vp->first_at = h->now_ns + period;
	}
	return 0;
}

/* amount_ns of the budget come back at at_ns, or with what comes back later. */
static void sporadic_server_give_back(hls_t *h, u32 v, u64 amount_ns, u64 at_ns)
{
	sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
	u64 second_ns = sporadic_server_second_ns(h, v);
	vp->left_ns -= amount_ns;
	if (!amount_ns)
		return;
	if (!vp->first_ns)
		vp->first_at = at_ns;
	if (!vp->first_ns || (!second_ns && at_ns <= vp->first_at))
		vp->first_ns += amount_ns;
	else if (at_ns > vp->first_at + vp->gap_ns)
		vp->gap_ns = at_ns - vp->first_at;
}

/* The VP had a CPU for used_ns. */
static void sporadic_server_charge(hls_t *h, u32 v, u64 used_ns)
{
	sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
	u64 left_ns = vp->left_ns > 0 ? vp->left_ns : 0, within_ns = used_ns < left_ns ? used_ns : left_ns;
	sporadic_server_give_back(h, v, within_ns, vp->since + h->vp[v].param[SPORADIC_SERVER_PERIOD]);
	vp->left_ns -= used_ns - within_ns;
	if (vp->left_ns < -(s64)SPORADIC_SERVER_MOST_DEBT_NS)
		vp->left_ns = -(s64)SPORADIC_SERVER_MOST_DEBT_NS;
}

/* Takes up the next piece of the budget, if it is back. It pays debts first. */
static bool sporadic_server_take_up(hls_t *h, u32 v)
{
	sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
	u64 second_ns = sporadic_server_second_ns(h, v), debt_ns = vp->left_ns < 0 ? -vp->left_ns : 0;
	if (!vp->first_ns || h->now_ns < vp->first_at)
		return false;
	vp->left_ns += debt_ns + vp->first_ns;
	vp->since = vp->first_at;
	vp->first_ns = second_ns;
	vp->first_at += vp->gap_ns;
	vp->gap_ns = 0;
	if (debt_ns)
		sporadic_server_charge(h, v, debt_ns);
	hls_emit(h, v, HLS_REC_REPLENISH, vp->left_ns > 0 ? vp->left_ns : 0, vp->first_at);
	return true;
}

static void sporadic_server_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(sporadic_server, s)->depleted;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

/* Puts a VP that has budget among the others of its priority, behind them or before them. */
static void sporadic_server_push(hls_t *h, u32 s, u32 v, bool behind)
{
	u64 depth = SPORADIC_SERVER_PRIORITIES - h->vp[v].param[SPORADIC_SERVER_PRIORITY];
	queue_push_tree(h, &POLICY_STATE(sporadic_server, s)->ready, v, depth, queue_place(h, behind));
}

static void sporadic_server_await(hls_t *h, u32 s, u32 v)
{
	heap_push(h, &POLICY_STATE(sporadic_server, s)->depleted, v, POLICY_VP(sporadic_server, v)->first_at,
		  h->seq++);
	sporadic_server_set_timer(h, s);
}

/* Takes up pieces until the VP has budget. Returns whether it has. */
static bool sporadic_server_has_budget(hls_t *h, u32 v)
{
	sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
	return vp->left_ns > 0 || (sporadic_server_take_up(h, v) && vp->left_ns > 0) ||
	       (sporadic_server_take_up(h, v) && vp->left_ns > 0);
}

/* The VP is READY. */
static void sporadic_server_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	if (sporadic_server_has_budget(h, v)) {
		sporadic_server_push(h, s, v, behind);
		return;
	}
	hls_throttle(h, v);
	sporadic_server_await(h, s, v);
}

static void sporadic_server_request(hls_t *h, u32 s, u32 v)
{
	h->vp[v].flags &= ~HLS_RESUMED;
	if (sporadic_server_take_up(h, v))
		sporadic_server_take_up(h, v);
	POLICY_VP(sporadic_server, v)->since = h->now_ns;
	sporadic_server_enqueue(h, s, v, true);
}

static void sporadic_server_withdraw(hls_t *h, u32 s, u32 v)
{
	sporadic_server_t *server = POLICY_STATE(sporadic_server, s);
	if (!(h->vp[v].flags & HLS_THROTTLED)) {
		queue_remove_tree(h, &server->ready, v);
		return;
	}
	heap_remove(h, &server->depleted, v);
	sporadic_server_set_timer(h, s);
}

static u32 sporadic_server_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 __arena *ready = &POLICY_STATE(sporadic_server, s)->ready;
	u32 v = queue_first_usable_of_tree(h, *ready, cpu);
	if (v) {
		queue_remove_tree(h, ready, v);
		h->slice_ns = POLICY_VP(sporadic_server, v)->left_ns;
	}
	return v;
}

static void sporadic_server_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool yielded = h->vp[v].flags & HLS_YIELDED;
	h->vp[v].flags &= ~HLS_YIELDED;
	sporadic_server_charge(h, v, used_ns);
	sporadic_server_enqueue(h, s, v, yielded);
}

static void sporadic_server_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)s;
	sporadic_server_charge(h, v, used_ns);
}

static bool sporadic_server_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return h->vp[ready].param[SPORADIC_SERVER_PRIORITY] > h->vp[running].param[SPORADIC_SERVER_PRIORITY];
}

/* Budget has come back to throttled VPs: deals with one VP at each call. */
static u32 sporadic_server_timer(hls_t *h, u32 s)
{
	u32 __arena *depleted = &POLICY_STATE(sporadic_server, s)->depleted;
	u32 v = *depleted;
	if (!v || h->node[v].key > h->now_ns) {
		sporadic_server_set_timer(h, s);
		return 0;
	}
	heap_remove(h, depleted, v);
	if (sporadic_server_has_budget(h, v)) {
		hls_unthrottle(h, v);
		sporadic_server_push(h, s, v, true);
	} else {
		sporadic_server_await(h, s, v);
	}
	return v;
}

/*
 * The parts of a budget are no more than the budget, and no debt is too great; a READY VP is throttled exactly if it
 * has none left.
 */
static bool sporadic_server_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		const sporadic_server_vp_t *vp = POLICY_VP(sporadic_server, v);
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (vp->left_ns + (s64)vp->first_ns > (s64)h->vp[v].param[SPORADIC_SERVER_BUDGET])
			return false;
		if (vp->left_ns < -(s64)SPORADIC_SERVER_MOST_DEBT_NS || (!vp->first_ns && vp->left_ns <= 0))
			return false;
		if (h->vp[v].state == HLS_READY && throttled != (vp->left_ns <= 0))
			return false;
	}
	return true;
}

static const struct hls_policy sporadic_server_policy = {
    .name = "sporadic-server",
    .what = "a budget at a fixed priority; what is used of it comes back a period later",
    .source = "Sprunt, Sha and Lehoczky, Real-Time Systems 1989",
    .strict = true,
    .serial = true,
    .register_vp = sporadic_server_register_vp,
    .unregister_vp = sporadic_server_unregister_vp,
    .request = sporadic_server_request,
    .withdraw = sporadic_server_withdraw,
    .grant = sporadic_server_grant,
    .revoke = sporadic_server_revoke,
    .release = sporadic_server_release,
    .preempts = sporadic_server_preempts,
    .timer = sporadic_server_timer,
    .check_invariants = sporadic_server_check_invariants,
};
