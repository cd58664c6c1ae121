/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hls_scheduler_open() of include/hls_scheduler.h finds the descriptors behind the last two colons, whatever the
 * scheduler is called. The pages here are empty, and so of a version that is refused (EPROTO).
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"
#include <stdio.h>

static unsigned first(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	(void)s, (void)cpu;
	return hls_first_slot(candidates);
}

static const struct hls_user_policy policy = {.schedule = first};

/* Tries to open a scheduler of this name by these descriptors. Returns errno; 0: the scheduler was opened. */
static int outcome(const char *name, int kernel, int user)
{
	static struct hls_scheduler scheduler;
	char text[64];

	snprintf(text, sizeof(text), "%s:%d:%d", name, kernel, user);
	setenv("HLS_SCHEDULER", text, 1);
	errno = 0;
	return hls_scheduler_open(&scheduler, &policy, NULL) ? errno : 0;
}

int main(void)
{
	const char *names[] = {"plain", "audio:0", "a:1:2", ":", ""};
	int kernel = memfd_create("kernel", 0), user = memfd_create("user", 0);

	if (ftruncate(kernel, sizeof(struct hls_kernel_page)) || ftruncate(user, sizeof(struct hls_user_page)))
		abort();
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int error = outcome(names[i], kernel, user);

		if (error != EPROTO) {
			printf("`%s`: %s\n", names[i], strerror(error));
			return 1;
		}
	}
	setenv("HLS_SCHEDULER", ":7", 1);
	return hls_scheduler_open(&(struct hls_scheduler){0}, &policy, NULL) == 0 || errno != ENOENT;
}
