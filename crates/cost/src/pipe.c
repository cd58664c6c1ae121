/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What one switch through a pipe costs: two processes on one CPU send a byte to and fro, each waiting for the other,
 * and the time stamp counter is read before and after. Prints the least of many batches, divided by the switches in
 * one: the least has no tick and no other process in it.
 *
 *   pipe [fifo | FOLDER FOLDER]
 *
 * fifo: both are SCHED_FIFO. Two folders: cgroups, one for each of them. They rest for a second first, in which `load`
 * can put each of them where it belongs. Relies on a counter that counts what is to be measured: in the laboratory,
 * instructions.
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

enum { BATCHES = 40, ROUND_TRIPS = 100 };

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

int main(int argc, char **argv)
{
	int there[2], back[2];
	cpu_set_t cpu;
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	check(!sched_setaffinity(0, sizeof(cpu), &cpu), "sched_setaffinity");
	if (argc == 2 && !strcmp(argv[1], "fifo")) {
		struct sched_param param = {.sched_priority = 50};
		check(!sched_setscheduler(0, SCHED_FIFO, &param), "sched_setscheduler");
	} else if (argc != 1 && argc != 3) {
		fprintf(stderr, "usage: pipe [fifo | FOLDER FOLDER]\n");
		return 2;
	}
	check(!pipe(there) && !pipe(back), "pipe");
	pid_t child = fork();
	check(child >= 0, "fork");
	if (argc == 3)
		join_cgroup(argv[child ? 1 : 2]);
	if (!child) {
		for (int i = 0; i < BATCHES * ROUND_TRIPS; i++)
			pass(there[0], back[1]);
		return 0;
	}
	sleep(1);
	unsigned long long least = ~0ULL;
	for (int i = 0; i < BATCHES; i++) {
		unsigned long long took = batch(back[0], there[1]);
		if (took < least)
			least = took;
	}
	printf("%llu\n", least / (2 * ROUND_TRIPS));
	int status;
	check(wait(&status) == child && !status, "the other process");
	return 0;
}
