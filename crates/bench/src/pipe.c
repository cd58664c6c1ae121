/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures what one switch through a pipe costs: two processes on one CPU send a byte to and fro, each waiting for the
 * other, and the time stamp counter is read before and after each batch of round trips. Prints the least, the median
 * and the average of the batches, divided by the switches in a batch: the least has no tick and no other process in it.
 *
 *   pipe BATCHES [fifo | FOLDER FOLDER]
 *
 * fifo: both processes are SCHED_FIFO. Two folders: the cgroups of the two processes. Both sleep or wait for a second
 * first, in which `load` can move them. Relies on a time stamp counter that counts what is to be measured: in the test
 * machine, instructions.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum { MAX_BATCHES = 10000, ROUND_TRIPS = 100 };

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void join_cgroup(const char *folder)
{
	char path[4096], pid[16];
	check(snprintf(path, sizeof(path), "%s/cgroup.procs", folder) < (int)sizeof(path), folder);
	int length = snprintf(pid, sizeof(pid), "%d", getpid());
	int file = open(path, O_WRONLY);
	check(file >= 0 && write(file, pid, length) == length && !close(file), path);
}

static void pass(int from, int to)
{
	char byte;
	check(read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1, "pipe");
}

static unsigned long long batch(int from, int to)
{
	char byte = 0;
	unsigned long long begin = __rdtsc();
	for (int i = 0; i < ROUND_TRIPS; i++)
		check(write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1, "pipe");
	return __rdtsc() - begin;
}

static int compare(const void *a, const void *b)
{
	unsigned long long one = *(const unsigned long long *)a, other = *(const unsigned long long *)b;
	return (one > other) - (one < other);
}

int main(int argc, char **argv)
{
	static unsigned long long took[MAX_BATCHES];
	int batches = argc > 1 ? atoi(argv[1]) : 0;
	int there[2], back[2];
	cpu_set_t cpu;
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	check(!sched_setaffinity(0, sizeof(cpu), &cpu), "sched_setaffinity");
	if (argc == 3 && !strcmp(argv[2], "fifo")) {
		struct sched_param param = {.sched_priority = 50};
		check(!sched_setscheduler(0, SCHED_FIFO, &param), "sched_setscheduler");
	} else if (argc != 2 && argc != 4) {
		batches = 0;
	}
	if (batches < 1 || batches > MAX_BATCHES) {
		fprintf(stderr, "usage: pipe BATCHES [fifo | FOLDER FOLDER]\n");
		return 2;
	}
	check(!pipe(there) && !pipe(back), "pipe");
	pid_t child = fork();
	check(child >= 0, "fork");
	if (argc == 4)
		join_cgroup(argv[child ? 2 : 3]);
	if (!child) {
		for (int i = 0; i < batches * ROUND_TRIPS; i++)
			pass(there[0], back[1]);
		return 0;
	}
	sleep(1);
	unsigned long long sum = 0;
	for (int i = 0; i < batches; i++)
		sum += took[i] = batch(back[0], there[1]);
	qsort(took, batches, sizeof(took[0]), compare);
	const unsigned long long switches = 2 * ROUND_TRIPS;
	printf("%llu %llu %llu\n", took[0] / switches, took[batches / 2] / switches, sum / batches / switches);
	int status;
	check(wait(&status) == child && !status, "the other process");
	return 0;
}
