/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Starts a hog that is in a cgroup from the start, by clone3() with CLONE_INTO_CGROUP, and prints its PID: `into_cgroup
 * FOLDER`; for tests.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int folder = argc == 2 ? open(argv[1], O_PATH | O_DIRECTORY) : -1;
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)folder};
	if (folder < 0)
		return 2;
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0) {
		perror("clone3");
		return 1;
	}
	if (!pid) {
		close(STDOUT_FILENO);
		for (;;)
			;
	}
	printf("%ld\n", pid);
	return 0;
}
