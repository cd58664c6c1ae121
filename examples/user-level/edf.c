/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Earliest deadline first (C. L. Liu, J. W. Layland, JACM 20(1), 1973), as a process: each wake-up of a thread begins a
 * job. `HLS_SETTINGS="1=20ms 2=50ms"` makes the jobs of the thread in slot 1 due 20 ms after their wake-ups, and in
 * slot 2 after 50 ms; elsewhere it is 100 ms.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"

struct edf {
	hls_word within_ns[HLS_SLOTS], deadline_at_ns[HLS_SLOTS];
};

static void edf_new(struct hls_scheduler *s, unsigned slot)
{
	struct edf *edf = s->own;

	edf->within_ns[slot] = hls_setting(s, slot, 0, 100000000);
}

/* The urgency says the same as the deadline, for when the agent is late. */
static void edf_wakeup(struct hls_scheduler *s, unsigned slot)
{
	struct edf *edf = s->own;

	edf->deadline_at_ns[slot] = s->now_ns + edf->within_ns[slot];
	hls_set_urgency(s, slot, HLS_MOST_URGENT - edf->deadline_at_ns[slot]);
}

static unsigned edf_schedule(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	struct edf *edf = s->own;
	unsigned slot, first = hls_first_slot(candidates);

	(void)cpu;
	hls_for_each_slot (slot, candidates) {
		if (edf->deadline_at_ns[slot] < edf->deadline_at_ns[first])
			first = slot;
	}
	return first;
}

static const struct hls_user_policy edf = {
    .thread_new = edf_new,
    .wakeup = edf_wakeup,
    .schedule = edf_schedule,
};

HLS_SCHEDULER_PROGRAM(edf, struct edf)
