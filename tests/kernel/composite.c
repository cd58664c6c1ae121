/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A scheduler as a process: its agent does as KIND says, beside threads that it has granted itself; for tests.
 * `composite KIND NAME PARENT PARAMETER VALUE...` promotes a scheduler NAME below PARENT, and becomes its agent. The
 * threads, which are in a process of their own so that they outlive the agent, come with the slot as their urgency: two
 * that loop, and in slot 3 one that works for a while and sleeps for a while. Prints the TIDs of the agent and of the
 * threads, by slot, when all are granted. All processes are in the agent's process group. `composite all NAME PARENT
 * PARAMETER VALUE...` has one agent of each kind after the other do that, until there is the file /tmp/over: another
 * thread is granted as well, the agent is killed, the scheduler demoted or the thread revoked, and all are killed.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "include/hls_pages.h"
#include "program.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define WORKERS 3
#define WORK_NS 500000
#define SLEEP_NS 2000000
#define TRACED_STEPS 20       /* of the agent, one after the other, while it is traced */
#define STARVED_NS 5000000000 /* wait after which the engine rescues a thread (bpf/rescue.h) */

static const char *scheduler;
static const volatile struct hls_kernel_page *kernel;
static volatile struct hls_user_page *user;
/* The TIDs of the workers that are granted, by slot; in memory that all processes share. */
static volatile pid_t *granted;
#define GRANTED_SIZE ((WORKERS + 1) * sizeof(pid_t))

static uint64_t cpu_time_ns(void)
{
	return time_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void wait_for(unsigned slot)
{
	while (!granted[slot])
		sleep_ns(SLEEP_NS);
}

/* Works and sleeps in turn, or only works, once all are granted: none keeps another from its grant. */
static void *work(void *argument)
{
	unsigned slot = (unsigned)(uintptr_t)argument;
	pid_t self = (pid_t)syscall(SYS_gettid);

	/* One after the other: a user has few connections. */
	if (slot < WORKERS)
		wait_for(slot + 1);
	if (hls_grant(scheduler, self, slot, slot)) {
		perror("grant");
		kill(0, SIGKILL); /* the agent waits for all */
	}
	granted[slot] = self;
	wait_for(1);
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
	wait_for(1);
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

/* The same sequence in each run, and a different one for each scheduler. */
static uint64_t any_word(void)
{
	static uint64_t state;

	if (!state)
		state = (uint64_t)scheduler[0];
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

/* When the agent has ended, a child takes the scheduler over; the agent's process goes on, and writes the old pages. */
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

/* Starts processes that loop, outside of the scheduler, and kills them, not so fast that records are lost. */
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

static void wait_for_stop(pid_t agent)
{
	int status;

	must(waitpid(agent, &status, __WALL) == agent && WIFSTOPPED(status), "the traced agent");
}

/* Stops the agent, has it make some steps, and lets it go on, again and again, as a debugger does. */
static void trace(pid_t agent)
{
	must(!ptrace(PTRACE_SEIZE, agent, NULL, NULL), "PTRACE_SEIZE");
	for (;;) {
		must(!ptrace(PTRACE_INTERRUPT, agent, NULL, NULL), "PTRACE_INTERRUPT");
		wait_for_stop(agent);
		for (int i = 0; i < TRACED_STEPS; i++) {
			must(!ptrace(PTRACE_SINGLESTEP, agent, NULL, NULL), "PTRACE_SINGLESTEP");
			wait_for_stop(agent);
		}
		sleep_ns(SLEEP_NS);
		must(!ptrace(PTRACE_CONT, agent, NULL, NULL), "PTRACE_CONT");
		sleep_ns(SLEEP_NS);
	}
}

/* The agent does as it should, and a process traces it. */
static void traced(void)
{
	pid_t agent = getpid(), tracer;

	/* Where only ancestors may trace; elsewhere it is refused, and not needed. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	tracer = fork();
	must(tracer >= 0, "fork");
	if (!tracer)
		trace(agent);
	good();
}

static const struct {
	const char *name;
	void (*act)(void);
} kinds[] = {
    {"none", none},          {"good", good},         {"garbage", garbage}, {"loop", loop}, {"storm", storm},
    {"unmap", unmap},        {"crash", crash},       {"stop", stop},       {"exec", exec}, {"fork", fork_writer},
    {"takeover", take_over}, {"kills", kill_others}, {"traced", traced},
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void promote(const char *below, const char *const *parameters)
{
	int pages[2];

	must(!hls_promote(scheduler, below, parameters, pages), "promote");
	map_pages(pages);
}

/* Promotes the scheduler, and becomes its agent. */
static int be_agent(size_t kind, const char *below, const char *const *parameters)
{
	setpgid(0, 0);
	promote(below, parameters);
	start_workers();
	wait_for_workers();
	kinds[kind].act();
	return 0;
}

/* Kills all processes of the group; returns for how long the last of them lived on. */
static uint64_t end_group(pid_t group)
{
	uint64_t began = now_ns();

	kill(-group, SIGKILL);
	while (waitpid(-group, NULL, 0) > 0)
		continue;
	return now_ns() - began;
}

/* An agent of this kind, for a while; returns for how long its processes lived on when they were killed. */
static uint64_t try_kind(size_t kind, pid_t sleeper, const char *below, const char *const *parameters)
{
	memset((void *)granted, 0, GRANTED_SIZE);
	pid_t agent = fork();

	must(agent >= 0, "fork");
	if (!agent)
		exit(be_agent(kind, below, parameters));
	setpgid(agent, agent);
	while (!granted[1]) {
		must(!waitpid(agent, NULL, WNOHANG), "an agent");
		sleep_ns(SLEEP_NS);
	}
	must(!hls_grant(scheduler, sleeper, 0, HLS_SLOTS), "grant");
	sleep_ns((long)(any_word() % 300000000));
	switch (any_word() % 3) {
	case 0:
		kill(agent, SIGKILL);
		break;
	case 1:
		must(!hls_demote(scheduler), "demote");
		break;
	default:
		must(!hls_revoke(sleeper), "revoke");
	}
	sleep_ns((long)(any_word() % 100000000));
	uint64_t lived_ns = end_group(agent);
	hls_revoke(sleeper);
	return lived_ns;
}

/*
 * Agents of all kinds, one after the other, until there is the file, with a different first kind for each scheduler.
 * All their processes become children of this one.
 */
static int try_all(const char *below, const char *const *parameters)
{
	uint64_t lived_ns, longest_ns = 0;
	unsigned agents = 0;
	pid_t sleeper = fork();

	must(sleeper >= 0 && !prctl(PR_SET_CHILD_SUBREAPER, 1), "fork");
	if (!sleeper)
		none();
	while (access("/tmp/over", F_OK)) {
		lived_ns = try_kind((3 * (unsigned)scheduler[0] + agents++) % NR_KINDS, sleeper, below, parameters);
		longest_ns = lived_ns > longest_ns ? lived_ns : longest_ns;
		/* So no thread got its CPU only as a starved one. */
		must(lived_ns < STARVED_NS, "processes that were killed lived on");
	}
	kill(sleeper, SIGKILL);
	printf("%s: %u agents; killed processes lived on for %u ms at most\n", scheduler, agents,
	       (unsigned)(longest_ns / 1000000));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const char *const *parameters = (const char *const *)argv + 4;
	scheduler = argv[2];
	granted = mmap(NULL, GRANTED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(granted != MAP_FAILED, "mmap");
	if (!strcmp(argv[1], "all"))
		return try_all(argv[3], parameters);
	for (size_t kind = 0; kind < NR_KINDS; kind++)
		if (!strcmp(argv[1], kinds[kind].name))
			return be_agent(kind, argv[3], parameters);
	return 2;
}
