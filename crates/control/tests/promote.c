/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program with a thread that becomes the agent of a scheduler, and grants it a child; prints the outcome. */
#define _GNU_SOURCE
#include "hls.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static void say(const char *what, int result)
{
	printf("%s: %s\n", what, result ? strerror(errno) : "done");
}

/* Prints the files of the descriptors. */
static void show(int pages[2])
{
	for (int i = 0; i < 2; i++) {
		char link[32], path[32];
		snprintf(link, sizeof(link), "/proc/self/fd/%d", pages[i]);
		ssize_t length = readlink(link, path, sizeof(path));
		printf("%s page: %.*s\n", i ? "user" : "kernel", (int)length, path);
		close(pages[i]);
	}
}

int main(void)
{
	static const char *const parameters[] = {"allowance", "2ms", "share", "3", NULL};
	static const char *const wrong[] = {"allowance", "\"", NULL};
	int pages[2];
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	say("promote with a quote", hls_promote("U", "ALICE", wrong, pages));
	say("promote below nothing", hls_promote("U", "X", parameters, pages));
	say("promote", hls_promote("U", "ALICE", parameters, pages));
	show(pages);
	say("promote again", hls_promote("U", "ALICE", parameters, pages));
	say("pages", hls_pages("U", pages));
	show(pages);
	say("grant", hls_grant("U", child, 5, 3));
	say("grant the agent's slot", hls_grant("U", child, 5, 0));
	say("revoke", hls_revoke(child));
	say("revoke again", hls_revoke(child));
	say("grant to another policy", hls_grant("ALICE", child, 0, 64));
	say("demote", hls_demote("U"));
	say("demote again", hls_demote("U"));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
