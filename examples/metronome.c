/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ticks at asked-for times: the loop of Vassal's paper (USENIX NT Symposium 1998, section 5), and how well each way to
 * wait keeps its times (Table 2 there): `cc -Iinclude examples/metronome.c -lm`.
 *
 *	metronome WAY PERIOD_US TICKS
 *
 * WAY is `sleep` (clock_nanosleep to an absolute time) or `timer` (a timerfd), under the scheduler that the thread has,
 * or the name of a scheduler of the policy `asked-times` in the hierarchy that runs. Prints of the times between two
 * ticks, in nanoseconds, the least, the greatest, the average and the standard deviation.
 */
#define _GNU_SOURCE
#include "hls.h"
#include <math.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>

#define S 1000000000

/* The first ticks do not count: the start may use up the CPU time that the thread has. */
#define WARM_UP 100

/* The first message of asked-times: run this thread after this delay, and not before. */
#define RUN_IN 0

struct metronome {
	int messenger, timer;
	uint64_t period_ns, next_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

/* Waits for the next tick. A tick is due a period after the one before was due, so that delays do not add up. */
static int wait_for_tick(struct metronome *m)
{
	uint64_t now = now_ns(), missed;

	m->next_ns += m->period_ns;
	if (m->messenger >= 0) {
		const uint64_t delay[4] = {m->next_ns > now ? m->next_ns - now : 0, 0, 0, 0};
		return hls_tell(m->messenger, RUN_IN, delay) < 0 ? -1 : 0;
	}
	if (m->timer >= 0)
		return read(m->timer, &missed, sizeof(missed)) == sizeof(missed) ? 0 : -1;
	struct timespec next = {(time_t)(m->next_ns / S), (long)(m->next_ns % S)};
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	return errno ? -1 : 0;
}

static int begin(struct metronome *m, const char *way)
{
	m->messenger = m->timer = -1;
	if (!strcmp(way, "sleep"))
		return 0;
	if (!strcmp(way, "timer")) {
		struct timespec period = {(time_t)(m->period_ns / S), (long)(m->period_ns % S)};
		struct itimerspec times = {period, period};
		m->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		return m->timer < 0 ? -1 : timerfd_settime(m->timer, 0, &times, NULL);
	}
	if (hls_move(way))
		return -1;
	m->messenger = hls_messenger();
	return m->messenger < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	if (argc != 4 || atoll(argv[2]) <= 0 || atoll(argv[3]) <= 0) {
		fprintf(stderr, "usage: metronome sleep|timer|SCHEDULER PERIOD_US TICKS\n");
		return 2;
	}
	struct metronome m = {.period_ns = (uint64_t)atoll(argv[2]) * 1000};
	double sum = 0, squares = 0, ticks = (double)atoll(argv[3]);
	uint64_t least = UINT64_MAX, greatest = 0, last = 0;

	if (begin(&m, argv[1])) {
		perror(argv[1]);
		return 1;
	}
	m.next_ns = now_ns();
	for (long long i = -WARM_UP; i < atoll(argv[3]); i++) {
		if (wait_for_tick(&m)) {
			perror("no tick");
			return 1;
		}
		uint64_t now = now_ns(), between = now - last;
		last = now;
		if (i < 0)
			continue;
		least = between < least ? between : least;
		greatest = between > greatest ? between : greatest;
		sum += (double)between;
		squares += (double)between * (double)between;
	}
	double average = sum / ticks, variance = squares / ticks - average * average;
	printf("%" PRIu64 " %" PRIu64 " %.0f %.0f\n", least, greatest, average, sqrt(variance > 0 ? variance : 0));
	return 0;
}
