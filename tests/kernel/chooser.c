/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A scheduler as a process, for tests: the child in the least slot goes first. `chooser` is what `hls ctl promote` and
 * hierarchy files start; `chooser take NAME` takes over the scheduler of that name after its agent has gone, and
 * `chooser promote NAME PARENT` makes a scheduler and becomes its agent.
 */
#define _GNU_SOURCE
#include "include/hls_scheduler.h"
#include <stdio.h>

static unsigned first(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	(void)s;
	(void)cpu;
	return hls_first_slot(candidates);
}

static const struct hls_user_policy policy = {.schedule = first};

/* Takes over the scheduler of this name. */
static int take(struct hls_scheduler *s, const char *name)
{
	int pages[2];

	if (hls_pages(name, pages) || hls_grant(name, (pid_t)syscall(SYS_gettid), 0, HLS_AGENT))
		return -1;
	return hls_scheduler_map(s, &policy, NULL, pages);
}

int main(int argc, char **argv)
{
	static struct hls_scheduler scheduler;
	int failed;

	if (argc == 3)
		failed = take(&scheduler, argv[2]);
	else if (argc == 4)
		failed = hls_scheduler_promote(&scheduler, &policy, NULL, argv[2], argv[3], NULL);
	else
		failed = hls_scheduler_open(&scheduler, &policy, NULL);
	if (failed) {
		perror("chooser");
		return 1;
	}
	hls_scheduler_run(&scheduler);
	return 0;
}
