/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A scheduler as a process, whose agent does as it is told, beside threads that it has granted itself; for tests.
 * `composite KIND NAME PARENT` promotes a scheduler NAME below PARENT, and becomes its agent. The threads, which are in
 * a process of their own so that they outlive the agent, come with the slot as their urgency: two that loop, and in
 * slot 3 one that works for a while and sleeps for a while. `composite end PID...` kills processes at one instant, and
 * prints for how many microseconds the last of them lived on.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "include/hls_pages.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define WORKERS 3
#define WORK_NS 500000
#define SLEEP_NS 2000000

static const char *scheduler;
static const volatile struct hls_kernel_page *kernel;
static volatile struct hls_user_page *user;

static void must(int is_done, const char *what)
{
	if (!is_done) {
		perror(what);
		exit(1);
	}
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Works and sleeps in turn, or only works. */
static void *work(void *argument)
{
	unsigned slot = (unsigned)(uintptr_t)argument;
	char name[16];

	snprintf(name, sizeof(name), "worker%u", slot);
	prctl(PR_SET_NAME, name);
	must(!hls_grant(scheduler, (pid_t)syscall(SYS_gettid), slot, slot), "grant");
	for (;;) {
		uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS;
		while (slot != WORKERS || now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
			continue;
		nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
	}
	return NULL;
}

/* The process of the threads. */
static void start_workers(void)
{
	pid_t process = fork();
	pthread_t thread;

	must(process >= 0, "fork");
	if (process)
		return;
	/* From the most urgent on: whoever loops keeps those out that come after it. */
	for (uintptr_t slot = WORKERS; slot > 1; slot--)
		must(!pthread_create(&thread, NULL, work, (void *)slot), "pthread_create");
	work((void *)1);
}

static uint64_t any_word(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state ^ state >> 29;
}

static void write_garbage(void)
{
	volatile hls_word *words = (volatile hls_word *)user;

	words[any_word() % (sizeof(*user) / sizeof(hls_word))] = any_word();
}

static void ask_about_all(void)
{
	for (int kind = 0; kind < HLS_NR_EVENTS; kind++)
		user->ask[kind] = ~0ULL;
}

/* Decides for the least slot that wants a CPU: so for the loops, against their urgencies. */
static void answer(void)
{
	hls_word events = kernel->events, wanting = kernel->wanting & ~1ULL;

	user->next[0] = wanting ? HLS_DECISION(events, 0, 0, __builtin_ctzll(wanting)) : 0;
	user->answered = kernel->asked;
}

/* What the agent does, by the kind of agent. */
static void good(void)
{
	ask_about_all();
	for (;;) {
		answer();
		sched_yield();
	}
}

static void none(void)
{
	for (;;)
		pause();
}

static void garbage(void)
{
	for (;;) {
		for (int i = 0; i < 100; i++)
			write_garbage();
		sched_yield();
	}
}

static void loop(void)
{
	for (;;)
		continue;
}

static void storm(void)
{
	ask_about_all();
	for (;;)
		sched_yield();
}

static void unmap(void)
{
	munmap((void *)(uintptr_t)kernel, sizeof(*kernel));
	munmap((void *)(uintptr_t)user, sizeof(*user));
	for (;;)
		sched_yield();
}

static void crash(void)
{
	kill(getpid(), SIGSEGV);
}

static void stop(void)
{
	kill(getpid(), SIGSTOP);
}

static void exec(void)
{
	execlp("sleep", "sleep", "1000", NULL);
	must(0, "exec");
}

/* The child has the pages, and is no child of the scheduler. */
static void fork_writer(void)
{
	pid_t child = fork();

	must(child >= 0, "fork");
	for (; !child;)
		write_garbage();
	good();
}

static const struct {
	const char *name;
	void (*act)(void);
} kinds[] = {
    {"none", none},   {"good", good},   {"garbage", garbage}, {"loop", loop}, {"storm", storm},
    {"unmap", unmap}, {"crash", crash}, {"stop", stop},       {"exec", exec}, {"fork", fork_writer},
};

static void promote(const char *below)
{
	static const char *const parameters[] = {"width", "1", NULL};
	int pages[2];

	must(!hls_promote(scheduler, below, parameters, pages), "promote");
	kernel = mmap(NULL, sizeof(*kernel), PROT_READ, MAP_SHARED, pages[0], 0);
	user = mmap(NULL, sizeof(*user), PROT_READ | PROT_WRITE, MAP_SHARED, pages[1], 0);
	must(kernel != MAP_FAILED && user != MAP_FAILED, "mmap");
}

/* Kills the processes, and waits until all of their threads have gone. */
static int end(int count, char **processes)
{
	struct pollfd gone[64];
	uint64_t began;

	must(count <= 64, "too many processes");
	for (int i = 0; i < count; i++) {
		gone[i] =
		    (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, atoi(processes[i]), 0), .events = POLLIN};
		must(gone[i].fd >= 0, "pidfd_open");
	}
	began = now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < count; i++)
		kill(atoi(processes[i]), SIGKILL);
	for (int i = 0; i < count; i++)
		must(poll(&gone[i], 1, -1) == 1, "poll");
	printf("%llu\n", (unsigned long long)(now_ns(CLOCK_MONOTONIC) - began) / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "end"))
		return end(argc - 2, argv + 2);
	if (argc != 4)
		return 2;
	scheduler = argv[2];
	promote(argv[3]);
	start_workers();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].act();
	return 2;
}
