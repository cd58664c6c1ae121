/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deferrable servers (J. P. Lehoczky, L. Sha, J. K. Strosnider, RTSS 1987), as a process: each child has a budget of
 * CPU time in every period, at a fixed priority, and keeps it while it sleeps until the period ends. So it is in Figure
 * 11 of the paper of Composite (ACM TECS 13(1s), 2013). `HLS_SETTINGS="1=2ms,10ms,5"` gives the child in slot 1 a
 * budget of 2 ms in every 10 ms at priority 5; elsewhere it is 1 ms in every 10 ms, at priority 1.
 *
 * What a child had beyond its budget, because a timer or the agent was late, is a debt, which the next budgets pay.
 * There are no decisions: the urgencies, which are the priorities, choose among the children that are not held.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"

struct server {
	long long left_ns; /* of the budget; less than 0: a debt */
	long long budget_ns;
	hls_word period_ns, ends_at_ns;
};

struct servers {
	struct server of[HLS_SLOTS];
};

/* A server that has a budget may use it up; one that has none is held until it is renewed. */
static void server_use(struct hls_scheduler *s, unsigned slot)
{
	struct servers *servers = s->own;
	const struct server *server = &servers->of[slot];

	if (server->left_ns <= 0) {
		hls_hold(s, slot);
		return;
	}
	hls_let_go(s, slot);
	hls_give_slice(s, slot, (hls_word)server->left_ns);
}

/* The timer is for the first end of a period. */
static void server_wait(struct hls_scheduler *s)
{
	struct servers *servers = s->own;
	hls_word first_ns = HLS_MOST_URGENT;
	unsigned slot;

	hls_for_each_slot (slot, s->present) {
		if (servers->of[slot].ends_at_ns < first_ns)
			first_ns = servers->of[slot].ends_at_ns;
	}
	hls_wake_at(s, first_ns);
}

static void server_new(struct hls_scheduler *s, unsigned slot)
{
	struct servers *servers = s->own;
	struct server *server = &servers->of[slot];

	server->budget_ns = server->left_ns = (long long)hls_setting(s, slot, 0, 1000000);
	server->period_ns = hls_setting(s, slot, 1, 10000000);
	server->ends_at_ns = s->now_ns + server->period_ns;
	hls_set_urgency(s, slot, hls_setting(s, slot, 2, 1) + 1);
	server_use(s, slot);
	server_wait(s);
}

static void server_elapsed(struct hls_scheduler *s, unsigned slot, hls_word ran_ns)
{
	struct servers *servers = s->own;
	struct server *server = &servers->of[slot];

	server->left_ns -= (long long)ran_ns;
	if (server->left_ns <= 0)
		hls_hold(s, slot);
}

/* Each period that is over adds a budget, and no more than one is kept. */
static void server_timer(struct hls_scheduler *s)
{
	struct servers *servers = s->own;
	unsigned slot;

	hls_for_each_slot (slot, s->present) {
		struct server *server = &servers->of[slot];
		if (server->ends_at_ns > s->now_ns)
			continue;
		hls_word periods = 1 + (s->now_ns - server->ends_at_ns) / server->period_ns;
		server->ends_at_ns += periods * server->period_ns;
		server->left_ns += (long long)periods * server->budget_ns;
		if (server->left_ns > server->budget_ns)
			server->left_ns = server->budget_ns;
		server_use(s, slot);
	}
	server_wait(s);
}

/* Wake-ups and sleeps change nothing here: the agent is not asked about them. */
static const struct hls_user_policy deferrable_server = {
    .thread_new = server_new,
    .elapsed = server_elapsed,
    .timer = server_timer,
    .asks = HLS_BIT(HLS_EVENT_NEW) | HLS_BIT(HLS_EVENT_REMOVED) | HLS_BIT(HLS_EVENT_SLICE),
};

HLS_SCHEDULER_PROGRAM(deferrable_server, struct servers)
