/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes with threads that come, change and go as fast as they can, for SECONDS seconds: `churn SECONDS`; for tests.
 * Some make and join eight threads at a time; the others fork and exec, and rename, renice and bind their threads.
 * Prints how often each was done. Exit status 1: something that must succeed has failed.
 */
#define _GNU_SOURCE
#include "program.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8     /* at a time, of each process that makes threads */
#define MAKERS 5      /* processes that make threads */
#define CHANGERS 4    /* threads that change themselves and each other */
#define EXECED "exec" /* the argument of a process that only ends */

/* What was done, by all processes. */
static struct done {
	unsigned threads, forks, execs, names, nices, affinities;
} *done;

static time_t end;

static int goes_on(void)
{
	return time(NULL) < end;
}

static void count(unsigned *number)
{
	__atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*seed * below >> 32);
}

static void compute(uint32_t rounds)
{
	for (volatile uint32_t i = 0; i < rounds; i++)
		;
}

static void sleep_us(long us)
{
	struct timespec rest = {0, us * 1000};

	nanosleep(&rest, NULL);
}

/* A short life; most threads end at once, so that exits and creations coincide most often. */
static void *live_briefly(void *argument)
{
	uint32_t seed = (uint32_t)(uintptr_t)argument;

	if (!draw(&seed, 4))
		compute(draw(&seed, 3000));
	if (!draw(&seed, 8))
		sleep_us(draw(&seed, 200));
	count(&done->threads);
	return NULL;
}

static void make_threads(uint32_t seed)
{
	pthread_t threads[THREADS];

	while (goes_on()) {
		for (int i = 0; i < THREADS; i++) {
			uintptr_t argument = draw(&seed, UINT32_MAX);
			must(!pthread_create(&threads[i], NULL, live_briefly, (void *)argument), "pthread_create");
		}
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
}

static void fork_and_exec(uint32_t seed)
{
	while (goes_on()) {
		int is_exec = draw(&seed, 2), status;
		pid_t child = fork();

		must(child >= 0, "fork");
		if (!child && is_exec)
			execl("/proc/self/exe", "churn", EXECED, NULL);
		if (!child)
			_exit(is_exec);
		must(waitpid(child, &status, 0) == child && !status, "a forked process");
		count(is_exec ? &done->execs : &done->forks);
	}
}

static pid_t changers[CHANGERS];

/* Renames itself, and renices and binds a thread of its process that may be on a CPU, waiting for one, or asleep. */
static void *change(void *argument)
{
	uint32_t self = (uint32_t)(uintptr_t)argument, seed = self + 1;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	char name[16];

	changers[self] = (pid_t)syscall(SYS_gettid);
	while (goes_on()) {
		pid_t other = __atomic_load_n(&changers[draw(&seed, CHANGERS)], __ATOMIC_RELAXED);
		cpu_set_t set;

		snprintf(name, sizeof(name), "%s-%u", draw(&seed, 2) ? "reserved" : "changer", draw(&seed, 1000));
		prctl(PR_SET_NAME, name);
		count(&done->names);
		CPU_ZERO(&set);
		CPU_SET(draw(&seed, (uint32_t)cpus), &set);
		for (long cpu = 0; cpu < cpus; cpu++)
			if (draw(&seed, 2))
				CPU_SET(cpu, &set);
		/* The thread may have ended, and all of these CPUs may have gone offline. */
		int is_done = !sched_setaffinity(other, sizeof(set), &set);
		must(is_done || errno == ESRCH || errno == EINVAL, "sched_setaffinity");
		count(&done->affinities);
		int is_set = !setpriority(PRIO_PROCESS, (id_t)other, (int)draw(&seed, 20));
		must(is_set || errno == ESRCH, "setpriority");
		count(&done->nices);
		compute(draw(&seed, 20000));
		if (draw(&seed, 4))
			sleep_us(draw(&seed, 30000));
	}
	return NULL;
}

static void change_threads(uint32_t seed)
{
	pthread_t threads[CHANGERS];

	(void)seed;
	for (uintptr_t i = 0; i < CHANGERS; i++)
		must(!pthread_create(&threads[i], NULL, change, (void *)i), "pthread_create");
	for (int i = 0; i < CHANGERS; i++)
		pthread_join(threads[i], NULL);
}

/* Has a process of its own do this until the end. */
static void in_process(void (*does)(uint32_t), uint32_t seed)
{
	pid_t child = fork();

	must(child >= 0, "fork");
	if (!child) {
		does(seed);
		exit(0);
	}
}

int main(int argc, char **argv)
{
	int status, worst = 0;

	if (argc == 2 && !strcmp(argv[1], EXECED))
		return 0;
	if (argc != 2)
		return 2;
	end = time(NULL) + atoi(argv[1]);
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(done != MAP_FAILED, "mmap");
	for (uint32_t i = 0; i < MAKERS; i++)
		in_process(make_threads, i);
	in_process(fork_and_exec, MAKERS);
	in_process(change_threads, MAKERS + 1);
	while (wait(&status) > 0)
		worst |= status;
	printf("%u threads, %u forks, %u execs, %u names, %u nice values, %u affinities\n", done->threads,
	       done->forks, done->execs, done->names, done->nices, done->affinities);
	return !!worst;
}
