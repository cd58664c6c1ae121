/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Upcalls, threads of a process that wait for events of the kernel, are scheduled by urgencies, and no agent is asked;
 * for tests, as root, while hls runs. `upcall SOURCE NAME PARENT PARAMETER VALUE...` promotes below PARENT a scheduler
 * NAME, which is to have one CPU at once; its agent only parks. It grants the scheduler two threads: a worker, which
 * computes until it is told to sleep, and an upcall, which waits for the source and notes at each wake-up how many
 * events were pending. Sources: the count of an `eventfd`, the expirations of a `timerfd`, the receive ring of a socket
 * of AF_XDP (`xdp`). Events come from outside of the scheduler.
 *
 *  1. While the upcall is the more urgent one, each event is to be taken before the next one comes, and long before the
 *     worker has computed for as long as it does between two events.
 *  2. While it is the less urgent one, all events are to be pending until the worker sleeps, and one wake-up is to take
 *     them.
 *
 * Prints the figures of both, and ends with status 1 where one failed. How late an upcall is, is counted in rounds of
 * the worker: a host that has other work delays both alike.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "include/hls_pages.h"
#include "xdp.h"
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#define EVENTS 100 /* of a trial */
#define EVENT_NS 2000000
#define A_LITTLE_NS 10000000
#define A_SECOND_NS 1000000000
#define PATIENCE_NS (3ULL * A_SECOND_NS) /* less than the wait after which a thread is rescued (bpf/rescue.h) */
#define MOST_LATE 25                     /* rounds before an event is taken, of 100 that the worker computes */

enum { WORKER = 1, UPCALL }; /* slots */

/* The worker's urgency comes with its grant, the upcall's is in the user page. */
enum { LESS = 1, URGENCY, MORE };

static const char *scheduler, *parent;
static const char *const *parameters;
static const volatile struct hls_kernel_page *kernel;
static volatile struct hls_user_page *user;
static volatile pid_t worker, upcall;
static volatile int is_promoted, is_to_sleep = 1;
static volatile uint64_t computed; /* rounds of the worker */

/* What the upcall has noted in a trial; `first`, how many events its first wake-up found. */
static volatile struct {
	unsigned wake_ups, events, first;
	uint64_t late; /* rounds of the worker between event and wake-up */
} noted;
static volatile uint64_t sent_at; /* the round in which the last event was sent */

/* A source of events. */
struct source {
	const char *name;
	void (*open)(void);
	void (*send)(void);     /* one event, at once */
	void (*bring)(void);    /* many, one after the other, whether or not they are taken */
	unsigned (*come)(void); /* how many of these have come so far */
	void (*end)(void);      /* no more of them */
	unsigned (*take)(void);
};

static const struct source *source;
static int descriptor;
static unsigned brought;
static uint64_t timer_began_ns;

static unsigned brought_so_far(void)
{
	return brought;
}

static void nothing(void)
{
}

static unsigned take_count(void)
{
	uint64_t count;

	must(read(descriptor, &count, sizeof(count)) == sizeof(count), "read");
	return (unsigned)count;
}

static void open_eventfd(void)
{
	descriptor = eventfd(0, 0);
	must(descriptor >= 0, "eventfd");
}

static void add_one(void)
{
	static const uint64_t one = 1;

	must(write(descriptor, &one, sizeof(one)) == sizeof(one), "write");
}

static void send_each(void)
{
	for (brought = 0; brought < EVENTS; brought++) {
		source->send();
		sleep_ns(EVENT_NS);
	}
}

static void open_timerfd(void)
{
	descriptor = timerfd_create(CLOCK_MONOTONIC, 0);
	must(descriptor >= 0, "timerfd_create");
}

/* The timer expires at `at_ns`, 0: not at all; and from then on every `every_ns`, 0: only once. */
static void set_timer(uint64_t at_ns, long every_ns)
{
	struct itimerspec timer = {
	    .it_value = {(time_t)(at_ns / A_SECOND_NS), (long)(at_ns % A_SECOND_NS)},
	    .it_interval = {0, every_ns},
	};

	must(!timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &timer, NULL), "timerfd_settime");
}

static void expire(void)
{
	set_timer(1, 0);
}

/* The timer goes on: to reset it would reset the count. */
static void bring_expirations(void)
{
	timer_began_ns = now_ns() + EVENT_NS;
	set_timer(timer_began_ns, EVENT_NS);
	sleep_ns(EVENTS * EVENT_NS);
}

static unsigned expired_so_far(void)
{
	uint64_t now = now_ns();

	return now < timer_began_ns ? 0 : (unsigned)((now - timer_began_ns) / EVENT_NS + 1);
}

static void end_timer(void)
{
	set_timer(0, 0);
}

static const struct source sources[] = {
    {"eventfd", open_eventfd, add_one, send_each, brought_so_far, nothing, take_count},
    {"timerfd", open_timerfd, expire, bring_expirations, expired_so_far, end_timer, take_count},
    {"xdp", xdp_open, xdp_send, send_each, brought_so_far, nothing, xdp_take},
};

static void *work(void *unused)
{
	worker = (pid_t)syscall(SYS_gettid);
	for (;;) {
		while (!is_to_sleep)
			computed++;
		sleep_ns(A_LITTLE_NS);
	}
	return unused;
}

static void *wait_for_events(void *unused)
{
	upcall = (pid_t)syscall(SYS_gettid);
	for (;;) {
		unsigned events = source->take();
		noted.late += computed - sent_at;
		if (!noted.wake_ups)
			noted.first = events;
		noted.events += events;
		noted.wake_ups++;
	}
	return unused;
}

/* The agent asks to be told nothing, and parks by its first yield. */
static void *park(void *unused)
{
	int pages[2];

	must(!hls_promote(scheduler, parent, parameters, pages), "promote");
	kernel = mmap(NULL, sizeof(*kernel), PROT_READ, MAP_SHARED, pages[0], 0);
	user = mmap(NULL, sizeof(*user), PROT_READ | PROT_WRITE, MAP_SHARED, pages[1], 0);
	must(kernel != MAP_FAILED && user != MAP_FAILED, "mmap");
	is_promoted = 1;
	for (;;)
		sched_yield();
	return unused;
}

static void start_threads(void)
{
	static void *(*const threads[])(void *) = {park, work, wait_for_events};
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		must(!pthread_create(&thread, NULL, threads[i], NULL), "pthread_create");
	while (!is_promoted || !worker || !upcall)
		sleep_ns(A_LITTLE_NS);
	must(!hls_grant(scheduler, worker, URGENCY, WORKER), "grant");
	must(!hls_grant(scheduler, upcall, URGENCY, UPCALL), "grant");
}

/* The choices of the scheduler, as `hls ctl status` has them, and what its kernel page says of the agent. */
struct choices {
	unsigned long long followed, by_urgency, by_agent;
	hls_word asked, agent_ns;
};

/* The number at the beginning of the text, with commas between thousands. */
static unsigned long long number_at(const char *text)
{
	unsigned long long number = 0;

	for (; (*text >= '0' && *text <= '9') || *text == ','; text++) {
		if (*text != ',')
			number = number * 10 + (unsigned long long)(*text - '0');
	}
	return number;
}

/* Reads the line of the scheduler; 0: it is another line. */
static int read_choices(const char *line, struct choices *choices)
{
	char followed[32], by_urgency[32], by_agent[32];
	size_t length = strlen(scheduler);

	if (strncmp(line, scheduler, length) ||
	    sscanf(line + length,
		   " has followed %31[0-9,] decisions of its process, and chosen %31[0-9,] times by urgency; "
		   "%*[0-9,] decisions were stale, and its agent was asked %31[0-9,] times",
		   followed, by_urgency, by_agent) != 3)
		return 0;
	choices->followed = number_at(followed);
	choices->by_urgency = number_at(by_urgency);
	choices->by_agent = number_at(by_agent);
	return 1;
}

static struct choices choices_so_far(void)
{
	struct choices choices = {.asked = kernel->asked, .agent_ns = kernel->slot[HLS_AGENT].ran_ns};
	FILE *status = popen("hls ctl status", "r");
	char line[1024];
	int found = 0;

	must(!!status, "hls ctl status");
	while (fgets(line, sizeof(line), status))
		found = read_choices(line, &choices) || found;
	must(!pclose(status) && found, "the scheduler in hls ctl status");
	return choices;
}

static void wait_for_worker(void)
{
	uint64_t before = computed, end = now_ns() + PATIENCE_NS;

	while (computed == before) {
		must(now_ns() < end, "a worker that goes on");
		sleep_ns(EVENT_NS);
	}
}

static void wait_for_wake_ups(unsigned number)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (noted.wake_ups < number) {
		must(now_ns() < end, "a wake-up");
		sleep_ns(EVENT_NS / 10);
	}
}

/* Sets the urgency of the upcall, which waits, and has the worker compute. */
static void begin_trial(hls_word urgency)
{
	memset((void *)&noted, 0, sizeof(noted));
	user->urgency[UPCALL] = urgency;
	__atomic_fetch_or(&user->touched, 1ULL << UPCALL, __ATOMIC_SEQ_CST);
	is_to_sleep = 0;
	wait_for_worker();
}

/* The agent must have had nothing to do, and urgencies must have chosen at least `least` times. */
static void print_choices(const struct choices *before, unsigned least)
{
	struct choices now = choices_so_far();
	unsigned long long by_urgency = now.by_urgency - before->by_urgency,
			   by_agent = now.by_agent - before->by_agent;

	printf("; chosen %llu times by urgency, the agent asked %llu times\n", by_urgency, by_agent);
	fflush(stdout);
	must(!by_agent && now.asked == before->asked && now.agent_ns == before->agent_ns,
	     "an agent that nobody asks");
	must(now.followed == before->followed, "no decision");
	must(by_urgency >= least, "choices by urgency");
}

static void try_more_urgent(void)
{
	struct choices before = choices_so_far();

	begin_trial(MORE);
	uint64_t began_at = computed;
	for (unsigned number = 1; number <= EVENTS; number++) {
		sent_at = computed;
		source->send();
		wait_for_wake_ups(number);
		sleep_ns(A_LITTLE_NS);
		wait_for_worker();
	}
	uint64_t late = noted.late * 1000 / (computed - began_at);
	is_to_sleep = 1;
	printf("%s, the more urgent: %u wake-ups for %u events, late by %u.%u %% of what the worker computed",
	       source->name, noted.wake_ups, noted.events, (unsigned)late / 10, (unsigned)late % 10);
	/* Once for the upcall, and once for the worker. */
	print_choices(&before, 2 * EVENTS);
	must(noted.wake_ups == EVENTS && noted.events == EVENTS, "a wake-up for each event");
	must(late < MOST_LATE * 10, "upcalls that run at once");
}

static void try_less_urgent(void)
{
	struct choices before = choices_so_far();

	begin_trial(LESS);
	source->bring();
	sleep_ns(A_LITTLE_NS);
	unsigned early = noted.wake_ups, least = source->come();
	is_to_sleep = 1;
	wait_for_wake_ups(1);
	unsigned most = source->come();
	source->end();
	printf("%s, the less urgent: %u wake-ups while %u events came, then one found %u", source->name, early,
	       least, noted.first);
	print_choices(&before, 2);
	must(!early, "events that stay pending");
	must(noted.first >= least && noted.first <= most, "one wake-up for all events");
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (!strcmp(argv[1], sources[i].name))
			source = &sources[i];
	}
	if (!source)
		return 2;
	scheduler = argv[2];
	parent = argv[3];
	parameters = (const char *const *)argv + 4;
	source->open();
	start_threads();
	try_more_urgent();
	try_less_urgent();
	must(!hls_demote(scheduler), "demote");
	return 0;
}
