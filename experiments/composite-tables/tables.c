/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures what stands beside Tables II to IV of G. Parmer and R. West, ACM TECS 13(1s), 2013: `tables ROW` prints what
 * one operation of that row costs, the least of many batches, by the time stamp counter. In the test machine that
 * counts instructions; with `tables ROW nanoseconds` it is time by the system's clock.
 *
 * Rows that begin with `user-` make this process the agent of a scheduler below "FP" (docs/user-level-schedulers.md),
 * and those that begin with `kernel-` put its threads below the scheduler "K" of the kernel: see tables.kdl.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <x86intrin.h>

enum { BATCHES = 40, ROUNDS = 100 };

static int in_nanoseconds;

static uint64_t stamp(void)
{
	struct timespec now;
	if (!in_nanoseconds)
		return __rdtsc();
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(3);
}

/* Prints the least cost of an operation of `round`, which makes this number of them. */
static void measure(void (*round)(void), unsigned operations)
{
	uint64_t least = UINT64_MAX;
	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = stamp();
		for (int i = 0; i < ROUNDS; i++)
			round();
		uint64_t took = stamp() - begin;
		if (took < least)
			least = took;
	}
	printf("%llu\n", (unsigned long long)(least / ROUNDS / operations));
	fflush(stdout);
}

/* Rows of a thread alone. */

static void system_call(void)
{
	syscall(SYS_getppid);
}

static void two_system_calls(void)
{
	syscall(SYS_getppid);
	syscall(SYS_getppid);
}

static void on_signal(int number)
{
	(void)number;
}

static void signal_to_self(void)
{
	raise(SIGUSR1);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/* Rows of two threads or processes. */

static int there[2], back[2], event;
static struct hls_scheduler scheduler;
static int decides_blocking;
static unsigned partner; /* the slot of the other thread */

static void before_blocking(void)
{
	if (decides_blocking)
		hls_decide_blocking(&scheduler);
}

/* A byte to the other side and back: two switches. */
static void round_trip(void)
{
	char byte = 0;
	check(write(there[1], &byte, 1) == 1, "write");
	before_blocking();
	check(read(back[0], &byte, 1) == 1, "read");
}

static void *echo(void *unused)
{
	char byte;
	for (;;) {
		before_blocking();
		if (read(there[0], &byte, 1) != 1)
			return unused; /* the first side has ended */
		check(write(back[1], &byte, 1) == 1, "write");
	}
}

static void *yield_for_ever(void *unused)
{
	for (;;)
		sched_yield();
	return unused;
}

static void yield_once(void)
{
	sched_yield();
}

static void *switch_for_ever(void *slot)
{
	for (;;)
		hls_switch_to(&scheduler, *(unsigned *)slot);
	return NULL;
}

static void switch_once(void)
{
	hls_switch_to(&scheduler, partner);
}

static void lock_scheduler(void)
{
	hls_unlock(&scheduler, hls_lock(&scheduler));
}

/* An event: writes one, which wakes the upcall if it waits for one. */
static void write_event(void)
{
	uint64_t one = 1;
	check(write(event, &one, sizeof(one)) == sizeof(one), "eventfd");
}

static void read_event(void)
{
	uint64_t count;
	check(read(event, &count, sizeof(count)) == sizeof(count), "eventfd");
}

/* The upcall of a brand: deals with events, each of which takes no time. */
static void *upcall(void *unused)
{
	for (;;)
		read_event();
	return unused;
}

/* What write_event() takes alone in event_and_sleep(). */
static void measure_event_for_later(void)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < BATCHES * ROUNDS / 10; i++) {
		struct timespec moment = {.tv_nsec = 200000};
		uint64_t begin = stamp();
		write_event();
		uint64_t took = stamp() - begin;
		if (took < least)
			least = took;
		nanosleep(&moment, NULL);
	}
	printf("%llu\n", (unsigned long long)least);
	fflush(stdout);
}

static volatile uint64_t written_at, read_after;

/* The upcall, noting when it had the event. */
static void *upcall_on_time(void *unused)
{
	for (;;) {
		read_event();
		read_after = stamp() - written_at;
	}
	return unused;
}

static void measure_dispatch(void)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < BATCHES * ROUNDS; i++) {
		written_at = stamp();
		write_event();
		if (read_after < least)
			least = read_after;
	}
	printf("%llu\n", (unsigned long long)least);
	fflush(stdout);
}

/* An event that is pending when the upcall asks for the next one. */
static void pending_event(void)
{
	write_event();
	read_event();
}

/* The rows. */

enum { ASKS_NOTHING, ASKS_BLOCK, ASKS_ALL };

struct row {
	const char *name;
	void *(*other)(void *); /* what the second thread does; NULL: there is none */
	void (*round)(void);
	unsigned operations;            /* in a round */
	void (*measure)(void);          /* in place of rounds */
	unsigned asks;                  /* what the agent is asked about */
	unsigned urgency[2];            /* of the thread that measures, and of the other */
	int blocks_decided, is_process; /* the other is a process of its own */
};

static const struct row rows[] = {
    {.name = "system-call", .round = system_call, .operations = 1},
    {.name = "two-system-calls", .round = two_system_calls, .operations = 1},
    {.name = "mutex", .round = lock_mutex, .operations = 1},
    {.name = "signal", .round = signal_to_self, .operations = 1},
    {.name = "pending-event", .round = pending_event, .operations = 1},
    {.name = "event-unheard", .round = write_event, .operations = 1},
    {.name = "fifo-yield", .other = yield_for_ever, .round = yield_once, .operations = 2},
    {.name = "pipe", .other = echo, .round = round_trip, .operations = 1, .is_process = 1},
    {.name = "fifo-pipe", .other = echo, .round = round_trip, .operations = 1, .is_process = 1},
    {.name = "kernel-switch", .other = echo, .round = round_trip, .operations = 2},
    {.name = "kernel-yield", .other = yield_for_ever, .round = yield_once, .operations = 2},
    {.name = "user-switch-urgencies", .other = echo, .round = round_trip, .operations = 2},
    {.name = "user-switch-blocking", .other = echo, .round = round_trip, .operations = 2, .blocks_decided = 1},
    {.name = "user-switch-agent", .other = echo, .round = round_trip, .operations = 2, .asks = ASKS_BLOCK},
    {.name = "user-yield", .other = yield_for_ever, .round = yield_once, .operations = 2},
    {.name = "user-switch-to", .other = switch_for_ever, .round = switch_once, .operations = 2},
    {.name = "user-lock", .round = lock_scheduler, .operations = 1},
    {.name = "user-event-later", .other = upcall, .measure = measure_event_for_later, .urgency = {2, 1}},
    {.name = "user-event-at-once", .other = upcall, .round = write_event, .operations = 1, .urgency = {1, 2}},
    {.name = "user-dispatch", .other = upcall_on_time, .measure = measure_dispatch, .urgency = {1, 2}},
    {.name = "user-event-agent",
     .other = upcall,
     .round = write_event,
     .operations = 1,
     .asks = ASKS_ALL,
     .urgency = {1, 2}},
    {.name = "user-dispatch-agent",
     .other = upcall_on_time,
     .measure = measure_dispatch,
     .asks = ASKS_ALL,
     .urgency = {1, 2}},
};

static const struct row *row;

/* The policy: the thread with the greater urgency; if both have the same, the one in slot 1. */
static unsigned schedule(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	unsigned slot, best = hls_first_slot(candidates);
	(void)s, (void)cpu;
	hls_for_each_slot (slot, candidates) {
		if (slot < 3 && row->urgency[slot - 1] > row->urgency[best - 1])
			best = slot;
	}
	return best;
}

static void thread_new(struct hls_scheduler *s, unsigned slot)
{
	if (slot < 3)
		hls_set_urgency(s, slot, row->urgency[slot - 1] + 1);
}

static struct hls_user_policy policy = {.thread_new = thread_new, .schedule = schedule};

static pthread_barrier_t placed;
static pid_t tids[2];

static void *second(void *unused)
{
	static unsigned first_slot = 1;
	tids[1] = gettid();
	pthread_barrier_wait(&placed);
	pthread_barrier_wait(&placed);
	(void)unused;
	return row->other(&first_slot);
}

static void *first(void *unused)
{
	partner = 2;
	tids[0] = gettid();
	pthread_barrier_wait(&placed);
	pthread_barrier_wait(&placed);
	usleep(200000); /* until the other one waits */
	if (row->measure)
		row->measure();
	else
		measure(row->round, row->operations);
	if (!strncmp(row->name, "user", 4)) /* its name is free for the next row at once */
		check(!hls_demote("S"), "demote");
	exit(0);
	return unused;
}

static void start(const char *name, void *(*body)(void *))
{
	pthread_t thread;
	check(!pthread_create(&thread, NULL, body, NULL) && !pthread_setname_np(thread, name), name);
}

/* The other side as a process of its own, which ends with this one: then nobody writes to its pipe. */
static void start_process(void)
{
	pid_t other = fork();
	check(other >= 0, "fork");
	if (other)
		return;
	close(there[1]);
	row->other(NULL);
	exit(0);
}

/* Makes this thread the agent of a new scheduler, which has both others. */
static void begin_user_level(void)
{
	static const char *const parameters[] = {"priority", "2", "allowance", "9ms", "every", "10ms", NULL};
	static const hls_word asks[] = {
	    [ASKS_NOTHING] = HLS_BIT(HLS_EVENT_NEW),
	    [ASKS_BLOCK] = HLS_BIT(HLS_EVENT_NEW) | HLS_BIT(HLS_EVENT_BLOCK),
	    [ASKS_ALL] = HLS_BIT(HLS_EVENT_NEW) | HLS_BIT(HLS_EVENT_BLOCK) | HLS_BIT(HLS_EVENT_WAKEUP),
	};
	policy.asks = asks[row->asks];
	check(!hls_scheduler_promote(&scheduler, &policy, NULL, "S", "FP", parameters), "promote");
	for (unsigned i = 0; i < 2; i++) {
		if (tids[i])
			check(!hls_grant("S", tids[i], 0, i + 1), "grant");
	}
}

/*
 * Moves all below a policy in the kernel. This thread, which sleeps from now on, is promised all of the CPU there, and
 * the others nothing, as below a process's scheduler: so hls records neither of them.
 */
static void begin_in_kernel(void)
{
	const pid_t all[] = {gettid(), tids[0], tids[1]};
	char command[80];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(command, sizeof(command), "hls ctl move %d --to K priority=%d >/dev/null", all[i],
			 i ? 1 : 2);
		check(!all[i] || !system(command), command);
	}
}

static void usage(void)
{
	fprintf(stderr, "usage: tables ROW [nanoseconds]; the rows are");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(stderr, " %s", rows[i].name);
	fprintf(stderr, "\n");
	exit(2);
}

int main(int argc, char **argv)
{
	cpu_set_t cpu;
	struct sched_param highest = {.sched_priority = 50};
	for (size_t i = 0; argc > 1 && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(argv[1], rows[i].name))
			row = &rows[i];
	if (!row || argc > 3 || (argc == 3 && strcmp(argv[2], "nanoseconds")))
		usage();
	in_nanoseconds = argc == 3;
	decides_blocking = row->blocks_decided;
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	check(!sched_setaffinity(0, sizeof(cpu), &cpu), "sched_setaffinity");
	check(!pipe(there) && !pipe(back), "pipe");
	event = eventfd(0, EFD_SEMAPHORE);
	check(event >= 0 && signal(SIGUSR1, on_signal) != SIG_ERR, "eventfd");
	check(strncmp(row->name, "fifo", 4) || !sched_setscheduler(0, SCHED_FIFO, &highest), "sched_setscheduler");
	int has_second = row->other && !row->is_process;
	check(!pthread_barrier_init(&placed, NULL, has_second ? 3 : 2), "pthread_barrier_init");
	if (row->is_process)
		start_process();
	start("measures", first);
	if (has_second)
		start("other", second);
	pthread_barrier_wait(&placed);
	if (!strncmp(row->name, "user", 4))
		begin_user_level();
	else if (!strncmp(row->name, "kernel", 6))
		begin_in_kernel();
	pthread_barrier_wait(&placed);
	if (!strncmp(row->name, "user", 4))
		hls_scheduler_run(&scheduler);
	pause();
}
