/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Promotes a scheduler, grants it a thread, revokes the thread and demotes the scheduler, again and again; in the midst
 * of that a process of hls is killed; for tests, as root. `promoter VICTIM PART PARTS THREAD NAME PARENT PARAMETER
 * VALUE...` measures how long such a cycle takes, and kills the victim when PART of PARTS of another cycle are over, by
 * a real-time process: at that time, whatever hls and the kernel are doing. Goes on until a request finds no hierarchy,
 * by the errors that hls.h has for that. Until then every request must be granted: fails, and says which was not, if
 * one was refused, for instance because a run that ends had lost something. Prints when the victim was killed, and the
 * step in which the requests found no hierarchy any more.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "include/hls_pages.h"
#include "program.h"
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define CYCLES 4 /* that are measured; the first one is not: it may have to wait for more than the others */

static const char *scheduler, *parent;
static const char *const *parameters;
static pid_t thread;

static int ask_promote(void)
{
	int pages[2];

	if (hls_promote(scheduler, parent, parameters, pages))
		return -1;
	close(pages[0]);
	close(pages[1]);
	return 0;
}

static int ask_grant(void)
{
	return hls_grant(scheduler, thread, 0, 1);
}

static int ask_revoke(void)
{
	return hls_revoke(thread);
}

static int ask_demote(void)
{
	return hls_demote(scheduler);
}

static const struct {
	const char *name;
	int (*ask)(void);
} steps[] = {{"promote", ask_promote}, {"grant", ask_grant}, {"revoke", ask_revoke}, {"demote", ask_demote}};

#define NR_STEPS (sizeof(steps) / sizeof(steps[0]))

/* Asks for all steps in turn. */
static void cycle(void)
{
	for (size_t step = 0; step < NR_STEPS; step++)
		must(!steps[step].ask(), steps[step].name);
}

/* What hls.h says of a hierarchy that has gone or goes, before a request or in the midst of one. */
static int finds_no_hierarchy(int error)
{
	return error == ESHUTDOWN || error == ENOENT || error == ECONNREFUSED || error == ECONNRESET ||
	       error == EPIPE;
}

/* A request that failed: its step, and its error; no step: none failed. */
struct failure {
	const char *step;
	int error;
};

/*
 * Asks for cycles until a request finds no hierarchy, and returns that request. The first one that failed before goes
 * into `wrong`. After a request without an answer in time, maybe on a busy host, the state is not known any more.
 */
static struct failure cycles_to_the_end(struct failure *wrong)
{
	int is_known = 1;

	for (size_t step = 0;; step = (step + 1) % NR_STEPS) {
		if (!steps[step].ask())
			continue;
		struct failure failure = {steps[step].name, errno};
		if (finds_no_hierarchy(failure.error))
			return failure;
		is_known = is_known && failure.error != EAGAIN;
		if (is_known && !wrong->step)
			*wrong = failure;
	}
}

/* Kills the victim `delay_ns` after a byte has come. */
static void start_killer(int bytes, pid_t victim, uint64_t delay_ns)
{
	pid_t killer = fork();
	char byte;

	must(killer >= 0, "fork");
	if (killer)
		return;
	must(!sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){50}), "sched_setscheduler");
	must(read(bytes, &byte, 1) == 1, "read");
	nanosleep(&(struct timespec){(time_t)(delay_ns / 1000000000), (long)(delay_ns % 1000000000)}, NULL);
	kill(victim, SIGKILL);
	exit(0);
}

static int kill_in_a_cycle(pid_t victim, uint64_t part, uint64_t parts)
{
	struct failure wrong = {NULL, 0};
	int bytes[2];

	cycle();
	uint64_t began = now_ns();
	for (int i = 0; i < CYCLES; i++)
		cycle();
	uint64_t delay_ns = (now_ns() - began) / CYCLES * part / parts;
	must(!pipe(bytes), "pipe");
	start_killer(bytes[0], victim, delay_ns);
	must(write(bytes[1], "!", 1) == 1, "write");
	struct failure end = cycles_to_the_end(&wrong);
	wait(NULL);
	printf("killed after %llu us of %llu, found in %s: %s\n", (unsigned long long)delay_ns / 1000,
	       (unsigned long long)(delay_ns / 1000 * parts / (part ? part : 1)), end.step, strerror(end.error));
	if (wrong.step)
		printf("before, %s was answered: %s\n", wrong.step, strerror(wrong.error));
	return wrong.step != NULL;
}

int main(int argc, char **argv)
{
	if (argc < 7)
		return 2;
	thread = (pid_t)atoi(argv[4]);
	scheduler = argv[5];
	parent = argv[6];
	parameters = (const char *const *)argv + 7;
	return kill_in_a_cycle((pid_t)atoi(argv[1]), strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
}
