/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What programs of these tests share: to end when something has failed, clocks, and to wait for a moment. */
#ifndef HLS_TEST_PROGRAM_H
#define HLS_TEST_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the program with status 1 if that is not done. */
static inline void must(int is_done, const char *what)
{
	if (!is_done) {
		perror(what);
		exit(1);
	}
}

static inline uint64_t time_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return time_ns(CLOCK_MONOTONIC);
}

/* Sleeps for less than a second. */
static inline void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

#endif
