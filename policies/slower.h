/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uniformly slower processors: what BSS-I and PShED have in common. Each child has a server with a rate U, and the
 * servers are scheduled by EDF. The deadline of a server is the earliest one below it, which the child's scheduler
 * tells (HLS_TOLD_DEADLINE), or a thread by a message. For each of its deadlines that has not passed, a server keeps a
 * budget: the CPU time that it may still have by then, for work that is due by then.
 *
 *      budget
 *        |              U   o d3        a new deadline d has U times the time since the one before, on top of that
 *        |          o-.-'               one's budget (since now, if it is the first), and no more than the next has
 *        |   U    .-' d2
 *        |   o--'                       a run of e by d2 takes e from d2 and d3, and leaves no more for d1 than for d2
 *        |.-' d1
 *      --+------------------------> time
 *       now
 *
 * So by each of its deadlines a child gets what a processor of speed U would have done, whatever its siblings do, and
 * early work for a late deadline takes nothing from work that is due before. A server that has no budget for its
 * deadline waits for the deadline; a server that wakes up has no more than U times the time up to each deadline.
 *
 * If a child has told no deadline that is still to come, its server gets one, a period ahead, when the one before has
 * passed. Budgets are in millionths of a ns, the unit in which a rate gives whole numbers. CPU time that a late timer
 * lets a child have beyond its budget is a debt, which its next budgets pay.
 *
 * The papers' lists have no bound. Here a server has room for SLOWER_DEADLINES. When its list is full, it merges the
 * two neighbours that cost the child least to merge: the earlier budget counts for both deadlines, or what was used of
 * the later one counts for the earlier. Siblings lose nothing by that; the child may.
 */
#ifndef HLS_SLOWER_H
#define HLS_SLOWER_H

#include "../core/policy.h"

#define SLOWER_CHILDREN 6
#define SLOWER_DEADLINES 8
#define SLOWER_MOST_AHEAD HLS_S(7200)                      /* a deadline that is later counts as if it were then */
#define SLOWER_UNIT HLS_WHOLE_SPEED                        /* of budgets, in a ns */
#define SLOWER_MOST_DEBT ((s64)(HLS_MS(10) * SLOWER_UNIT)) /* a tick of the slowest clock of Linux */

#define SLOWER_PARAMS(P)                                                           \
	P(SLOWER_PERIOD, "period", HLS_TIME, HLS_MS(10), HLS_US(100), HLS_S(3600), \
	  "time to the deadline of a child that tells none")
#define SLOWER_VP_PARAMS(P)                                                 \
	P(SLOWER_RATE, "rate-ppm", HLS_COUNT, HLS_REQUIRED, 1, SLOWER_UNIT, \
	  "speed of the VP in millionths of what its parent has")
#define SLOWER_DEADLINE_FIELDS(P)                                        \
	P(SLOWER_IN, "in", HLS_TIME, HLS_REQUIRED, 0, SLOWER_MOST_AHEAD, \
	  "how far off the deadline is; 0: it has none")
#define SLOWER_MESSAGES(M) \
	M(SLOWER_DEADLINE, SLOWER_DEADLINE_FIELDS, "deadline", "the deadline of the thread's job")

enum { SLOWER_PARAMS(HLS_PARAM_INDEX) };
enum { SLOWER_VP_PARAMS(HLS_PARAM_INDEX) };
enum { SLOWER_DEADLINE_FIELDS(HLS_PARAM_INDEX) };
enum { SLOWER_MESSAGES(HLS_MESSAGE_INDEX) };

struct slower_budget {
	u64 deadline_at;
	s64 left; /* below 0: a debt */
};
typedef struct slower_budget __arena slower_budget_t;

struct slower {
	struct hls_queue ready; /* by deadline */
	u32 depleted;           /* heap of the throttled VPs, by deadline */
	u32 taken;              /* the lists that servers have, a bit each */
	struct slower_budget budget[SLOWER_CHILDREN][SLOWER_DEADLINES]; /* of each server, by deadline */
};

struct slower_vp {
	u64 deadline_at; /* of the server */
	u64 told_at;     /* the deadline that its thread has told */
	s64 debt;        /* of deadlines that have passed */
	u32 list;        /* its list, counted from 1 */
	u32 count;       /* budgets in it */
};

POLICY_WORDS(slower);

#define SLOWER_FAR ((s64)(~0ULL >> 1)) /* more than any budget */

/* SLOWER_BY_BUDGET cuts budgets of earlier deadlines at once; SLOWER_BY_SLACK looks up the least of all later ones. */
enum slower_kind { SLOWER_BY_BUDGET, SLOWER_BY_SLACK };

static __always_inline slower_budget_t *slower_list(hls_t *h, u32 s, u32 v)
{
	u32 list = POLICY_VP(slower, v)->list - 1;
	return POLICY_STATE(slower, s)->budget[list % SLOWER_CHILDREN];
}

/* The index of the first budget with a deadline at or after `at`. */
static __always_inline u32 slower_index(const slower_budget_t *list, u32 count, u64 at)
{
	u32 i = opaque(0);
	for (; i < SLOWER_DEADLINES && i < count && list[i].deadline_at < at && can_loop; i++)
		;
	return i;
}

/* Cuts each budget to the budget of the next deadline. */
static __always_inline void slower_cut(slower_budget_t *list, u32 count)
{
	for (u32 n = opaque(1); n < SLOWER_DEADLINES && n < count && can_loop; n++) {
		slower_budget_t *earlier = &list[count - 1 - n];
		if (earlier->left > earlier[1].left)
			earlier->left = earlier[1].left;
	}
}

/* What may be used by the deadline at index i. */
static __always_inline s64 slower_left(const slower_budget_t *list, u32 count, u32 i)
{
	s64 left = list[i].left;
	for (u32 n = opaque(0); n < SLOWER_DEADLINES && ++i < count && can_loop; n++)
		if (list[i].left < left)
			left = list[i].left;
	return left;
}

static __always_inline void slower_remove(slower_budget_t *list, slower_vp_t *vp, u32 i)
{
	vp->count--;
	for (u32 n = opaque(0); n < SLOWER_DEADLINES && i < vp->count && can_loop; n++, i++) {
		list[i].deadline_at = list[i + 1].deadline_at;
		list[i].left = list[i + 1].left;
	}
}

/*
 * The budget of a new deadline at index i: the budget of the deadline before plus U times the time since that one. The
 * first deadline has U times the time from now, less the debt.
 */
static __always_inline s64 slower_worth(hls_t *h, const slower_budget_t *list, const slower_vp_t *vp, u32 i, u64 at,
					u64 rate)
{
	if (i)
		return list[i - 1].left + (s64)((at - list[i - 1].deadline_at) * rate);
	return (s64)((at - h->now_ns) * rate) - vp->debt;
}

/* Removes the deadlines that have passed. What was overused for the last of them is a debt. */
static __always_inline void slower_pass(hls_t *h, slower_budget_t *list, slower_vp_t *vp)
{
	for (u32 n = opaque(0); n < SLOWER_DEADLINES && vp->count && can_loop; n++) {
		if (list[0].deadline_at > h->now_ns)
			break;
		vp->debt = list[0].left < 0 ? -list[0].left : 0;
		slower_remove(list, vp, 0);
	}
}

/*
 * The most that a child loses, for any deadline, if the budget at index i is dropped: what was used of it counts for
 * the budget before (`earlier`), or the budget behind is cut to this one.
 */
static __always_inline s64 slower_loss(hls_t *h, const slower_budget_t *list, const slower_vp_t *vp, u32 i,
				       u64 rate, bool earlier)
{
	s64 ahead = list[i].left - slower_worth(h, list, vp, i, list[i].deadline_at, rate);
	if (earlier)
		return ahead < 0 ? -ahead : ahead;
	if (i + 1 >= vp->count)
		return SLOWER_FAR;
	return list[i + 1].left - list[i].left + (ahead > 0 ? ahead : 0);
}

/* Makes room for a deadline: drops the budget that costs the child least. */
HLS_RARE_FUNC u32 slower_make_room(hls_t *h __arg_arena, u32 s, u32 v, u64 rate)
{
	slower_vp_t *vp = POLICY_VP(slower, v);
	slower_budget_t *list = slower_list(h, s, v);
	u32 best = 0;
	s64 least = SLOWER_FAR;
	slower_cut(list, vp->count);
	for (u32 n = opaque(0); n < 2 * SLOWER_DEADLINES && can_loop; n++) {
		s64 loss = slower_loss(h, list, vp, n / 2, rate, n & 1);
		if (loss < least) {
			best = n;
			least = loss;
		}
	}
	u32 i = best / 2;
	s64 ahead = list[i].left - slower_worth(h, list, vp, i, list[i].deadline_at, rate);
	if (!(best & 1))
		list[i + 1].left = list[i].left;
	else if (i && ahead < 0)
		list[i - 1].left += ahead;
	else if (ahead < 0)
		vp->debt -= ahead;
	slower_remove(list, vp, i);
	slower_cut(list, vp->count);
	return 0;
}

/* Drops the budget for the server's deadline if it is what a new one would be: then it says nothing. */
static __always_inline void slower_drop_idle(hls_t *h, slower_budget_t *list, slower_vp_t *vp, u64 rate)
{
	u64 at = vp->deadline_at;
	u32 i = slower_index(list, vp->count, at);
	if (i < vp->count && list[i].deadline_at == at && list[i].left == slower_worth(h, list, vp, i, at, rate))
		slower_remove(list, vp, i);
}

/* The deadline that the server v should have now. */
static __always_inline u64 slower_next_deadline(hls_t *h, u32 s, u32 v)
{
	const slower_vp_t *vp = POLICY_VP(slower, v);
	u64 told_at = h->vp[v].child ? hls_told(h, v, HLS_TOLD_DEADLINE) : vp->told_at;
	if (told_at > h->now_ns && told_at - h->now_ns <= SLOWER_MOST_AHEAD)
		return told_at;
	return vp->deadline_at > h->now_ns ? vp->deadline_at : h->now_ns + h->scheduler[s].param[SLOWER_PERIOD];
}

/* Gives the server v its current deadline, and a budget for it. */
HLS_GLOBAL_FUNC u32 slower_notice(hls_t *h __arg_arena, u32 s, u32 v)
{
	slower_vp_t *vp = POLICY_VP(slower, v);
	slower_budget_t *list = slower_list(h, s, v);
	u64 rate = hls_speed(h, v), at = slower_next_deadline(h, s, v);
	slower_pass(h, list, vp);
	slower_drop_idle(h, list, vp, rate);
	vp->deadline_at = at;
	u32 i = slower_index(list, vp->count, at);
	if (i < vp->count && list[i].deadline_at == at)
		return 0;
	if (vp->count == SLOWER_DEADLINES) {
		slower_make_room(h, s, v, rate);
		i = slower_index(list, vp->count, at);
	}
	s64 left = slower_worth(h, list, vp, i, at, rate);
	for (u32 n = opaque(0), last = vp->count; n < SLOWER_DEADLINES && last > i && can_loop; n++, last--) {
		list[last].deadline_at = list[last - 1].deadline_at;
		list[last].left = list[last - 1].left;
	}
	vp->count++;
	list[i].deadline_at = at;
	list[i].left = i + 1 < vp->count && list[i + 1].left < left ? list[i + 1].left : left;
	return 0;
}

/* Whether the server v needs another deadline: its own has passed, or its child has told another one. */
static __always_inline bool slower_is_due(hls_t *h, u32 s, u32 v)
{
	return slower_next_deadline(h, s, v) != POLICY_VP(slower, v)->deadline_at;
}

HLS_GLOBAL_FUNC u32 slower_set_timer(hls_t *h __arg_arena, u32 s)
{
	slower_t *slower = POLICY_STATE(slower, s);
	u32 ready = queue_first(h, &slower->ready), depleted = slower->depleted;
	u64 first = ready ? POLICY_VP(slower, ready)->deadline_at : HLS_NEVER;
	if (depleted && POLICY_VP(slower, depleted)->deadline_at < first)
		first = POLICY_VP(slower, depleted)->deadline_at;
	hls_set_timer(h, s, first);
	return 0;
}

/* Below another slower processor, s tells the earliest of its servers' deadlines. */
HLS_GLOBAL_FUNC u32 slower_tell(hls_t *h __arg_arena, u32 s)
{
	u32 up = h->scheduler[s].first_up, ready = queue_first(h, &POLICY_STATE(slower, s)->ready);
	if (likely(!h->scheduler[h->vp[up].parent].hears))
		return 0;
	u64 first = ready ? POLICY_VP(slower, ready)->deadline_at : HLS_NEVER;
	for_each_up (h, u, s) {
		u32 running = hls_running_by(h, s, u);
		if (running && POLICY_VP(slower, running)->deadline_at < first)
			first = POLICY_VP(slower, running)->deadline_at;
	}
	if (first != HLS_NEVER)
		hls_tell_parents(h, s, HLS_TOLD_DEADLINE, first);
	return 0;
}

/* What the server v may use by its deadline. */
static __always_inline s64 slower_budget_of(hls_t *h, u32 s, u32 v)
{
	const slower_vp_t *vp = POLICY_VP(slower, v);
	const slower_budget_t *list = slower_list(h, s, v);
	return slower_left(list, vp->count, slower_index(list, vp->count, vp->deadline_at));
}

/* The READY VP, which is in no queue, is queued if it has budget for its deadline, else throttled. */
HLS_GLOBAL_FUNC u32 slower_queue(hls_t *h __arg_arena, u32 s, u32 v)
{
	slower_t *slower = POLICY_STATE(slower, s);
	u64 at = POLICY_VP(slower, v)->deadline_at;
	s64 left = slower_budget_of(h, s, v);
	bool throttled = h->vp[v].flags & HLS_THROTTLED;
	if (left < SLOWER_UNIT) {
		if (!throttled)
			hls_throttle(h, v);
		heap_push(h, &slower->depleted, v, at, h->seq++);
		return 0;
	}
	if (throttled) {
		hls_unthrottle(h, v);
		hls_emit(h, v, HLS_REC_REPLENISH, left / SLOWER_UNIT, at);
	}
	queue_push(h, &slower->ready, v, at);
	return 0;
}

/* The VP is READY: gives it its current deadline, and queues it. */
static __always_inline void slower_enqueue(hls_t *h, u32 s, u32 v)
{
	slower_notice(h, s, v);
	slower_queue(h, s, v);
	slower_set_timer(h, s);
	slower_tell(h, s);
}

/* Takes the VP out of its queue. It may still be throttled. */
static __always_inline void slower_dequeue(hls_t *h, u32 s, u32 v)
{
	slower_t *slower = POLICY_STATE(slower, s);
	if (h->vp[v].flags & HLS_THROTTLED)
		heap_remove(h, &slower->depleted, v);
	else
		queue_remove(h, &slower->ready, v);
}

/* A READY VP has another deadline. */
static __always_inline void slower_requeue(hls_t *h, u32 s, u32 v)
{
	slower_dequeue(h, s, v);
	slower_enqueue(h, s, v);
}

/* A list for the server: the one that it had before its parameters changed, or one that is free. */
static s64 slower_register_vp(hls_t *h, u32 s, u32 v)
{
	slower_t *slower = POLICY_STATE(slower, s);
	slower_vp_t *vp = POLICY_VP(slower, v);
	if (!vp->list)
		vp->list = 1 + __builtin_ctz(~slower->taken);
	slower->taken |= 1U << (vp->list - 1);
	return 0;
}

static void slower_unregister_vp(hls_t *h, u32 s, u32 v)
{
	POLICY_STATE(slower, s)->taken &= ~(1U << (POLICY_VP(slower, v)->list - 1));
}

/* The server wakes up: what it did not use while it slept is lost. */
HLS_GLOBAL_FUNC u32 slower_wake(hls_t *h __arg_arena, u32 s, u32 v)
{
	const slower_vp_t *vp = POLICY_VP(slower, v);
	slower_budget_t *list = slower_list(h, s, v);
	u64 rate = hls_speed(h, v);
	h->vp[v].flags &= ~HLS_RESUMED;
	for (u32 i = opaque(0); i < SLOWER_DEADLINES && i < vp->count && can_loop; i++) {
		s64 lasts_ns = list[i].deadline_at - h->now_ns, worth = lasts_ns > 0 ? lasts_ns * (s64)rate : 0;
		if (list[i].left > worth)
			list[i].left = worth;
	}
	return 0;
}

static void slower_request(hls_t *h, u32 s, u32 v)
{
	slower_wake(h, s, v);
	slower_enqueue(h, s, v);
}

static void slower_withdraw(hls_t *h, u32 s, u32 v)
{
	slower_dequeue(h, s, v);
	slower_set_timer(h, s);
	slower_tell(h, s);
}

/* The slice ends with the budget, or at the deadline, when there is another one. */
HLS_GLOBAL_FUNC u32 slower_set_slice(hls_t *h __arg_arena, u32 s, u32 v)
{
	u64 lasts_ns = POLICY_VP(slower, v)->deadline_at - h->now_ns;
	u64 left_ns = (u64)slower_budget_of(h, s, v) / SLOWER_UNIT;
	h->slice_ns = left_ns < lasts_ns ? left_ns : lasts_ns;
	return 0;
}

/* slower_requeue(), out of line, so that what a grant does next has more of the stack. */
HLS_GLOBAL_FUNC u32 slower_renew(hls_t *h __arg_arena, u32 s, u32 v)
{
	slower_requeue(h, s, v);
	return 0;
}

/* Servers that need another deadline get it first, each at most once; that may leave them without budget. */
static u32 slower_grant(hls_t *h, u32 s, u32 cpu)
{
	slower_t *slower = POLICY_STATE(slower, s);
	u32 v = queue_first_usable(h, &slower->ready, cpu);
	for (u32 n = opaque(0); n < SLOWER_CHILDREN && v && slower_is_due(h, s, v) && can_loop; n++) {
		slower_renew(h, s, v);
		v = queue_first_usable(h, &slower->ready, cpu);
	}
	if (!v)
		return 0;
	slower_set_slice(h, s, v);
	queue_remove(h, &slower->ready, v);
	slower_set_timer(h, s);
	return v;
}

/* The server had a CPU for used_ns: charges the budgets of its deadline and of all later ones. */
HLS_GLOBAL_FUNC u32 slower_charge(hls_t *h __arg_arena, u32 s, u32 v, u64 used_ns, u32 kind)
{
	const slower_vp_t *vp = POLICY_VP(slower, v);
	slower_budget_t *list = slower_list(h, s, v);
	s64 used = used_ns < SLOWER_MOST_AHEAD ? used_ns * SLOWER_UNIT : SLOWER_MOST_AHEAD * SLOWER_UNIT;
	u32 i = slower_index(list, vp->count, vp->deadline_at);
	for (u32 n = opaque(0); n < SLOWER_DEADLINES && i < vp->count && can_loop; n++, i++) {
		list[i].left -= used;
		if (list[i].left < -SLOWER_MOST_DEBT)
			list[i].left = -SLOWER_MOST_DEBT;
	}
	if (kind == SLOWER_BY_BUDGET)
		slower_cut(list, vp->count);
	return 0;
}

static __always_inline void slower_revoke(hls_t *h, u32 s, u32 v, u64 used_ns, u32 kind)
{
	slower_charge(h, s, v, used_ns, kind);
	slower_enqueue(h, s, v);
}

static __always_inline void slower_release(hls_t *h, u32 s, u32 v, u64 used_ns, u32 kind)
{
	slower_charge(h, s, v, used_ns, kind);
	slower_tell(h, s);
}

static bool slower_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(slower, ready)->deadline_at < POLICY_VP(slower, running)->deadline_at;
}

/* A child has told another deadline. Its use until now counts for the old deadline, so a RUNNING child is charged. */
static void slower_told(hls_t *h, u32 s, u32 v)
{
	if (!slower_is_due(h, s, v))
		return;
	if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	else
		slower_requeue(h, s, v);
}

/* Gives a READY VP another deadline, a VP with budget first. */
static u32 slower_timer(hls_t *h, u32 s)
{
	slower_t *slower = POLICY_STATE(slower, s);
	u32 v = queue_first(h, &slower->ready);
	if (!v || !slower_is_due(h, s, v))
		v = slower->depleted;
	if (!v || !slower_is_due(h, s, v)) {
		slower_set_timer(h, s);
		return 0;
	}
	slower_requeue(h, s, v);
	return v;
}

/* A thread tells its deadline. A READY VP is put first in its queue, where the timer finds it. */
static s64 slower_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	slower_t *slower = POLICY_STATE(slower, s);
	u64 ahead_ns = payload->value[SLOWER_IN];
	(void)message;
	POLICY_VP(slower, v)->told_at = ahead_ns ? h->now_ns + ahead_ns : 0;
	if (!slower_is_due(h, s, v) || h->vp[v].state == HLS_WAITING)
		return 0;
	if (h->vp[v].state == HLS_RUNNING) {
		hls_recheck(h, v);
		return 0;
	}
	slower_dequeue(h, s, v);
	if (h->vp[v].flags & HLS_THROTTLED)
		heap_push(h, &slower->depleted, v, 0, h->seq++);
	else
		queue_push(h, &slower->ready, v, 0);
	hls_set_timer(h, s, h->now_ns);
	return 0;
}

/* Each server has its own list, in order; a READY one is throttled exactly if it has no budget for its deadline. */
static bool slower_check_invariants(hls_t *h, u32 s)
{
	u32 taken = 0;
	for_each_child (h, v, s) {
		const slower_vp_t *vp = POLICY_VP(slower, v);
		const slower_budget_t *list = slower_list(h, s, v);
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (!vp->list || vp->list > SLOWER_CHILDREN || vp->count > SLOWER_DEADLINES)
			return false;
		if (slower_index(list, vp->count, HLS_NEVER) != vp->count)
			return false;
		if (h->vp[v].state == HLS_READY && !slower_is_due(h, s, v) &&
		    throttled != (slower_budget_of(h, s, v) < SLOWER_UNIT))
			return false;
		taken |= 1U << (vp->list - 1);
	}
	return taken == POLICY_STATE(slower, s)->taken;
}

#endif
