/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A policy for tests of include/hls_scheduler.h: it does what a policy may do at random, writes down what it is told,
 * and counts what it ought not to be told. HLS_SETTINGS="0=SEED,ASKS".
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"

struct mirror {
	hls_word random;
	hls_word present, wanting;
	hls_word child[HLS_SLOTS], ran_ns[HLS_SLOTS];
	hls_word wakeups[HLS_SLOTS];
	hls_word faults; /* how often it was told something impossible */
};

static hls_word mirror_random(struct mirror *m)
{
	m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return m->random >> 33;
}

/* Does something at random to a child. */
static void mirror_act(struct hls_scheduler *s, unsigned slot)
{
	struct mirror *m = s->own;

	switch (mirror_random(m) % 8) {
	case 0:
		hls_set_urgency(s, slot, mirror_random(m) % 5);
		break;
	case 1:
		hls_hold(s, slot);
		break;
	case 2:
	case 3:
		hls_let_go(s, slot);
		break;
	case 4:
		hls_give_slice(s, slot, mirror_random(m) % 4 * 700000);
		break;
	case 5:
		hls_ask(s, slot, mirror_random(m) | HLS_BIT(HLS_EVENT_NEW));
		break;
	case 6:
		hls_wake_at(s, s->now_ns + mirror_random(m) % 5000000);
		break;
	default:
		break;
	}
}

static void mirror_new(struct hls_scheduler *s, unsigned slot)
{
	struct mirror *m = s->own;

	m->random += m->random ? 0 : hls_setting(s, 0, 0, 1);
	m->faults += (m->present >> slot) & 1 || !slot || !hls_child(s, slot);
	m->present |= HLS_BIT(slot);
	m->child[slot] = hls_child(s, slot);
	m->ran_ns[slot] = s->known[slot].ran_ns;
	m->faults += s->user->urgency[slot] || HLS_SLICE_NS(s->user->slice[slot]) || (s->held >> slot) & 1;
	mirror_act(s, slot);
}

static void mirror_remove(struct hls_scheduler *s, unsigned slot)
{
	struct mirror *m = s->own;

	m->faults += !((m->present >> slot) & 1) || m->child[slot] != hls_child(s, slot);
	m->present &= ~HLS_BIT(slot);
	m->wanting &= ~HLS_BIT(slot);
	mirror_act(s, slot);
}

static void mirror_wakeup(struct hls_scheduler *s, unsigned slot)
{
	struct mirror *m = s->own;

	m->faults += !((m->present >> slot) & 1) || (m->wanting >> slot) & 1;
	m->wanting |= HLS_BIT(slot);
	m->wakeups[slot]++;
	mirror_act(s, slot);
}

static void mirror_block(struct hls_scheduler *s, unsigned slot)
{
	struct mirror *m = s->own;

	m->faults += !((m->wanting >> slot) & 1);
	m->wanting &= ~HLS_BIT(slot);
	mirror_act(s, slot);
}

static void mirror_yielded(struct hls_scheduler *s, unsigned slot)
{
	struct mirror *m = s->own;

	m->faults += !((m->present >> slot) & 1);
	mirror_act(s, slot);
}

static void mirror_elapsed(struct hls_scheduler *s, unsigned slot, hls_word ran_ns)
{
	struct mirror *m = s->own;

	m->faults += !((m->present >> slot) & 1) || !ran_ns;
	m->ran_ns[slot] += ran_ns;
	mirror_act(s, slot);
}

/* Nobody is held for ever. */
static void mirror_timer(struct hls_scheduler *s)
{
	unsigned slot;

	hls_for_each_slot (slot, s->present)
		hls_let_go(s, slot);
	hls_wake_at(s, s->now_ns + 3000000);
}

static unsigned mirror_schedule(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	struct mirror *m = s->own;
	unsigned slot = (unsigned)mirror_random(m) % HLS_SLOTS;

	m->faults += !((s->cpus >> cpu) & 1) || !candidates || candidates & ~m->wanting || candidates & s->held;
	/* The library ignores a slot that is named without being a candidate. */
	return mirror_random(m) % 4 ? hls_first_slot(candidates) : slot;
}

static const struct hls_user_policy mirror = {
    .thread_new = mirror_new,
    .thread_remove = mirror_remove,
    .wakeup = mirror_wakeup,
    .block = mirror_block,
    .yielded = mirror_yielded,
    .elapsed = mirror_elapsed,
    .timer = mirror_timer,
    .schedule = mirror_schedule,
};

HLS_AGENT_TURN(mirror, struct mirror)

/* What the tests ask after a turn: see Program::asked(). */
#define SAYS(what, expression)                                                        \
	HLS_EXPORTED hls_word what(const struct hls_scheduler *s, unsigned long slot) \
	{                                                                             \
		const struct mirror *m = s->own;                                      \
		(void)slot, (void)m;                                                  \
		return expression;                                                    \
	}
SAYS(mirror_says_present, m->present)
SAYS(mirror_says_wanting, m->wanting)
SAYS(mirror_says_child, m->child[slot])
SAYS(mirror_says_ran_ns, m->ran_ns[slot])
SAYS(mirror_says_wakeups, m->wakeups[slot])
SAYS(mirror_says_faults, m->faults)
SAYS(mirror_says_seen, s->seen)
SAYS(mirror_says_urgency, (s->held >> slot) & 1 ? HLS_HELD : s->known[slot].urgency)
