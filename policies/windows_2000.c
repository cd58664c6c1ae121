/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The time sharing of Windows 2000 (D. A. Solomon, M. E. Russinovich, "Inside Microsoft Windows 2000", third edition,
 * 2000, chapter 6, "Thread Scheduling").
 *
 * The READY VP of the highest level runs for a quantum, which is counted in thirds of ticks; then the next of its level
 * does. Levels from 16 on are for real time: there a VP stays at its base level, the priority. Below 16:
 *
 *                wait over: base + `wake-boost` (15 at most)
 *     WAITING -----------------------------------------------> level ----- quantum used up: one down, not below base
 *                                                                |  ^
 *                               READY for `starve-after`         v  | two quanta used up: base
 *                                                             STARVED, at 15
 *
 * - The boost of a wake-up depends on what the VP waited for: the driver or the object states it. Here it is a
 *   parameter: 1 for a disk, an event or a semaphore, 2 for the network, a pipe or a window, 6 for keyboard and mouse,
 *   8 for sound. The boost counts from the base level, and never lowers a VP that is higher.
 * - The rest of a quantum survives a wait, less one unit, so that no VP keeps a quantum for ever by waiting before each
 *   tick; if nothing is left, the wait has used the quantum up. A VP with a base level from 14 on gets a whole quantum.
 * - A VP that is preempted goes on before the others of its level, a VP that has used its quantum up behind them.
 * - A VP that the balance set manager has raised keeps level 15 over waits, and gets no other boost.
 *
 * Where it differs: CPU time is charged to the nanosecond, not three units to the VP that a tick meets. The balance set
 * manager looks at 16 VPs once a second; here each is raised when its time has come. No stretched quanta, and no
 * lasting boost, for the window in the foreground.
 *
 * As published it can be cheated: a VP that has a boost of 2 or more and waits for a moment before each quantum ends
 * stays above its base level. Its equals get only those moments, and do not count as starving since they run in them
 * (crates/hls-core/tests/windows_2000.rs). HLS has time_sharing.c instead.
 */
#include "../core/levels.h"

#define WINDOWS_2000_LEVELS 32
#define WINDOWS_2000_REAL_TIME 16
#define WINDOWS_2000_STARVED 15       /* a VP at this level or above does not starve */
#define WINDOWS_2000_TIME_CRITICAL 14 /* from this base level on, a VP gets a whole quantum after each wait */

#define WINDOWS_2000_PARAMS(P)                                                                    \
	P(WINDOWS_2000_TICK, "tick", HLS_TIME, HLS_MS(10), HLS_US(30), HLS_S(1),                  \
	  "time between interrupts of the clock")                                                 \
	P(WINDOWS_2000_QUANTUM, "quantum", HLS_COUNT, 6, 1, 120,                                  \
	  "how long a VP runs before others of its level, in thirds of ticks; 36 on servers")     \
	P(WINDOWS_2000_STARVE_AFTER, "starve-after", HLS_TIME, HLS_S(3), HLS_US(10), HLS_S(3600), \
	  "how long a VP may want the CPU in vain before it has two quanta at level 15")
#define WINDOWS_2000_VP_PARAMS(P)                                                       \
	P(WINDOWS_2000_PRIORITY, "priority", HLS_COUNT, 8, 1, WINDOWS_2000_LEVELS - 1,  \
	  "base level of the VP; the greatest runs first, from 16 on without boosts")   \
	P(WINDOWS_2000_WAKE_BOOST, "wake-boost", HLS_COUNT, 1, 0, WINDOWS_2000_STARVED, \
	  "levels that a wake-up raises the VP by")
#define WINDOWS_2000_MESSAGES(M)

enum { WINDOWS_2000_PARAMS(HLS_PARAM_INDEX) };
enum { WINDOWS_2000_VP_PARAMS(HLS_PARAM_INDEX) };

struct windows_2000 {
	struct hls_levels ready;
	u32 waiting; /* heap of the READY VPs below level 15, by the time when their wait began */
};

struct windows_2000_vp {
	u64 left_ns; /* of its quantum; 0: the VP has never been registered */
	u64 level;
	u64 asleep_at; /* since when it has been WAITING; HLS_NEVER: it waited for nothing */
	u64 starved;   /* whether it was raised because it starved */
};

POLICY_WORDS(windows_2000);

static u64 windows_2000_unit_ns(hls_t *h, u32 s)
{
	return h->scheduler[s].param[WINDOWS_2000_TICK] / 3;
}

static u64 windows_2000_quantum_ns(hls_t *h, u32 s)
{
	return h->scheduler[s].param[WINDOWS_2000_QUANTUM] * windows_2000_unit_ns(h, s);
}

/* With a new base level a VP begins there; what is left of its quantum stays. */
static s64 windows_2000_register_vp(hls_t *h, u32 s, u32 v)
{
	windows_2000_vp_t *vp = POLICY_VP(windows_2000, v);
	if (!vp->left_ns) {
		vp->left_ns = windows_2000_quantum_ns(h, s);
		vp->asleep_at = HLS_NEVER;
	}
	vp->level = h->vp[v].param[WINDOWS_2000_PRIORITY];
	vp->starved = false;
	return 0;
}

/* Puts a READY VP into the queue of its level, behind or before the others, and begins its wait for a CPU. */
static void windows_2000_enqueue(hls_t *h, u32 s, u32 v, bool behind)
{
	windows_2000_t *windows = POLICY_STATE(windows_2000, s);
	u64 level = POLICY_VP(windows_2000, v)->level;
	levels_push(h, &windows->ready, level, v, behind);
	if (level >= WINDOWS_2000_STARVED)
		return;
	heap_push(h, &windows->waiting, v, h->now_ns, h->seq++);
	/* Waits begin in order of time, so a timer that is set is never too late; an early one is set again. */
	if (h->scheduler[s].timer_at == HLS_NEVER)
		hls_set_timer(h, s, h->now_ns + h->scheduler[s].param[WINDOWS_2000_STARVE_AFTER]);
}

static void windows_2000_dequeue(hls_t *h, u32 s, u32 v)
{
	windows_2000_t *windows = POLICY_STATE(windows_2000, s);
	u64 level = POLICY_VP(windows_2000, v)->level;
	levels_remove(h, &windows->ready, level, v);
	if (level < WINDOWS_2000_STARVED)
		heap_remove(h, &windows->waiting, v);
}

/* The quantum is used up: the VP has a new one, one level lower or, if it had starved, at its base level. */
static void windows_2000_end_quantum(hls_t *h, u32 s, u32 v)
{
	windows_2000_vp_t *vp = POLICY_VP(windows_2000, v);
	u64 base = h->vp[v].param[WINDOWS_2000_PRIORITY];
	vp->left_ns = windows_2000_quantum_ns(h, s);
	if (vp->starved || vp->level <= base)
		vp->level = base;
	else
		vp->level--;
	vp->starved = false;
}

/* A wait is over: the VP is raised, and its quantum is a unit shorter. */
static void windows_2000_end_wait(hls_t *h, u32 s, u32 v)
{
	windows_2000_vp_t *vp = POLICY_VP(windows_2000, v);
	u64 base = h->vp[v].param[WINDOWS_2000_PRIORITY], unit_ns = windows_2000_unit_ns(h, s);
	u64 raised = base + h->vp[v].param[WINDOWS_2000_WAKE_BOOST];
	if (raised > WINDOWS_2000_STARVED)
		raised = WINDOWS_2000_STARVED;
	if (vp->level < raised)
		vp->level = raised;
	if (base >= WINDOWS_2000_TIME_CRITICAL)
		vp->left_ns = windows_2000_quantum_ns(h, s);
	else if (vp->left_ns > unit_ns)
		vp->left_ns -= unit_ns;
	else
		windows_2000_end_quantum(h, s, v);
}

/* A child that wants the CPU again at once, or after it was READY before, has not waited for anything. */
static void windows_2000_request(hls_t *h, u32 s, u32 v)
{
	windows_2000_vp_t *vp = POLICY_VP(windows_2000, v);
	bool waited = vp->asleep_at != HLS_NEVER && vp->asleep_at != h->now_ns;
	if (waited)
		windows_2000_end_wait(h, s, v);
	windows_2000_enqueue(h, s, v, waited || vp->left_ns >= windows_2000_quantum_ns(h, s));
}

static void windows_2000_withdraw(hls_t *h, u32 s, u32 v)
{
	windows_2000_dequeue(h, s, v);
	POLICY_VP(windows_2000, v)->asleep_at = HLS_NEVER;
}

static u32 windows_2000_grant(hls_t *h, u32 s, u32 cpu)
{
	windows_2000_t *windows = POLICY_STATE(windows_2000, s);
	u32 v = levels_take(h, &windows->ready, cpu);
	if (v) {
		if (POLICY_VP(windows_2000, v)->level < WINDOWS_2000_STARVED)
			heap_remove(h, &windows->waiting, v);
		h->slice_ns = POLICY_VP(windows_2000, v)->left_ns;
	}
	return v;
}

static void windows_2000_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool over = hls_turn_over(h, v, &POLICY_VP(windows_2000, v)->left_ns, used_ns);
	if (over)
		windows_2000_end_quantum(h, s, v);
	windows_2000_enqueue(h, s, v, over);
}

static void windows_2000_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	if (hls_turn_over(h, v, &POLICY_VP(windows_2000, v)->left_ns, used_ns))
		windows_2000_end_quantum(h, s, v);
	POLICY_VP(windows_2000, v)->asleep_at = h->now_ns;
}

static bool windows_2000_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return POLICY_VP(windows_2000, ready)->level > POLICY_VP(windows_2000, running)->level;
}

/* The balance set manager. */
static u32 windows_2000_timer(hls_t *h, u32 s)
{
	u64 starve_after_ns = h->scheduler[s].param[WINDOWS_2000_STARVE_AFTER];
	u32 v = POLICY_STATE(windows_2000, s)->waiting;
	if (!v)
		return 0;
	if (h->now_ns - h->node[v].key < starve_after_ns) {
		hls_set_timer(h, s, h->node[v].key + starve_after_ns);
		return 0;
	}
	windows_2000_vp_t *vp = POLICY_VP(windows_2000, v);
	windows_2000_dequeue(h, s, v);
	vp->level = WINDOWS_2000_STARVED;
	vp->left_ns = 2 * windows_2000_quantum_ns(h, s);
	vp->starved = true;
	windows_2000_enqueue(h, s, v, true);
	return v;
}

static bool windows_2000_check_invariants(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		const windows_2000_vp_t *vp = POLICY_VP(windows_2000, v);
		u64 base = h->vp[v].param[WINDOWS_2000_PRIORITY];
		if (vp->level < base || (vp->level != base && vp->level > WINDOWS_2000_STARVED) || !vp->left_ns)
			return false;
	}
	return levels_are_sound(&POLICY_STATE(windows_2000, s)->ready);
}

static const struct hls_policy windows_2000_policy = {
    .name = "windows-2000",
    .what = "Windows 2000's levels, with boosts for VPs that wake up or starve",
    .source = "Inside Microsoft Windows 2000, chapter 6; HLS, section 5.1",
    .strict = true,
    .register_vp = windows_2000_register_vp,
    .request = windows_2000_request,
    .withdraw = windows_2000_withdraw,
    .grant = windows_2000_grant,
    .revoke = windows_2000_revoke,
    .release = windows_2000_release,
    .preempts = windows_2000_preempts,
    .timer = windows_2000_timer,
    .check_invariants = windows_2000_check_invariants,
};
