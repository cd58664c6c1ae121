/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that live below a scheduler of the hierarchy that runs: `crowd SCHEDULER [restless]`; for tests. The main
 * thread moves them there; all compute and sleep in turn, but one, which computes only. In a restless crowd the last
 * thread sends messages, changes its CPUs, and moves to the default scheduler and back, again and again; the main
 * thread moves the second to the default scheduler and back, whatever that thread is doing. Prints the threads'
 * numbers when all moves were made or refused; runs until it is killed.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "program.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *scheduler;
static int messenger;
static pthread_barrier_t all_there;

struct life {
	unsigned compute_us, sleep_us;
	int is_restless;
	long tid;
};

static struct life lives[] = {
    {1000, 0, 0, 0}, {1000, 1000, 0, 0}, {100, 300, 0, 0}, {3000, 20000, 0, 0}, {500, 500, 1, 0},
};

static void live(const struct life *life)
{
	uint64_t end = now_ns() + life->compute_us * UINT64_C(1000);

	while (now_ns() < end)
		;
	if (life->sleep_us) {
		struct timespec rest = {0, life->sleep_us * 1000L};
		nanosleep(&rest, NULL);
	}
}

/* Goes on whatever is refused: the policy may be a bad one. */
static void wander(unsigned turn)
{
	const uint64_t values[4] = {0};
	cpu_set_t cpus;

	hls_tell(messenger, 0, values);
	CPU_ZERO(&cpus);
	CPU_SET(turn % 2, &cpus);
	if (turn % 4 > 1)
		CPU_SET(!(turn % 2), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (turn % 8 == 5)
		hls_release();
	if (turn % 8 == 7)
		hls_move(scheduler);
}

static void *begin(void *argument)
{
	struct life *life = argument;

	life->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&all_there);
	for (unsigned turn = 0;; turn++) {
		live(life);
		if (life->is_restless && turn % 16 == 0)
			wander(turn / 16);
	}
	return NULL;
}

/* Called by the main thread, which is never moved: below a bad policy a thread may never run again. */
static int move(long tid, const char *to)
{
	char message[256];
	int length =
	    snprintf(message, sizeof(message),
		     "{\"method\":\"hls.Control.Move\",\"parameters\":{\"thread\":%ld,\"to\":\"%s\"}}", tid, to);

	return hls_call(message, (size_t)length + 1);
}

int main(int argc, char **argv)
{
	size_t count = COUNT(lives) - (argc < 3);
	pthread_t thread;

	if (argc < 2)
		return 2;
	scheduler = argv[1];
	messenger = hls_messenger();
	pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
	for (size_t i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, begin, &lives[i]))
			return 1;
	pthread_barrier_wait(&all_there);
	for (size_t i = 0; i < count; i++) {
		if (move(lives[i].tid, scheduler))
			perror(scheduler);
		printf("%ld\n", lives[i].tid);
	}
	fflush(stdout);
	for (;;) {
		const struct timespec rest = {0, 50000000};
		nanosleep(&rest, NULL);
		if (argc < 3)
			continue;
		move(lives[1].tid, "rest");
		move(lives[1].tid, scheduler);
	}
}
