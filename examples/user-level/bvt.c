/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Borrowed virtual time (K. J. Duda, D. R. Cheriton, SOSP 1999), as a process, in its simple form: shares and warps,
 * without limits on these. `HLS_SETTINGS="0=3ms 1=3 2=1,20ms"` makes the allowance 3 ms, in place of 5 ms, gives
 * the thread in slot 1 a share of 3, and the thread in slot 2 a share of 1 and a warp of 20 ms: it may get ahead of its
 * turn by this CPU time. Elsewhere the share is 1.
 *
 * The arithmetic is the same as in policies/bvt.c, and so are the schedules, on one CPU. A thread's actual virtual time
 * A is the CPU time that it had, divided by its share; its effective virtual time E is A less its warp. The thread with
 * the least E runs until it is ahead of the next one by the allowance, in CPU time. A thread that wakes up with a
 * lesser E has the CPU at once; its A is no less than the least A of the threads that want the CPU.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"

/* Of virtual time in a nanosecond of a thread with a share of 1. */
#define BVT_UNITS 256

struct bvt {
	long long actual[HLS_SLOTS], warp[HLS_SLOTS];
	long long share[HLS_SLOTS];
	long long allowance_ns;
	long long now; /* the scheduler's virtual time: it never goes back */
	unsigned runs; /* the slot that has the CPU until the allowance is used up; HLS_AGENT: none */
};

static long long bvt_effective(const struct bvt *bvt, unsigned slot)
{
	return bvt->actual[slot] - bvt->warp[slot];
}

/* Of these slots, of which there is one at least, the one with the least E. */
static unsigned bvt_first(const struct bvt *bvt, hls_word slots)
{
	unsigned slot, first = hls_first_slot(slots);

	hls_for_each_slot (slot, slots) {
		if (bvt_effective(bvt, slot) < bvt_effective(bvt, first))
			first = slot;
	}
	return first;
}

/* The scheduler's virtual time is the least A of the threads that want a CPU; if none does, the greatest A of all. */
static void bvt_pass(struct hls_scheduler *s, hls_word wanting)
{
	struct bvt *bvt = s->own;
	hls_word slots = wanting ? wanting : s->present;
	long long now = bvt->actual[hls_first_slot(slots)];
	unsigned slot;

	hls_for_each_slot (slot, slots) {
		if (wanting ? bvt->actual[slot] < now : bvt->actual[slot] > now)
			now = bvt->actual[slot];
	}
	if (now > bvt->now)
		bvt->now = now;
}

static void bvt_new(struct hls_scheduler *s, unsigned slot)
{
	struct bvt *bvt = s->own;
	hls_word share = hls_setting(s, slot, 0, 1);

	bvt->allowance_ns = (long long)hls_setting(s, HLS_AGENT, 0, 5000000);
	bvt->share[slot] = share ? (long long)share : 1;
	bvt->warp[slot] = (long long)hls_setting(s, slot, 1, 0) * BVT_UNITS / bvt->share[slot];
	bvt->actual[slot] = bvt->now;
}

static void bvt_elapsed(struct hls_scheduler *s, unsigned slot, hls_word ran_ns)
{
	struct bvt *bvt = s->own;

	bvt->actual[slot] += (long long)ran_ns * BVT_UNITS / bvt->share[slot];
}

static void bvt_wakeup(struct hls_scheduler *s, unsigned slot)
{
	struct bvt *bvt = s->own;

	bvt_pass(s, s->wanting & ~HLS_BIT(slot));
	if (bvt->actual[slot] < bvt->now)
		bvt->actual[slot] = bvt->now;
	if (bvt_effective(bvt, slot) < bvt_effective(bvt, bvt->runs))
		bvt->runs = HLS_AGENT;
}

static void bvt_block(struct hls_scheduler *s, unsigned slot)
{
	(void)slot;
	bvt_pass(s, s->wanting);
}

static unsigned bvt_schedule(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	struct bvt *bvt = s->own;
	unsigned first = bvt_first(bvt, candidates), runs = bvt->runs;

	(void)cpu;
	if (!((candidates >> runs) & 1) ||
	    (bvt_effective(bvt, runs) - bvt_effective(bvt, first)) * bvt->share[runs] >=
		bvt->allowance_ns * BVT_UNITS)
		runs = first;
	hls_word others = candidates & ~HLS_BIT(runs);
	long long ahead = others ? bvt_effective(bvt, bvt_first(bvt, others)) - bvt_effective(bvt, runs) : 0;
	hls_give_slice(s, runs, others ? (hls_word)(ahead * bvt->share[runs] / BVT_UNITS + bvt->allowance_ns) : 0);
	bvt->runs = runs;
	return runs;
}

static const struct hls_user_policy bvt = {
    .thread_new = bvt_new,
    .elapsed = bvt_elapsed,
    .wakeup = bvt_wakeup,
    .block = bvt_block,
    .schedule = bvt_schedule,
};

HLS_SCHEDULER_PROGRAM(bvt, struct bvt)
