/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that asks before it begins: time constraints of the policy `rialto` (Jones, Rosu and Rosu, SOSP 1997).
 * `cc -Iinclude examples/constraint.c`
 *
 *	constraint FRAMES
 *
 * A frame comes every 40 ms, takes 10 ms of CPU time, and is of use for 30 ms. Before each frame the program asks its
 * scheduler whether that time is there by then. If it is, it is the program's; if not, the frame is left out, and no
 * time is lost on it. Prints how many frames were done, how many of them late, and how many were left out. It relies on
 * a scheduler of the policy `rialto` above the thread (docs/messages.md); without one it says so and exits with 1.
 */
#define _GNU_SOURCE
#include "hls.h"
#include <stdlib.h>
#include <time.h>

#define MS 1000000ULL

/* The messages of `rialto`, in the order of `hls policies`. */
enum { BEGIN, END };

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* The work of a frame. */
static void work_for(uint64_t cpu_ns)
{
	uint64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

int main(int argc, char **argv)
{
	/* From now on, 10 ms, by 30 ms from now; the policy takes no fourth value. */
	const uint64_t frame[4] = {0, 10 * MS, 30 * MS, 0}, nothing[4] = {0};
	int frames = argc == 2 ? atoi(argv[1]) : 0, done = 0, late = 0, left_out = 0;

	if (frames <= 0) {
		fprintf(stderr, "usage: constraint FRAMES\n");
		return 2;
	}
	int messenger = hls_messenger();
	if (messenger < 0) {
		perror("no messenger");
		return 1;
	}
	for (uint64_t at_ns = now_ns(CLOCK_MONOTONIC); done + left_out < frames; at_ns += 40 * MS) {
		struct timespec at = {(time_t)(at_ns / (1000 * MS)), (long)(at_ns % (1000 * MS))};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		if (!hls_tell(messenger, BEGIN, frame)) {
			uint64_t deadline_ns = now_ns(CLOCK_MONOTONIC) + 30 * MS;
			work_for(10 * MS);
			late += now_ns(CLOCK_MONOTONIC) > deadline_ns;
			done++;
			hls_tell(messenger, END, nothing);
		} else if (errno == EBUSY) {
			left_out++;
		} else {
			perror("no constraint");
			return 1;
		}
	}
	printf("%d frames done, %d of them late, %d left out\n", done, late, left_out);
	return 0;
}
