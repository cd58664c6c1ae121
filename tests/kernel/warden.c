/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures the CPU time of threads, and how soon processes end; it is not delayed if it has a real-time priority; for
 * tests. `warden watch SECONDS WINDOW TID...` prints the least CPU time in microseconds that the first thread, the only
 * one of its process, has in any window of WINDOW milliseconds within SECONDS, and the CPU time of each thread in all,
 * in milliseconds. `warden end UID TID...` kills all processes of a user at one instant, and prints for how many
 * microseconds the last of them lived on, and how many of these the threads had.
 */
#define _GNU_SOURCE
#include "program.h"
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_PROCESSES 64
#define MOST_THREADS 16
#define STEPS 3 /* windows that begin while one lasts */

/* The CPU time that a thread has had. */
static uint64_t had_ns(const char *thread)
{
	unsigned long long ns;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/schedstat", thread);
	file = fopen(path, "r");
	must(file && fscanf(file, "%llu", &ns) == 1, path);
	fclose(file);
	return ns;
}

/* What a process has had at an instant. */
struct sample {
	uint64_t at_ns, had_ns;
};

/* What the process has had from one instant to the other, in proportion for a window of this length. */
static uint64_t had_in(uint64_t window_ns, struct sample from, struct sample to)
{
	return (to.had_ns - from.had_ns) * window_ns / (to.at_ns - from.at_ns);
}

/*
 * The least CPU time of a process in any window within `seconds`; windows begin a third of one apart. By the clock of
 * the process: for a running thread, /proc has the time up to the last tick only.
 */
static uint64_t least_ns(pid_t process, uint64_t seconds, uint64_t window_ns)
{
	struct sample samples[STEPS];
	uint64_t least = UINT64_MAX, end_ns = now_ns() + seconds * 1000000000;
	clockid_t clock;

	must(!clock_getcpuclockid(process, &clock), "clock_getcpuclockid");
	for (uint64_t i = 0; now_ns() < end_ns; i++) {
		struct sample now = {now_ns(), time_ns(clock)}, *oldest = &samples[i % STEPS];
		if (i >= STEPS && had_in(window_ns, *oldest, now) < least)
			least = had_in(window_ns, *oldest, now);
		*oldest = now;
		sleep_ns((long)(window_ns / STEPS));
	}
	return least;
}

static int watch(uint64_t seconds, uint64_t window_ms, int count, char **threads)
{
	uint64_t before[MOST_THREADS];

	must(count <= MOST_THREADS, "fewer threads");
	for (int i = 0; i < count; i++)
		before[i] = had_ns(threads[i]);
	printf("%llu ", (unsigned long long)least_ns(atoi(threads[0]), seconds, window_ms * 1000000) / 1000);
	for (int i = 0; i < count; i++)
		printf("%llu ", (unsigned long long)(had_ns(threads[i]) - before[i]) / 1000000);
	putchar('\n');
	return 0;
}

/* All processes of the user, to be told when they have gone; returns how many there are. */
static int processes_of(uid_t user, struct pollfd *processes)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct stat about;
	int count = 0;

	must(proc && !chdir("/proc"), "/proc");
	while ((entry = readdir(proc))) {
		int pid = atoi(entry->d_name);
		if (pid <= 0 || stat(entry->d_name, &about) || about.st_uid != user)
			continue;
		must(count < MOST_PROCESSES, "fewer processes");
		processes[count] = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
		must(processes[count++].fd >= 0, "pidfd_open");
	}
	closedir(proc);
	return count;
}

static uint64_t sum_ns(int count, char **threads)
{
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		sum += had_ns(threads[i]);
	return sum;
}

static int end(uid_t user, int count, char **threads)
{
	struct pollfd process[MOST_PROCESSES];
	int processes = processes_of(user, process);
	uint64_t had = sum_ns(count, threads), began = now_ns();

	for (int i = 0; i < processes; i++)
		syscall(SYS_pidfd_send_signal, process[i].fd, SIGKILL, NULL, 0);
	for (int i = 0; i < processes; i++)
		must(poll(&process[i], 1, -1) == 1, "poll");
	began = now_ns() - began;
	printf("%llu %llu\n", (unsigned long long)began / 1000,
	       (unsigned long long)(sum_ns(count, threads) - had) / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 4 && !strcmp(argv[1], "watch"))
		return watch((uint64_t)atol(argv[2]), (uint64_t)atol(argv[3]), argc - 4, argv + 4);
	if (argc > 2 && !strcmp(argv[1], "end"))
		return end((uid_t)atoi(argv[2]), argc - 3, argv + 3);
	return 2;
}
