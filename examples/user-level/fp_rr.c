/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fixed priorities, and round robin among equals: the scheduler of the paper (G. Parmer, R. West, ACM TECS 13(1s),
 * 2013, section 2.5), as a process. `HLS_SETTINGS="1=3 2=3 3=1,5ms"` puts the threads in slots 1 and 2 at priority 3,
 * and the one in slot 3 at priority 1, in turns of 5 ms; elsewhere the priority is 1, and turns are of 10 ms.
 *
 * The greatest priority goes first. An interrupted thread goes on where it was; a thread goes behind the others
 * when it wakes up, and when its turn is over.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"

struct fp_rr {
	hls_word priority[HLS_SLOTS];
	hls_word place[HLS_SLOTS]; /* in the line of its priority: the least is the first */
	hls_word places;
};

static void fp_rr_new(struct hls_scheduler *s, unsigned slot)
{
	struct fp_rr *rr = s->own;

	rr->priority[slot] = hls_setting(s, slot, 0, 1);
	hls_set_urgency(s, slot, rr->priority[slot] + 1);
	hls_give_slice(s, slot, hls_setting(s, slot, 1, 10000000));
}

static void fp_rr_go_behind(struct hls_scheduler *s, unsigned slot)
{
	struct fp_rr *rr = s->own;

	rr->place[slot] = ++rr->places;
}

static unsigned fp_rr_schedule(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	struct fp_rr *rr = s->own;
	unsigned slot, first = hls_first_slot(candidates);

	(void)cpu;
	hls_for_each_slot (slot, candidates) {
		if (rr->priority[slot] > rr->priority[first] ||
		    (rr->priority[slot] == rr->priority[first] && rr->place[slot] < rr->place[first]))
			first = slot;
	}
	return first;
}

static const struct hls_user_policy fp_rr = {
    .thread_new = fp_rr_new,
    .wakeup = fp_rr_go_behind,
    .yielded = fp_rr_go_behind,
    .schedule = fp_rr_schedule,
};

HLS_SCHEDULER_PROGRAM(fp_rr, struct fp_rr)
