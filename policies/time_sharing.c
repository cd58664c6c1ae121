/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Time sharing: a multi-level queue as in Windows 2000 and in HLS (RTSS 2001, section 7.2; thesis,
 * section 10.5.2).
 *
 * The READY VP of the highest level runs for a quantum. A VP that wakes up well rested is raised by `wake-boost` levels
 * over its base level, the priority, and comes down by one level with each quantum that it uses up. So that no VP
 * starves for ever, one that has been READY for `starve-after` without running goes above all levels for `starve-for`.
 *
 *               wake-up, rested: base + boost
 *     WAITING ---------------------------------> level ---- quantum used up: one down, not below base
 *                wake-up, not rested: as it was    |  ^
 *                       READY for `starve-after`   v  | `starve-for` used up, or a wake-up: base
 *                                                STARVED
 *
 * A VP is rested when it has slept, in one sleep or in several, for three times as long as it ran since it was raised
 * last. So a VP that mostly sleeps is raised by each wake-up, and one that mostly computes gains nothing by a moment of
 * sleep now and then: it goes on at its level with the rest of its quantum, before the others there, and so has a
 * quantum in each of their rounds. (In Windows 2000 the rest of a quantum survives a sleep, too.) What the raises let a
 * VP have before others of its base level is a quarter of a CPU at most, whatever its rhythm. After a long time of
 * computing, the sleep for one raise's worth is enough: of the time that it ran, at most what a raise gives
 * (`wake-boost` quanta) is counted.
 */
#include "../core/levels.h"

#define TIME_SHARING_LEVELS 32
#define TIME_SHARING_STARVED TIME_SHARING_LEVELS /* one more level, above all of them */
_Static_assert(TIME_SHARING_STARVED < HLS_LEVELS, "the level of the starved must exist");

/* To be raised, a VP must sleep for this many times as long as it ran. */
#define TIME_SHARING_SLEEP_FOR_RUN 3

#define TIME_SHARING_PARAMS(P)                                                                    \
	P(TIME_SHARING_QUANTUM, "quantum", HLS_TIME, HLS_MS(20), HLS_US(10), HLS_S(10),           \
	  "how long a VP runs before others of its level")                                        \
	P(TIME_SHARING_WAKE_BOOST, "wake-boost", HLS_COUNT, 2, 0, TIME_SHARING_LEVELS - 1,        \
	  "levels that a wake-up raises a rested VP by")                                          \
	P(TIME_SHARING_STARVE_AFTER, "starve-after", HLS_TIME, HLS_S(1), HLS_US(10), HLS_S(3600), \
	  "how long a VP may want the CPU in vain before it goes first")                          \
	P(TIME_SHARING_STARVE_FOR, "starve-for", HLS_TIME, HLS_MS(20), HLS_US(10), HLS_S(10),     \
	  "how long it then runs")
#define TIME_SHARING_VP_PARAMS(P)                                                      \
	P(TIME_SHARING_PRIORITY, "priority", HLS_COUNT, 8, 0, TIME_SHARING_LEVELS - 1, \
	  "base level of the VP; the greatest runs first")
#define TIME_SHARING_MESSAGES(M)

enum { TIME_SHARING_PARAMS(HLS_PARAM_INDEX) };
enum { TIME_SHARING_VP_PARAMS(HLS_PARAM_INDEX) };

struct time_sharing {
	struct hls_levels ready;
	u32 waiting; /* heap of the READY VPs that are not starved, by the time when their wait began */
};

struct time_sharing_vp {
	u64 left_ns; /* of its quantum; of a VP that has never run, 0 */
	u64 level;
	u64 sleep_owed_ns; /* how long it has to sleep until it is rested */
	u64 asleep_at;     /* since when it has been WAITING */
};

POLICY_WORDS(time_sharing);

/* Puts a READY VP into the queue of its level, behind or before the others, and begins its wait. */
static void time_sharing_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	time_sharing_t *ts = POLICY_STATE(time_sharing, s);
	u64 level = POLICY_VP(time_sharing, v)->level;
	levels_push(h, &ts->ready, level, v, behind);
	if (level == TIME_SHARING_STARVED)
		return;
	heap_push(h, &ts->waiting, v, h->now_ns, h->seq++);
	/*
	 * Waits begin in order of time, so a timer that is set is never too late; the hook sets one that is early
	 * again.
	 */
	if (h->scheduler[s].timer_at == HLS_NEVER)
		hls_set_timer(h, s, h->now_ns + h->scheduler[s].param[TIME_SHARING_STARVE_AFTER]);
}

static void time_sharing_dequeue(hls_t *h, u32 s, u32 v)
{
	time_sharing_t *ts = POLICY_STATE(time_sharing, s);
	u64 level = POLICY_VP(time_sharing, v)->level;
	levels_remove(h, &ts->ready, level, v);
	if (level != TIME_SHARING_STARVED)
		heap_remove(h, &ts->waiting, v);
}

/*
 * Raises a rested VP. Any other VP goes on as before; but if it was STARVED, that ends. Returns whether it comes behind
 * the others of its level, which it does unless its turn was interrupted.
 */
static bool time_sharing_wake(hls_t *h, u32 s, u32 v)
{
	time_sharing_vp_t *vp = POLICY_VP(time_sharing, v);
	u64 quantum_ns = h->scheduler[s].param[TIME_SHARING_QUANTUM];
	u64 base = h->vp[v].param[TIME_SHARING_PRIORITY];
	u64 raised = base + h->scheduler[s].param[TIME_SHARING_WAKE_BOOST];
	u64 slept_ns = h->now_ns - vp->asleep_at;
	if (raised >= TIME_SHARING_LEVELS)
		raised = TIME_SHARING_LEVELS - 1;
	if (slept_ns >= vp->sleep_owed_ns) {
		vp->sleep_owed_ns = 0;
		vp->level = raised;
		vp->left_ns = quantum_ns;
		return true;
	}
	vp->sleep_owed_ns -= slept_ns;
	bool stays = vp->level >= base && vp->level <= raised;
	if (!stays)
		vp->level = base;
	if (vp->left_ns > quantum_ns)
		vp->left_ns = quantum_ns;
	return !stays || vp->left_ns == quantum_ns;
}

static void time_sharing_request(hls_t *h, u32 s, u32 v)
{
	time_sharing_enqueue(h, s, v, time_sharing_wake(h, s, v));
}

static void time_sharing_withdraw(hls_t *h, u32 s, u32 v)
{
	time_sharing_dequeue(h, s, v);
	POLICY_VP(time_sharing, v)->asleep_at = h->now_ns;
}

static u32 time_sharing_grant(hls_t *h, u32 s, u32 cpu)
{
	time_sharing_t *ts = POLICY_STATE(time_sharing, s);
	u32 v = levels_take(h, &ts->ready, cpu);
	if (v) {
		if (POLICY_VP(time_sharing, v)->level != TIME_SHARING_STARVED)
			heap_remove(h, &ts->waiting, v);
		h->slice_ns = POLICY_VP(time_sharing, v)->left_ns;
	}
	return v;
}

/* v ran for used_ns. Returns whether its quantum is used up: then it has a new one, and comes down by a level. */
static bool time_sharing_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	time_sharing_vp_t *vp = POLICY_VP(time_sharing, v);
	u64 base = h->vp[v].param[TIME_SHARING_PRIORITY], quantum_ns = h->scheduler[s].param[TIME_SHARING_QUANTUM];
	u64 most_ns = h->scheduler[s].param[TIME_SHARING_WAKE_BOOST] * quantum_ns;
	u64 ran_ns = used_ns < most_ns ? used_ns : most_ns;
	vp->sleep_owed_ns += ran_ns * TIME_SHARING_SLEEP_FOR_RUN;
	if (vp->sleep_owed_ns > most_ns * TIME_SHARING_SLEEP_FOR_RUN)
		vp->sleep_owed_ns = most_ns * TIME_SHARING_SLEEP_FOR_RUN;
	bool over = hls_turn_over(h, v, &vp->left_ns, used_ns);
	if (over) {
		vp->left_ns = quantum_ns;
		if (vp->level == TIME_SHARING_STARVED || vp->level <= base)
			vp->level = base;
		else
			vp->level--;
	}
	return over;
}

static void time_sharing_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool over = time_sharing_charge(h, s, v, used_ns);
	time_sharing_enqueue(h, s, v, over);
}

static void time_sharing_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	time_sharing_charge(h, s, v, used_ns);
	POLICY_VP(time_sharing, v)->asleep_at = h->now_ns;
}

static bool time_sharing_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(time_sharing, ready)->level > POLICY_VP(time_sharing, running)->level;
}

/* The VP that has waited longest, if it has waited for `starve-after`, goes above all levels. */
static u32 time_sharing_timer(hls_t *h, u32 s)
{
	time_sharing_t *ts = POLICY_STATE(time_sharing, s);
	u64 starve_after_ns = h->scheduler[s].param[TIME_SHARING_STARVE_AFTER];
	u32 v = ts->waiting;
	if (!v)
		return 0;
	if (h->now_ns - h->node[v].key < starve_after_ns) {
		hls_set_timer(h, s, h->node[v].key + starve_after_ns);
		return 0;
	}
	time_sharing_dequeue(h, s, v);
	POLICY_VP(time_sharing, v)->level = TIME_SHARING_STARVED;
	POLICY_VP(time_sharing, v)->left_ns = h->scheduler[s].param[TIME_SHARING_STARVE_FOR];
	time_sharing_enqueue(h, s, v, true);
	return v;
}

static bool time_sharing_check_invariants(hls_t *h, u32 s)
{
	return levels_are_sound(&POLICY_STATE(time_sharing, s)->ready);
}

static const struct hls_policy time_sharing_policy = {
    .name = "time-sharing",
    .what = "multi-level queue with boosts for VPs that wake up or starve",
    .source = "HLS thesis, section 10.5.2",
    .strict = true,
    .may_be_default = true,
    .may_serve_hls = true,
    .request = time_sharing_request,
    .withdraw = time_sharing_withdraw,
    .grant = time_sharing_grant,
    .revoke = time_sharing_revoke,
    .release = time_sharing_release,
    .preempts = time_sharing_preempts,
    .timer = time_sharing_timer,
    .check_invariants = time_sharing_check_invariants,
};
