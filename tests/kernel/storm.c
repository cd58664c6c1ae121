/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Changes threads as fast as it can, from outside, and kills processes: `storm SECONDS NAME...`; for tests, as root.
 * For each name there is a process of that name that computes and one that sleeps. Two real-time threads, which no
 * hierarchy holds up, give them other classes, affinities and nice values; a third makes processes of several threads
 * with these names, changes them as well, and kills them. In the end all are threads of the hierarchy again, on all
 * CPUs, and must get on. Prints how often each was done. Exit status 1: something that must succeed has failed, or a
 * thread stands still. Not for a machine that somebody needs: threads of real-time classes compute there.
 */
#define _GNU_SOURCE
#include "program.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TARGETS 32
#define KILLED_THREADS 3 /* of a process that is killed, besides its first */
#define PATIENCE 300     /* seconds in which each thread must get on in the end */

static pid_t target[TARGETS];
static int nr_targets, nr_names, cpus;
static char **names;
static uint64_t end_ns;
static unsigned classes, affinities, nices, kills;

static int goes_on(void)
{
	return now_ns() < end_ns;
}

static void be_of_class(pid_t tid, int class)
{
	int is_real_time = class == SCHED_FIFO || class == SCHED_RR;

	/* It may have ended. */
	if (!sched_setscheduler(tid, class, &(struct sched_param){.sched_priority = is_real_time}))
		__sync_fetch_and_add(&classes, 1);
}

static void be_on(pid_t tid, unsigned long mask)
{
	if (!sched_setaffinity(tid, sizeof(mask), (cpu_set_t *)&mask))
		__sync_fetch_and_add(&affinities, 1);
}

/* A moment, in which others may see the thread as it is now. */
static void pause_a_moment(unsigned *seed)
{
	if (rand_r(seed) % 4)
		sleep_ns(rand_r(seed) % 500000);
}

/* Some change; a thread that computes is of a real-time class for a moment only. */
static void change(pid_t tid, unsigned *seed)
{
	static const int ours[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE};
	unsigned long all = (1UL << cpus) - 1;

	switch (rand_r(seed) % 4) {
	case 0:
		be_of_class(tid, rand_r(seed) % 2 ? SCHED_FIFO : SCHED_RR);
		pause_a_moment(seed);
		if (rand_r(seed) % 2)
			be_on(tid, rand_r(seed) % all + 1);
		/* fall through */
	case 1:
		be_of_class(tid, ours[rand_r(seed) % 3]);
		break;
	case 2:
		be_on(tid, rand_r(seed) % all + 1);
		break;
	case 3:
		if (!setpriority(PRIO_PROCESS, (id_t)tid, rand_r(seed) % 20))
			__sync_fetch_and_add(&nices, 1);
	}
}

static void *compute(void *unused)
{
	for (;;)
		;
	return unused;
}

static void *sleep_often(void *unused)
{
	for (;;)
		sleep_ns(200000);
	return unused;
}

/* Starts a process of this name. Its first thread computes or sleeps; of `threads` further ones every second sleeps. */
static pid_t start(const char *name, int sleeps, int threads)
{
	pthread_t thread;
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, i % 2 ? sleep_often : compute, NULL);
	(sleeps ? sleep_often : compute)(NULL);
	return 0;
}

/* The calling thread goes before all that are changed. What it forks is of the usual class. */
static void go_first(void)
{
	struct sched_param high = {.sched_priority = 10};

	must(!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &high), "sched_setscheduler");
}

static void *change_targets(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;

	go_first();
	while (goes_on()) {
		change(target[rand_r(&seed) % (unsigned)nr_targets], &seed);
		pause_a_moment(&seed);
	}
	return NULL;
}

static void *kill_processes(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;

	go_first();
	for (; goes_on(); kills++) {
		pid_t pid = start(names[kills % (unsigned)nr_names], kills % 2, KILLED_THREADS);
		pause_a_moment(&seed);
		change(pid, &seed);
		if (rand_r(&seed) % 3 == 0)
			be_of_class(pid, SCHED_FIFO);
		must(!kill(pid, SIGKILL), "kill");
		change(pid, &seed);
		must(waitpid(pid, NULL, 0) == pid, "waitpid");
	}
	return NULL;
}

static uint64_t had_ns(pid_t pid)
{
	char path[64];
	unsigned long long ns = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	FILE *file = fopen(path, "r");
	if (file && fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return ns;
}

/* Whether all threads that have been changed get on. */
static int all_get_on(void)
{
	for (int i = 0; i < nr_targets; i++) {
		uint64_t before_ns = had_ns(target[i]), until_ns = now_ns() + PATIENCE * 1000000000ULL;

		while (had_ns(target[i]) <= before_ns)
			if (now_ns() > until_ns) {
				printf("process %d stands still\n", target[i]);
				return 0;
			} else {
				sleep_ns(10000000);
			}
	}
	return 1;
}

int main(int argc, char **argv)
{
	pthread_t workers[3];

	if (argc < 3)
		return 2;
	cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	names = argv + 2;
	nr_names = argc - 2;
	for (int i = 0; i < nr_names && nr_targets + 2 <= TARGETS; i++)
		for (int sleeps = 0; sleeps < 2; sleeps++)
			target[nr_targets++] = start(names[i], sleeps, 0);
	end_ns = now_ns() + (uint64_t)atoi(argv[1]) * 1000000000;
	for (uintptr_t i = 0; i < 3; i++)
		must(!pthread_create(&workers[i], NULL, i ? change_targets : kill_processes, (void *)(i + 1)),
		     "pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i], NULL);
	for (int i = 0; i < nr_targets; i++) {
		be_of_class(target[i], SCHED_OTHER);
		be_on(target[i], (1UL << cpus) - 1);
	}
	int is_well = all_get_on();
	for (int i = 0; i < nr_targets; i++)
		kill(target[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	printf("%u classes, %u affinities, %u nice values, %u processes killed\n", classes, affinities, nices,
	       kills);
	return !is_well;
}
