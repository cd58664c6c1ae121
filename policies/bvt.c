/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Borrowed virtual time (K. J. Duda, D. R. Cheriton, SOSP 1999, sections 2 and 3).
 *
 * An example, in ms: on one CPU, VP a has a share of 1 and VP b a share of 3. Each has a virtual time A: its CPU time
 * divided by its share. The VP with the least A runs until it is ahead of the other VP by the allowance, here 6 of its
 * CPU time. So it runs for 6 + (the other's A - its own A) * its share. Both wake up at 0 with A = 0, a first:
 *
 *     at  0  a runs for 6 + (0 - 0) * 1  =  6; then A is  6 for a and  0 for b
 *     at  6  b runs for 6 + (6 - 0) * 3  = 24; then A is  6 for a and  8 for b
 *     at 30  a runs for 6 + (8 - 6) * 1  =  8; then A is 14 for a and  8 for b
 *     at 38  b runs for 6 + (14 - 8) * 3 = 24; then A is 14 for a and 16 for b; and so on, 8 and 24 in turn
 *
 * If a blocks at 38 instead, b runs alone: at 92 its A is 26. If a wakes up then, its A is raised from 14 to 26. That
 * is not less than b's A, so b goes on for 6, and then a runs. With a `warp` of 12, what counts for a is not A but E,
 * which is 26 - 12 / 1 = 14: a runs at once, for up to 6 + (26 - 14) * 1 = 18, until its A is 44. If a blocks then, b
 * has had 54 when its A is 44, too: the two are even again, after 18 and 54.
 *
 * A VP has an actual virtual time A: the CPU time that it had, divided by its share. The VP with the least effective
 * virtual time E runs. E is A, but while the VP is warped, A - warp / share: so it goes ahead of its turn, and pays
 * that back later.
 *
 * The scheduler's virtual time is the least A of the VPs that want the CPU, and never goes back. While no VP wants the
 * CPU, it is the greatest A of all. On waking up, a VP's A is raised to that time if it is less: a VP saves nothing
 * while it sleeps.
 *
 * A VP runs until its E is ahead of the next VP's E by the `allowance` (C), in CPU time; a VP that is alone runs
 * without end. A VP that wakes up, or begins to warp, preempts the RUNNING VP at once if its E is less.
 *
 *                 on                   limit used up, block, off
 *   UNWARPED ------------> WARPED ------------------------------> UNWARPED
 *       |                     ^
 *       | on, nothing left    | `unwarp` after it last ran warped
 *       +-----------------> BARRED ---------- block, off -------> UNWARPED
 *
 * A VP is warped from its wake-up on, unless it has sent `off`, or by the message `on`. It runs warped for at most
 * `warp-limit` of CPU time (L). L is renewed at a wake-up, at `on`, and when a bar ends, if the VP last ran warped at
 * least `unwarp` (U) ago. What is left of L survives a shorter sleep: otherwise any wait for a lock would end the warp.
 *
 * Where this differs from the paper: time is charged to the nanosecond, unless there is a `unit`; a VP that stalls
 * does not hold back the scheduler's virtual time; a RUNNING VP is compared by an A that includes its run until now; L
 * is CPU time, which no preemption renews; A never decreases, and is compared as a point on a circle; the remainder of
 * a division by a share is carried over.
 *
 * What few hierarchies use comes after the algorithm, each in a section of its own: units, stalls, several CPUs, and
 * warps of nested schedulers. Without its parameters, a section changes nothing of the algorithm.
 */
#include "../core/virtual_time.h"

#define BVT_MOST_WARP HLS_S(3600)

#define BVT_PARAMS(P)                                                                                   \
	P(BVT_ALLOWANCE, "allowance", HLS_TIME, HLS_MS(5), HLS_US(10), HLS_S(10),                       \
	  "CPU time by which a VP may get ahead of the next one before that runs")                      \
	P(BVT_CREDIT, "stall-credit", HLS_TIME, 0, 0, HLS_S(10),                                        \
	  "CPU time that a VP may be owed when it wakes up from a page fault or a wait for a disk")     \
	P(BVT_UNIT, "unit", HLS_TIME, 0, 0, HLS_MS(100),                                                \
	  "charges are rounded up to multiples of this CPU time; 0: no rounding")                       \
	P(BVT_MIGRATION, "migration", HLS_TIME, 0, 0, HLS_S(10),                                        \
	  "how much earlier a VP must be to run on another CPU than last, as CPU time at a share of 1") \
	P(BVT_THRESHOLD, "threshold", HLS_TIME, 0, 0, BVT_MOST_WARP,                                    \
	  "below another bvt: warp fully once a child's warp reaches this; 0: follow the child's warp")
#define BVT_VP_PARAMS(P)                                                                                     \
	P(BVT_SHARE, "share", HLS_COUNT, 1, 1, 131072, "weight of the VP among its siblings")                \
	P(BVT_WARP, "warp", HLS_TIME, 0, 0, BVT_MOST_WARP, "CPU time that the VP may get ahead of its turn") \
	P(BVT_LIMIT, "warp-limit", HLS_TIME, 0, 0, HLS_S(1000),                                              \
	  "CPU time for which the VP may run warped; 0: no limit")                                           \
	P(BVT_UNWARP, "unwarp", HLS_TIME, 0, 0, HLS_S(3600),                                                 \
	  "time without warp that renews the limit; 0: each wake-up does")
#define BVT_NO_FIELDS(P)
#define BVT_MESSAGES(M)                                                  \
	M(BVT_ON, BVT_NO_FIELDS, "on", "warps, now and at each wake-up") \
	M(BVT_OFF, BVT_NO_FIELDS, "off", "does not warp, until `on`")

enum { BVT_PARAMS(HLS_PARAM_INDEX) };
enum { BVT_VP_PARAMS(HLS_PARAM_INDEX) };
enum { BVT_MESSAGES(HLS_MESSAGE_INDEX) };

/* A VP this far behind the next one gets a slice of an hour; with larger leads, products would overflow. */
#define BVT_FAR (1LL << 46)
#define BVT_NONE (1ULL << 62) /* no VP is so far ahead */

enum bvt_state { BVT_UNWARPED, BVT_WARPED, BVT_BARRED };

/* The queues of the READY VPs. */
struct bvt {
	u64 now;                /* the scheduler's virtual time */
	u64 greatest;           /* the greatest A of all */
	struct hls_queue ready; /* by E: of VPs without a warp (and so by A); the others lie in its search tree */
	u32 actuals;            /* heap by A of the VPs in that search tree */
	u32 warpers;            /* children that have a warp */
	u64 homes;              /* bit mask: CPUs with a search tree in `home` that is not empty */
	/* With a `migration`, in place of `ready`: for each CPU a search tree by E of the VPs that ran there last. */
	u32 home[HLS_MAX_CPUS];
	u32 barred; /* search tree of the BARRED VPs, by A */
	u32 bars;   /* heap of the BARRED VPs, by the ends of their bars */
	u32 keeper; /* a VP that goes on with a new slice, if a grant is asked for at `keeps_at` */
	u64 keeps_at;
};

struct bvt_vp {
	u64 actual;    /* A */
	u64 warped_at; /* when it last ran warped; 0: never */
	union {
		u64 released_at; /* WAITING: when it last stopped wanting the CPU */
		u64 warp;        /* else: the virtual time by which it is warped while it is WARPED */
	};
	u64 left_ns : 40;  /* what is left of its limit */
	u64 rest : 17;     /* remainder of the division that made `actual` */
	u64 state : 2;     /* enum bvt_state */
	u64 is_behind : 1; /* behind the scheduler's virtual time, within its credit */
	u64 is_off : 1;    /* it does not warp when it wakes up */
	u64 keeps : 1;     /* RUNNING, and its slice is to be shortened, since another VP woke up */
	u64 loses : 1;     /* RUNNING, and a VP with a lesser E woke up */
	u64 told : 1;      /* RUNNING, and a message said whether it is to warp */
};

POLICY_WORDS(bvt);

/* What the algorithm needs of the additions. */
static u64 bvt_units(hls_t *h, u32 s, u64 used_ns);
static u64 bvt_credit(hls_t *h, u32 s, u32 v);
static u64 bvt_penalty(hls_t *h, u32 s, u32 v, u32 cpu);
static u32 __arena *bvt_tree_of(hls_t *h, u32 s, u32 v);
static void bvt_note_home(hls_t *h, u32 s, u32 v);
HLS_RARE_FUNC u32 bvt_first_of_homes(hls_t *h __arg_arena, u32 s, u32 cpu);
static u64 bvt_warp_ns(hls_t *h, u32 v);
HLS_RARE_FUNC u32 bvt_tell_of(hls_t *h __arg_arena, u32 s, u32 v);
static void bvt_has_changed(hls_t *h, u32 s);

/* THE ALGORITHM: virtual times, A and E. */

/* CPU time of v as virtual time, rounded down. */
static u64 bvt_of(hls_t *h, u32 v, u64 ns)
{
	return virtual_of(ns, h->vp[v].param[BVT_SHARE]);
}

/* By how much virtual time v, which wants a CPU, is warped now. */
static u64 bvt_warp(hls_t *h, u32 v)
{
	const bvt_vp_t *vp = POLICY_VP(bvt, v);
	return vp->state == BVT_WARPED ? vp->warp : 0;
}

/* Updates the warp of v. */
static void bvt_take_warp(hls_t *h, u32 v)
{
	POLICY_VP(bvt, v)->warp = bvt_of(h, v, bvt_warp_ns(h, v));
}

/* E of a VP that is not RUNNING. */
static u64 bvt_effective(hls_t *h, u32 v)
{
	return POLICY_VP(bvt, v)->actual - bvt_warp(h, v);
}

/* A of the RUNNING v, which is charged for its run until now. */
static u64 bvt_running_actual(hls_t *h, u32 v)
{
	const bvt_vp_t *vp = POLICY_VP(bvt, v);
	u64 service = (hls_used_ns(h, v) << VIRTUAL_SHIFT) + vp->rest;
	return vp->actual + service / h->vp[v].param[BVT_SHARE];
}

/* E of the RUNNING v, which is charged for its run until now. */
static u64 bvt_running_effective(hls_t *h, u32 v)
{
	return bvt_running_actual(h, v) - bvt_warp(h, v);
}

/* E of the READY v on this CPU, with the penalty. */
static u64 bvt_effective_on(hls_t *h, u32 s, u32 v, u32 cpu)
{
	return bvt_effective(h, v) + bvt_penalty(h, s, v, cpu);
}

/* Returns v or w, the one with the lesser E on this CPU; 0 means none. */
static u32 bvt_earlier(hls_t *h, u32 s, u32 v, u32 w, u32 cpu)
{
	if (!v || !w)
		return v ? v : w;
	return virtual_before(bvt_effective_on(h, s, w, cpu), bvt_effective_on(h, s, v, cpu)) ? w : v;
}

/* THE ALGORITHM: the queues of the READY VPs, and the first of them. */

/* Whether v lies in a search tree by E, and in the heap by A. */
static bool bvt_is_apart(hls_t *h, u32 s, u32 v)
{
	return queue_is_pinned(h, v) || h->vp[v].param[BVT_WARP] || h->scheduler[s].param[BVT_MIGRATION];
}

static void bvt_enqueue_apart(hls_t *h, u32 s, u32 v)
{
	u32 __arena *tree = bvt_tree_of(h, s, v);
	queue_push_tree(h, tree, v, bvt_effective(h, v), h->seq);
	bvt_note_home(h, s, v);
	heap_push(h, &POLICY_STATE(bvt, s)->actuals, v, POLICY_VP(bvt, v)->actual, h->seq++);
}

static void bvt_dequeue_apart(hls_t *h, u32 s, u32 v)
{
	queue_remove_tree(h, bvt_tree_of(h, s, v), v);
	bvt_note_home(h, s, v);
	heap_remove(h, &POLICY_STATE(bvt, s)->actuals, v);
}

static u64 bvt_bar_end(hls_t *h, u32 v)
{
	return POLICY_VP(bvt, v)->warped_at + h->vp[v].param[BVT_UNWARP];
}

static void bvt_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(bvt, s)->bars;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

static void bvt_enqueue(hls_t *h, u32 s, u32 v)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	const bvt_vp_t *vp = POLICY_VP(bvt, v);
	if (vp->state == BVT_BARRED) {
		queue_push_tree(h, &bvt->barred, v, vp->actual, h->seq);
		heap_push(h, &bvt->bars, v, bvt_bar_end(h, v), h->seq++);
		bvt_set_timer(h, s);
	} else if (bvt_is_apart(h, s, v)) {
		bvt_enqueue_apart(h, s, v);
	} else {
		queue_push_heap(h, &bvt->ready.heap, v, vp->actual, h->seq++);
	}
}

static void bvt_dequeue(hls_t *h, u32 s, u32 v)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	if (POLICY_VP(bvt, v)->state == BVT_BARRED) {
		queue_remove_tree(h, &bvt->barred, v);
		heap_remove(h, &bvt->bars, v);
		bvt_set_timer(h, s);
	} else if (bvt_is_apart(h, s, v)) {
		bvt_dequeue_apart(h, s, v);
	} else {
		heap_remove(h, &bvt->ready.heap, v);
	}
}

/* The READY VP with the least E that can use the CPU; 0: none. */
HLS_RARE_BODY u32 bvt_first(hls_t *h, u32 s, u32 cpu)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	u32 barred = bvt->barred ? queue_first_usable_of_tree(h, bvt->barred, cpu) : 0;
	u32 first = bvt->homes ? bvt_first_of_homes(h, s, cpu) : queue_first_usable(h, &bvt->ready, cpu);
	return bvt_earlier(h, s, first, barred, cpu);
}

/* THE ALGORITHM: the scheduler's virtual time. */

/* `least`, or A of v if that is less; v is READY, or 0. */
static u64 bvt_lesser(hls_t *h, u32 v, u64 least)
{
	u64 actual = v ? POLICY_VP(bvt, v)->actual : least;
	return virtual_before(actual, least) ? actual : least;
}

/* The least A of the RUNNING VPs; if none runs, BVT_NONE ahead of the greatest A. */
HLS_RARE_FUNC u64 bvt_least_running(hls_t *h __arg_arena, u32 s)
{
	u64 least = POLICY_STATE(bvt, s)->greatest + BVT_NONE;
	for_each_up (h, u, s) {
		u32 v = hls_running_by(h, s, u);
		u64 actual = v ? bvt_running_actual(h, v) : least;
		if (virtual_before(actual, least))
			least = actual;
		if (v && !virtual_before(actual, POLICY_STATE(bvt, s)->now))
			POLICY_VP(bvt, v)->is_behind = 0;
	}
	return least;
}

/* Advances the scheduler's virtual time to `least`, or to the least A of the queued VPs if that is less. */
HLS_RARE_FUNC u32 bvt_advance_to(hls_t *h __arg_arena, u32 s, u64 least)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	least = bvt_lesser(h, bvt->ready.heap, least);
	least = bvt_lesser(h, bvt->actuals, least);
	least = bvt_lesser(h, queue_first_of_tree(h, bvt->barred), least);
	if (least == bvt->greatest + BVT_NONE)
		least = bvt->greatest;
	if (virtual_before(bvt->now, least))
		bvt->now = least;
	return 0;
}

/* Brings the scheduler's virtual time up to now: the least A of all queued and RUNNING VPs, or the greatest A. */
static void bvt_advance(hls_t *h, u32 s)
{
	bvt_advance_to(h, s, bvt_least_running(h, s));
}

/* THE ALGORITHM: turns and slices. */

/* The CPU time after which v is ahead, by the allowance, of a VP that is `ahead` of v now; `ahead` is virtual time. */
static u64 bvt_turn(hls_t *h, u32 s, u32 v, s64 ahead)
{
	if (ahead > BVT_FAR)
		return HLS_S(3600);
	s64 turn_ns = h->scheduler[s].param[BVT_ALLOWANCE];
	turn_ns += (ahead * (s64)h->vp[v].param[BVT_SHARE]) >> VIRTUAL_SHIFT;
	return turn_ns > 0 ? turn_ns : 0;
}

/* The turn of v, which is about to run on the CPU: how long until the next VP there takes over. */
static u64 bvt_next_turn(hls_t *h, u32 s, u32 v, u32 cpu)
{
	u32 next = bvt_first(h, s, cpu);
	if (!next)
		return HLS_NEVER;
	s64 ahead = bvt_effective_on(h, s, next, cpu) - bvt_effective(h, v);
	return bvt_turn(h, s, v, ahead);
}

/* The slice of v: its turn, but no more than is left of its limit, and not beyond the end of its bar. */
static u64 bvt_slice(hls_t *h, u32 v, u64 turn_ns)
{
	const bvt_vp_t *vp = POLICY_VP(bvt, v);
	u64 end_ns = HLS_NEVER;
	if (bvt_warp(h, v) && h->vp[v].param[BVT_LIMIT])
		end_ns = vp->left_ns;
	else if (vp->state == BVT_BARRED)
		end_ns = bvt_bar_end(h, v) - h->now_ns;
	return turn_ns < end_ns ? turn_ns : end_ns;
}

/* v has just become READY, or warped: rechecks `running` if it is to give way to v before its slice ends. */
HLS_RARE_FUNC u32 bvt_cut_slice(hls_t *h __arg_arena, u32 s, u32 v, u32 running)
{
	if (!running || !hls_usable(&h->vp[v], h->vp[running].cpu))
		return 0;
	bvt_vp_t *vp = POLICY_VP(bvt, running);
	u64 effective = bvt_effective_on(h, s, v, h->vp[running].cpu);
	s64 ahead = effective - bvt_running_effective(h, running);
	if (ahead < 0)
		vp->loses = 1;
	else if (bvt_turn(h, s, running, ahead) < hls_slice_left_ns(h, running))
		vp->keeps = 1;
	else
		return 0;
	hls_recheck(h, running);
	return 0;
}

static void bvt_cut_slices(hls_t *h, u32 s, u32 v)
{
	for_each_up (h, u, s)
		bvt_cut_slice(h, s, v, hls_running_by(h, s, u));
}

/*
 * The VP that goes on with another slice, if it can: it is READY, may use the CPU, and its turn is not over. 0: none.
 */
static u32 bvt_keeper(hls_t *h, u32 s, u32 cpu)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	u32 v = bvt->keeper;
	bvt->keeper = 0;
	const vp_t *vp = &h->vp[v];
	if (!v || bvt->keeps_at != h->now_ns || vp->parent != s || vp->state != HLS_READY || !hls_usable(vp, cpu))
		return 0;
	bvt_dequeue(h, s, v);
	u64 turn_ns = bvt_next_turn(h, s, v, cpu);
	if (!turn_ns) {
		bvt_enqueue(h, s, v);
		return 0;
	}
	h->slice_ns = bvt_slice(h, v, turn_ns);
	return v;
}

/* THE ALGORITHM: warps. */

/* v warps from now on if something is left of its limit, which may be renewed here; otherwise v is BARRED. */
static void bvt_begin_warp(hls_t *h, u32 v)
{
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	u64 limit_ns = h->vp[v].param[BVT_LIMIT];
	if (!vp->warped_at || h->now_ns >= bvt_bar_end(h, v))
		vp->left_ns = limit_ns;
	vp->state = vp->left_ns || !limit_ns ? BVT_WARPED : BVT_BARRED;
}

/* Obeys the last message to v (`on` or `off`). v wants a CPU and has been charged. */
static void bvt_obey(hls_t *h, u32 v)
{
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	if (vp->is_off)
		vp->state = BVT_UNWARPED;
	else if (h->vp[v].param[BVT_WARP])
		bvt_begin_warp(h, v);
}

static s64 bvt_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	(void)payload;
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	vp->is_off = message == BVT_OFF;
	if (h->vp[v].state == HLS_RUNNING) {
		/* It is charged first, for what it did before. */
		vp->told = 1;
		hls_recheck(h, v);
	} else if (h->vp[v].state == HLS_READY) {
		bvt_dequeue(h, s, v);
		bvt_obey(h, v);
		bvt_enqueue(h, s, v);
		bvt_cut_slices(h, s, v);
		bvt_has_changed(h, s);
	}
	return 0;
}

/* Ends the bars that are over, one at each call: their VPs are WARPED. */
static u32 bvt_timer(hls_t *h, u32 s)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	u32 v = bvt->bars;
	if (v && h->node[v].key <= h->now_ns) {
		bvt_dequeue(h, s, v);
		bvt_begin_warp(h, v);
		bvt_enqueue(h, s, v);
		bvt_cut_slices(h, s, v);
		bvt_has_changed(h, s);
		return v;
	}
	bvt_set_timer(h, s);
	return 0;
}

/* THE ALGORITHM: a VP wakes up, runs, and blocks. */

/* bvt_request() without telling the schedulers above. A function of its own, to save stack. */
HLS_RARE_FUNC u32 bvt_wake(hls_t *h __arg_arena, u32 s, u32 v)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	bvt_advance(h, s);
	u64 least = bvt->now - bvt_credit(h, s, v);
	bool forgotten = h->now_ns - vp->released_at > VIRTUAL_FORGET_NS;
	if (forgotten || virtual_before(vp->actual, least)) {
		vp->actual = least;
		vp->rest = 0;
	}
	vp->is_behind = virtual_before(vp->actual, bvt->now);
	if (h->vp[v].param[BVT_WARP] && !vp->is_off)
		bvt_begin_warp(h, v);
	bvt_take_warp(h, v);
	bvt_enqueue(h, s, v);
	bvt_cut_slices(h, s, v);
	return 0;
}

static void bvt_request(hls_t *h, u32 s, u32 v)
{
	bvt_wake(h, s, v);
	bvt_has_changed(h, s);
}

/* v no longer wants a CPU. */
static void bvt_end(hls_t *h, u32 s, u32 v)
{
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	vp->state = BVT_UNWARPED;
	vp->keeps = vp->loses = vp->told = 0;
	vp->released_at = h->now_ns;
	if (!(h->scheduler[s].nr_ready | h->scheduler[s].nr_running))
		bvt_advance(h, s);
	bvt_has_changed(h, s);
}

static void bvt_withdraw(hls_t *h, u32 s, u32 v)
{
	bvt_dequeue(h, s, v);
	bvt_end(h, s, v);
}

static u32 bvt_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 v = bvt_keeper(h, s, cpu);
	if (!v) {
		v = bvt_first(h, s, cpu);
		if (!v)
			return 0;
		bvt_dequeue(h, s, v);
		h->slice_ns = bvt_slice(h, v, bvt_next_turn(h, s, v, cpu));
	}
	if (unlikely(POLICY_STATE(bvt, s)->warpers))
		bvt_tell_of(h, s, v);
	return v;
}

/* v ran for used_ns: A advances by charged_ns / share; a warped run also uses up v's limit. */
static void bvt_charge(hls_t *h, u32 s, u32 v, u64 used_ns, u64 charged_ns)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	u64 share = h->vp[v].param[BVT_SHARE];
	u64 service = (charged_ns << VIRTUAL_SHIFT) + vp->rest, quotient = service / share;
	vp->actual += quotient;
	vp->rest = service - quotient * share;
	if (virtual_before(bvt->greatest, vp->actual))
		bvt->greatest = vp->actual;
	if (!virtual_before(vp->actual, bvt->now))
		vp->is_behind = 0;
	else if (!vp->is_behind)
		/* `now` was advanced in the middle of this run, and a part of the run turned out to be stolen time. */
		bvt->now = vp->actual;
	if (!used_ns || !bvt_warp(h, v))
		return;
	vp->warped_at = h->now_ns;
	vp->left_ns -= used_ns < vp->left_ns ? used_ns : vp->left_ns;
	if (!vp->left_ns && h->vp[v].param[BVT_LIMIT])
		vp->state = BVT_UNWARPED;
}

static void bvt_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	/* A VP that goes on is charged exactly: only the end of a run is rounded up to a unit. */
	bool goes_on = vp->keeps && !vp->loses;
	bvt_charge(h, s, v, used_ns, goes_on ? used_ns : bvt_units(h, s, used_ns));
	if (vp->told)
		bvt_obey(h, v);
	else if (vp->state == BVT_BARRED && h->now_ns >= bvt_bar_end(h, v))
		bvt_begin_warp(h, v);
	if (goes_on) {
		bvt->keeper = v;
		bvt->keeps_at = h->now_ns;
	}
	vp->keeps = vp->loses = vp->told = 0;
	bvt_take_warp(h, v);
	bvt_enqueue(h, s, v);
	bvt_has_changed(h, s);
}

static void bvt_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bvt_charge(h, s, v, used_ns, bvt_units(h, s, used_ns));
	bvt_end(h, s, v);
}

static bool bvt_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	u64 effective = bvt_effective(h, ready);
	if (h->vp[ready].state == HLS_READY)
		effective += bvt_penalty(h, s, ready, h->vp[running].cpu);
	return virtual_before(effective, bvt_running_effective(h, running));
}

/*
 * ADDITION: units. With a `unit`, the paper's minimum charging unit (100 us there), a VP that is often preempted early
 * gets less than its share, and nothing is promised.
 */

/* What is charged for a run of used_ns: rounded up to whole units, if there is a `unit`. */
static u64 bvt_units(hls_t *h, u32 s, u64 used_ns)
{
	u64 unit_ns = h->scheduler[s].param[BVT_UNIT];
	return unit_ns ? (used_ns + unit_ns - 1) / unit_ns * unit_ns : used_ns;
}

/*
 * ADDITION: stalls. In the paper a VP that sleeps against its will (a page fault) holds back the scheduler's virtual
 * time, so that every VP that sleeps meanwhile resumes with its old A: one fault costs the others without limit. Here
 * that time does not wait; but a VP that wakes up from such a sleep may keep an A that is behind the scheduler's
 * virtual time by `stall-credit` (G) of CPU time: then it `is_behind`.
 */

/* How far v, which wakes up, may be behind, in virtual time: 0, unless it slept against its will. */
static u64 bvt_credit(hls_t *h, u32 s, u32 v)
{
	return hls_has_stalled(&h->vp[v]) ? bvt_of(h, v, h->scheduler[s].param[BVT_CREDIT]) : 0;
}

/*
 * ADDITION: several CPUs. Each CPU picks the READY VP with the least E; the E of a VP that last ran on another CPU
 * counts as later by `migration` (M). On several CPUs, guarantees exist only for equal shares without warps: a light
 * VP beside a heavy one gets ahead of the scheduler's virtual time without limit.
 */

/*
 * The penalty that is added to E of the READY v on this CPU. It does not depend on v's share, so that the VPs that last
 * ran on one CPU have one order. BARRED VPs migrate for free: they lie in one search tree for all CPUs. A scheduler
 * that holds one VP, which may itself migrate, has no penalty: its guarantees are for that case.
 */
static u64 bvt_penalty(hls_t *h, u32 s, u32 v, u32 cpu)
{
	const vp_t *vp = &h->vp[v];
	const scheduler_t *sched = &h->scheduler[s];
	u64 migration_ns = sched->nr_up > 1 ? sched->param[BVT_MIGRATION] : 0;
	bool is_elsewhere = vp->nr_grants && vp->cpu != cpu && POLICY_VP(bvt, v)->state != BVT_BARRED;
	return migration_ns && is_elsewhere ? virtual_of(migration_ns, 1) : 0;
}

static u32 bvt_home(hls_t *h, u32 v)
{
	return h->vp[v].cpu & (HLS_MAX_CPUS - 1);
}

/* The search tree by E in which v lies, or is to lie. */
static u32 __arena *bvt_tree_of(hls_t *h, u32 s, u32 v)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	return h->scheduler[s].param[BVT_MIGRATION] ? &bvt->home[bvt_home(h, v)] : &bvt->ready.tree;
}

/* Updates `homes` after v has come into its search tree, or has left it. */
static void bvt_note_home(hls_t *h, u32 s, u32 v)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	u64 home = 1ULL << bvt_home(h, v);
	if (h->scheduler[s].param[BVT_MIGRATION])
		bvt->homes = bvt->home[bvt_home(h, v)] ? bvt->homes | home : bvt->homes & ~home;
}

/* Of the first VPs of all CPUs' search trees, the one with the least E on this CPU. */
HLS_RARE_FUNC u32 bvt_first_of_homes(hls_t *h __arg_arena, u32 s, u32 cpu)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	u64 homes = bvt->homes;
	u32 first = 0;
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && homes && can_loop; i++) {
		u32 home = __builtin_ctzll(homes) & (HLS_MAX_CPUS - 1);
		homes &= homes - 1;
		u32 v = queue_first_usable_of_tree(h, bvt->home[home], cpu);
		first = bvt_earlier(h, s, first, v, cpu);
	}
	return first;
}

/*
 * ADDITION: warps of nested schedulers (section 3 of the paper, direct mode). If a bvt below another bvt holds one VP
 * and has children with warps, the `warp` of that VP is a cap: the VP is warped by as much as the child that the lower
 * scheduler runs, or would run. So a warped thread goes ahead of its siblings, and its scheduler ahead of its own
 * siblings. What is passed on is CPU time, since the virtual times of two schedulers have nothing in common. If the
 * lower scheduler has a `threshold`, its VP is warped by all of `warp` while that child is warped by at least the
 * threshold, and otherwise not at all.
 */

/* The CPU time that v may get ahead of its turn while WARPED; a nested scheduler may tell a lesser warp. */
static u64 bvt_warp_ns(hls_t *h, u32 v)
{
	u64 warp_ns = h->vp[v].param[BVT_WARP], told = hls_told(h, v, HLS_TOLD_WARP);
	return told && told - 1 < warp_ns ? told - 1 : warp_ns;
}

/*
 * The child that s runs, or would run if all CPUs were equal; 0: none. A child that may not use every CPU counts only
 * while it runs: on a CPU where s would run another child, s would win that CPU and lose it without end. Meaningful if
 * s holds one VP and has no penalty; for another s, bvt_tell_of() ignores the answer.
 */
HLS_RARE_FUNC u32 bvt_current(hls_t *h __arg_arena, u32 s)
{
	bvt_t *bvt = POLICY_STATE(bvt, s);
	u32 running = hls_running_by(h, s, h->scheduler[s].first_up);
	u32 first = bvt_earlier(h, s, queue_first(h, &bvt->ready), queue_first_of_tree(h, bvt->barred), 0);
	if (!first || h->vp[first].flags & HLS_PINNED)
		return running;
	if (!running)
		return first;
	return virtual_before(bvt_effective(h, first), bvt_running_effective(h, running)) ? first : running;
}

/*
 * The most CPU time by which the VP of s may be warped while s runs v, or would run it; v may be 0. BVT_MOST_WARP: only
 * the `warp` of that VP is the limit.
 */
static u64 bvt_warp_above_ns(hls_t *h, u32 s, u32 v)
{
	u64 threshold_ns = h->scheduler[s].param[BVT_THRESHOLD];
	u64 warp_ns = v && POLICY_VP(bvt, v)->state == BVT_WARPED ? bvt_warp_ns(h, v) : 0;
	if (!threshold_ns)
		return warp_ns;
	return warp_ns >= threshold_ns ? BVT_MOST_WARP : 0;
}

/*
 * Tells the schedulers above s how far s is to be warped while it runs v, or would run it, plus 1 ns: 0 would mean
 * "nothing told". A scheduler without warps below it, with several VPs or with a penalty for migration tells nothing.
 */
HLS_RARE_FUNC u32 bvt_tell_of(hls_t *h __arg_arena, u32 s, u32 v)
{
	u64 told = 0;
	const scheduler_t *sched = &h->scheduler[s];
	if (POLICY_STATE(bvt, s)->warpers && sched->nr_up == 1 && !sched->param[BVT_MIGRATION])
		told = 1 + bvt_warp_above_ns(h, s, v);
	hls_tell_parents(h, s, HLS_TOLD_WARP, told);
	return 0;
}

/* Tells the schedulers above s about the child that s runs, or would run. */
HLS_RARE_BODY u32 bvt_tell(hls_t *h, u32 s)
{
	return bvt_tell_of(h, s, bvt_current(h, s));
}

/* The same after a change, if s has children with warps. */
static void bvt_has_changed(hls_t *h, u32 s)
{
	if (unlikely(POLICY_STATE(bvt, s)->warpers))
		bvt_tell(h, s);
}

/* The READY v has another warp from now on. A function of its own, to save stack. */
HLS_RARE_FUNC u32 bvt_requeue(hls_t *h __arg_arena, u32 s, u32 v)
{
	bvt_dequeue(h, s, v);
	bvt_take_warp(h, v);
	bvt_enqueue(h, s, v);
	bvt_cut_slices(h, s, v);
	return 0;
}

/* The scheduler below v runs, or is going to run, a child with another warp than the child before. */
static void bvt_told(hls_t *h, u32 s, u32 v)
{
	if (POLICY_VP(bvt, v)->warp == bvt_of(h, v, bvt_warp_ns(h, v)))
		return;
	if (h->vp[v].state == HLS_RUNNING) {
		/* It is charged first, for what it did before. */
		hls_recheck(h, v);
		return;
	}
	bvt_requeue(h, s, v);
	bvt_has_changed(h, s);
}

/* BOOKKEEPING: children, and invariants. */

/* After a change of parameters, a VP has no more left than its new limit. */
static s64 bvt_register_vp(hls_t *h, u32 s, u32 v)
{
	bvt_vp_t *vp = POLICY_VP(bvt, v);
	u64 limit_ns = h->vp[v].param[BVT_LIMIT];
	if (vp->left_ns > limit_ns)
		vp->left_ns = limit_ns;
	if (h->vp[v].param[BVT_WARP])
		POLICY_STATE(bvt, s)->warpers++;
	return 0;
}

static void bvt_unregister_vp(hls_t *h, u32 s, u32 v)
{
	if (!h->vp[v].param[BVT_WARP])
		return;
	POLICY_STATE(bvt, s)->warpers--;
	bvt_tell(h, s);
}

/* No READY VP is behind by more than its credit, no VP has more left than its limit, and WAITING VPs are UNWARPED. */
static bool bvt_check_invariants(hls_t *h, u32 s)
{
	u64 now = POLICY_STATE(bvt, s)->now;
	for_each_child (h, v, s) {
		const bvt_vp_t *vp = POLICY_VP(bvt, v);
		u64 least = vp->is_behind ? now - bvt_of(h, v, h->scheduler[s].param[BVT_CREDIT]) : now;
		if (h->vp[v].state == HLS_READY && virtual_before(vp->actual, least))
			return false;
		if (vp->left_ns > h->vp[v].param[BVT_LIMIT])
			return false;
		if (h->vp[v].state == HLS_WAITING && vp->state != BVT_UNWARPED)
			return false;
	}
	return true;
}

static const struct hls_policy bvt_policy = {
    .name = "bvt",
    .what = "CPU time in proportion to shares, some of it ahead of its turn (BVT)",
    .source = "Duda and Cheriton, SOSP 1999",
    .register_vp = bvt_register_vp,
    .unregister_vp = bvt_unregister_vp,
    .request = bvt_request,
    .withdraw = bvt_withdraw,
    .grant = bvt_grant,
    .revoke = bvt_revoke,
    .release = bvt_release,
    .preempts = bvt_preempts,
    .timer = bvt_timer,
    .message = bvt_message,
    .told = bvt_told,
    .check_invariants = bvt_check_invariants,
};
