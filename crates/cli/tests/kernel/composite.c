/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A scheduler as a process, whose agent does as it is told, beside threads that it has granted itself; for tests.
 * `composite KIND NAME PARENT PARAMETER VALUE...` promotes a scheduler NAME below PARENT, and becomes its agent. The
 * threads, which are in a process of their own so that they outlive the agent, come with the slot as their urgency: two
 * that loop, and in slot 3 one that works for a while and sleeps for a while. Prints the TIDs of the agent and, by slot,
 * of the threads when all are granted. All processes are one group, that of the agent.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "include/hls_pages.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define WORKERS 3
#define WORK_NS 500000
#define SLEEP_NS 2000000

static const char *scheduler;
static const volatile struct hls_kernel_page *kernel;
static volatile struct hls_user_page *user;
/* The TIDs of the workers that are granted, by slot; in memory that all processes share. */
static volatile pid_t *granted;

static void must(int is_done, const char *what)
{
	if (!is_done) {
		perror(what);
		exit(1);
	}
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static uint64_t cpu_time_ns(void)
{
	struct timespec had;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
	return (uint64_t)had.tv_sec * 1000000000 + (uint64_t)had.tv_nsec;
}

/* Works and sleeps in turn, or only works. */
static void *work(void *argument)
{
	unsigned slot = (unsigned)(uintptr_t)argument;
	pid_t self = (pid_t)syscall(SYS_gettid);

	/* One after the other, since a user has few connections; from the most urgent on: whoever loops keeps others out. */
	while (slot < WORKERS && !granted[slot + 1])
		sleep_ns(SLEEP_NS);
	must(!hls_grant(scheduler, self, slot, slot), "grant");
	granted[slot] = self;
	for (;;) {
		uint64_t end = cpu_time_ns() + WORK_NS;
		while (slot != WORKERS || cpu_time_ns() < end)
			continue;
		sleep_ns(SLEEP_NS);
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
	for (uintptr_t slot = WORKERS; slot > 1; slot--)
		must(!pthread_create(&thread, NULL, work, (void *)slot), "pthread_create");
	work((void *)1);
}

static void wait_for_workers(void)
{
	for (unsigned slot = 1; slot <= WORKERS; slot++)
		while (!granted[slot])
			sleep_ns(SLEEP_NS);
	printf("%d %d %d %d\n", getpid(), granted[1], granted[2], granted[3]);
	fflush(stdout);
}

static void map_pages(const int pages[2])
{
	kernel = mmap(NULL, sizeof(*kernel), PROT_READ, MAP_SHARED, pages[0], 0);
	user = mmap(NULL, sizeof(*user), PROT_READ | PROT_WRITE, MAP_SHARED, pages[1], 0);
	must(kernel != MAP_FAILED && user != MAP_FAILED, "mmap");
}

/* The pages of a scheduler that is there. */
static void take_pages(void)
{
	int pages[2];

	must(!hls_pages(scheduler, pages), "pages");
	map_pages(pages);
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

/* Decides for the least slots that want a CPU, one for each CPU: so for the loops, against their urgencies. */
static void answer(void)
{
	hls_word asked = kernel->asked, wanting = kernel->wanting & ~1ULL, cpus = kernel->cpus;

	for (; cpus && wanting; cpus &= cpus - 1, wanting &= wanting - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(wanting);
		user->next[__builtin_ctzll(cpus)] = HLS_DECISION(kernel->slot[slot].event, HLS_LOOSE, 0, slot);
	}
	user->answered = asked;
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
	if (!child)
		garbage();
	good();
}

static void *write_old_pages(void *unused)
{
	(void)unused;
	garbage();
	return NULL;
}

/* A child takes the scheduler over when the agent has ended, whose process goes on and writes into the old pages. */
static void take_over(void)
{
	pid_t child = fork();
	pthread_t writer;

	must(child >= 0, "fork");
	if (child) {
		must(!pthread_create(&writer, NULL, write_old_pages, NULL), "pthread_create");
		pthread_exit(NULL);
	}
	while (hls_grant(scheduler, getpid(), 0, HLS_AGENT))
		sleep_ns(SLEEP_NS);
	take_pages();
	good();
}

/* Processes come that loop, out of the scheduler, and are killed, not so fast that records are lost. */
static void kill_others(void)
{
	for (;;) {
		pid_t child = fork();
		for (; !child;)
			continue;
		sleep_ns(5 * SLEEP_NS);
		if (child > 0)
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

static const struct {
	const char *name;
	void (*act)(void);
} kinds[] = {
    {"none", none},   {"good", good},        {"garbage", garbage},    {"loop", loop},
    {"storm", storm}, {"unmap", unmap},      {"crash", crash},        {"stop", stop},
    {"exec", exec},   {"fork", fork_writer}, {"takeover", take_over}, {"kills", kill_others},
};

static void promote(const char *below, const char *const *parameters)
{
	int pages[2];

	must(!hls_promote(scheduler, below, parameters, pages), "promote");
	map_pages(pages);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	scheduler = argv[2];
	setpgid(0, 0);
	granted =
	    mmap(NULL, (WORKERS + 1) * sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(granted != MAP_FAILED, "mmap");
	promote(argv[3], (const char *const *)argv + 4);
	start_workers();
	wait_for_workers();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].act();
	return 2;
}
