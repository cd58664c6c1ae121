/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pool of workers that steal work from each other (N. S. Arora, R. D. Blumofe, C. G. Plaxton, "Thread Scheduling for
 * Multiprogrammed Multiprocessors", SPAA 1998), as one application with a scheduler of its own: it counts in how many
 * ways N queens stand on a board. `cc -O2 -pthread -Iinclude examples/user-level/pool.c -o pool`, then, while a
 * hierarchy runs on this machine, `./pool N WORKERS BELOW`, where BELOW is a scheduler that its user may have others
 * below.
 *
 * There may be more workers than CPUs. The worker with the most work goes first; a thief that finds nothing gives its
 * CPU to the worker that it would have stolen from, and does not leave the choice to the kernel. That is the paper's
 * yield to a process of one's choice, which keeps a pool fast whatever else the machine does.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"
#include <pthread.h>
#include <stdatomic.h>

#define TASKS 1024 /* of a worker at a time: a power of two */
#define CUTOFF 4   /* rows that are tasks of their own */

/* Rows that are filled, and the columns and diagonals that these take. */
struct task {
	unsigned row, columns, left, right;
};

/* A worker's tasks: it takes the last, thieves the first. A lock of a flag is enough: nobody waits for it. */
struct deque {
	atomic_flag taken;
	atomic_uint tasks;
	unsigned first;
	struct task task[TASKS];
};

struct pool {
	struct deque deque[HLS_SLOTS]; /* by the worker's slot */
	atomic_ulong found;
	atomic_ulong pending; /* tasks that are not done */
	atomic_uint workers;
};

static unsigned queens;
static struct pool pool;
static struct hls_scheduler scheduler;

/* The worker of these that has the most tasks. */
static unsigned pool_richest(struct pool *p, hls_word slots)
{
	unsigned slot, richest = hls_first_slot(slots);

	hls_for_each_slot (slot, slots) {
		if (p->deque[slot].tasks > p->deque[richest].tasks)
			richest = slot;
	}
	return richest;
}

static unsigned pool_schedule(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	(void)cpu;
	return pool_richest(s->own, candidates);
}

/* Thieves yield all the time, and have named the next worker: the agent need not know. */
static const struct hls_user_policy policy = {
    .schedule = pool_schedule,
    .asks =
	HLS_BIT(HLS_EVENT_NEW) | HLS_BIT(HLS_EVENT_REMOVED) | HLS_BIT(HLS_EVENT_WAKEUP) | HLS_BIT(HLS_EVENT_BLOCK),
};

HLS_AGENT_TURN(policy, struct pool)

/* Takes the first task, or the last. Returns 0 if there is none, or somebody else is at it. */
static int take(struct deque *d, int first, struct task *task)
{
	int found = 0;

	if (!d->tasks || atomic_flag_test_and_set(&d->taken))
		return 0;
	if (d->tasks) {
		*task = d->task[(first ? d->first++ : d->first + d->tasks - 1) % TASKS];
		d->tasks--;
		found = 1;
	}
	atomic_flag_clear(&d->taken);
	return found;
}

/* Adds a task, if there is room and nobody is at the tasks. */
static int add(struct deque *d, const struct task *task)
{
	int added = 0;

	if (atomic_flag_test_and_set(&d->taken))
		return 0;
	if (d->tasks < TASKS) {
		d->task[(d->first + d->tasks) % TASKS] = *task;
		d->tasks++;
		added = 1;
	}
	atomic_flag_clear(&d->taken);
	return added;
}

/* In how many ways the rest of the board is filled: by tasks, where these are large and there is room for them. */
static unsigned long place(struct deque *d, const struct task *t)
{
	unsigned long found = t->row == queens;

	for (unsigned free = ((1U << queens) - 1) & ~(t->columns | t->left | t->right); free; free &= free - 1) {
		unsigned queen = free & -free;
		struct task next = {t->row + 1, t->columns | queen, (t->left | queen) << 1,
				    (t->right | queen) >> 1};
		if (next.row <= CUTOFF) {
			pool.pending++;
			if (add(d, &next))
				continue;
			pool.pending--;
		}
		found += place(d, &next);
	}
	return found;
}

/* A worker: does its own tasks, then steals from the richest; if it finds none, the richest gets the CPU. */
static void work(unsigned self)
{
	struct task task;

	while (pool.pending) {
		if (!take(&pool.deque[self], 0, &task)) {
			unsigned victim = pool_richest(&pool, ~(HLS_BIT(HLS_AGENT) | HLS_BIT(self)));
			if (!take(&pool.deque[victim], 1, &task)) {
				hls_switch_to(&scheduler, victim);
				continue;
			}
		}
		pool.found += place(&pool.deque[self], &task);
		pool.pending--;
	}
}

/* The last worker to go takes the scheduler with it. */
static void *worker(void *name)
{
	unsigned self = HLS_NOBODY;

	if (!hls_grant(name, gettid(), 0, HLS_SLOTS))
		self = hls_self(&scheduler);
	if (self < HLS_SLOTS)
		work(self);
	else
		perror("hls_grant");
	if (--pool.workers == 0 && hls_demote(name))
		perror("hls_demote");
	return NULL;
}

int main(int argc, char **argv)
{
	static char name[] = "pool";
	const struct task empty = {0};
	unsigned workers = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
	pthread_t thread[HLS_SLOTS];

	queens = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
	if (queens < 1 || queens > 20 || workers < 1 || workers >= HLS_SLOTS) {
		fprintf(stderr, "usage: pool N WORKERS BELOW\n");
		return 2;
	}
	if (hls_scheduler_promote(&scheduler, &policy, &pool, name, argv[3], NULL)) {
		perror("hls_scheduler_promote");
		return 1;
	}
	pool.workers = workers;
	pool.pending = add(&pool.deque[1], &empty);
	for (unsigned i = 0; i < workers; i++) {
		if (pthread_create(&thread[i], NULL, worker, name))
			abort();
	}
	hls_scheduler_run(&scheduler);
	for (unsigned i = 0; i < workers; i++)
		pthread_join(thread[i], NULL);
	printf("%lu\n", pool.found);
	return 0;
}
