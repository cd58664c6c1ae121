/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A herd of threads, and two more that wake each other up through pipes all the time, on whatever CPU is free: `herd
 * COUNT idle|waking|busy|reading [bound]`; for tests. The threads of the herd sleep, or wake up about once a second,
 * or compute, or look up paths; bound, they may use the first CPU only. Prints `ready` when all are there; runs until
 * it is killed.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* All that a thread of the herd needs: it has no other memory of its own. */
#define STACK_BYTES 4096

static volatile int gate;
static volatile int is_busy, is_reading;
static int pipes[2][2];

/* A thread of the herd. It has no thread-local storage, so it calls the kernel itself, and never returns. */
static int live(void *number)
{
	const uintptr_t ms = 900 + (uintptr_t)number % 200;
	const struct timespec rest = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	while (!gate)
		syscall(SYS_futex, &gate, FUTEX_WAIT, 0, NULL, NULL, 0);
	while (is_busy)
		;
	while (is_reading)
		syscall(SYS_access, "/sys/kernel/sched_ext/state", F_OK);
	for (;;)
		syscall(SYS_nanosleep, &rest, NULL);
	return 0;
}

/* One of the two threads that wake each other up. */
static void *answer(void *side)
{
	const int in = pipes[(intptr_t)side][0], out = pipes[1 - (intptr_t)side][1];
	char byte = 0;

	if (side && write(out, &byte, 1) != 1)
		exit(3);
	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	exit(3);
}

static void bind_to(const cpu_set_t *cpus)
{
	if (sched_setaffinity(0, sizeof(*cpus), cpus))
		exit(3);
}

int main(int argc, char **argv)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	const uintptr_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	cpu_set_t all, first;

	if (!count || pipe(pipes[0]) || pipe(pipes[1]) || sched_getaffinity(0, sizeof(all), &all))
		return 2;
	is_busy = !strcmp(argv[2], "busy");
	is_reading = !strcmp(argv[2], "reading");
	for (intptr_t side = 0; side < 2; side++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, answer, (void *)side))
			return 3;
	}
	char *stacks = mmap(NULL, count * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED)
		return 3;
	/* Threads inherit the CPUs that they may use. */
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (argc > 3)
		bind_to(&first);
	for (uintptr_t i = 0; i < count; i++)
		if (clone(live, stacks + (i + 1) * STACK_BYTES, flags, (void *)i) < 0) {
			perror("clone");
			return 3;
		}
	bind_to(&all);
	if (strcmp(argv[2], "idle")) {
		gate = 1;
		syscall(SYS_futex, &gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
