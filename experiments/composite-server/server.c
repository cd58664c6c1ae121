/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small HTTP server for requests of two kinds, and a client that measures how long they take.
 *
 *   server own|told|plain SECONDS
 *
 * The server is driven by events: the dispatcher accepts connections and reads requests, `GET /paid` or `GET /free`; a
 * worker does the work of each and answers. Paid requests are to be served first, and so:
 *
 *   own    the process is the agent of the scheduler "own", and knows which kind of request each worker serves
 *   told   the workers tell the policy `ranks`, which their scheduler has, which kind they serve
 *   plain  the scheduler knows nothing
 *
 * The client is a real-time process: what it takes is stolen from the hierarchy. It sends requests whether or not the
 * ones before were answered, 30 paid ones and 120 free ones a second at random, and counts from the moment at which
 * each was to be sent. Prints, for each kind, how many were answered, and of their times half, 99 in 100, 999 in 1000,
 * and the longest, in microseconds.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { FREE, PAID, KINDS };
enum { WORKERS = 8, MOST_FREE = 6, QUEUE = 4096, MOST_OPEN = 4096, MOST_REQUESTS = 100000 };
enum { DISPATCHER_SLOT = 1, FIRST_WORKER_SLOT = 2 };

#define WORK_INSTRUCTIONS 1000000 /* of a request: 2 ms at 500 million a second */

static const char *const paths[KINDS] = {"/free", "/paid"};
static const unsigned rates[KINDS] = {120, 30};

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(3);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void burn(long instructions)
{
	long rounds = instructions / 2;
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(rounds));
}

/* The server. */

struct worker {
	sem_t has_work;
	int connection;
	volatile int kind; /* of the request that it serves, or served last */
	volatile int is_busy;
};

static struct worker workers[WORKERS];
static struct {
	int connection[QUEUE];
	unsigned first, last;
} waiting[KINDS];
static int nr_busy[KINDS];
static int is_own, is_told, messenger = -1;
static struct hls_scheduler scheduler;
static pthread_mutex_t dispatching = PTHREAD_MUTEX_INITIALIZER;
static pid_t tids[1 + WORKERS]; /* the dispatcher's, and the workers' */
static sem_t has_begun, is_placed;

/* Gives requests that wait to workers that have none: paid ones first; some workers are for these alone. */
static void dispatch(void)
{
	pthread_mutex_lock(&dispatching);
	for (int kind = PAID; kind >= FREE; kind--)
		for (int i = 0; i < WORKERS && waiting[kind].first != waiting[kind].last; i++) {
			struct worker *worker = &workers[i];
			if (worker->is_busy || (kind == FREE && nr_busy[FREE] >= MOST_FREE))
				continue;
			worker->connection = waiting[kind].connection[waiting[kind].first++ % QUEUE];
			worker->kind = kind;
			worker->is_busy = 1;
			nr_busy[kind]++;
			sem_post(&worker->has_work);
		}
	pthread_mutex_unlock(&dispatching);
}

/* Tells the scheduler the rank of the calling thread's work, if it wants to know. */
static void tell_rank(uint64_t rank)
{
	uint64_t values[4] = {rank};
	/* Until its name has put the thread where it belongs, another scheduler hears this, which knows no ranks. */
	if (is_told)
		check(hls_tell(messenger, 0, values) >= 0 || errno == ENOSYS, "hls_tell");
}

static void *work(void *arg)
{
	static const char answer[] = "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	struct worker *worker = arg;
	tids[1 + (worker - workers)] = gettid();
	sem_post(&has_begun);
	for (;;) {
		tell_rank(2); /* to take up work at once */
		if (is_own && worker->connection)
			hls_decide_blocking(&scheduler);
		while (sem_wait(&worker->has_work))
			;
		tell_rank(worker->kind == PAID);
		burn(WORK_INSTRUCTIONS);
		if (send(worker->connection, answer, sizeof(answer) - 1, MSG_NOSIGNAL) < 0 && errno != EPIPE &&
		    errno != ECONNRESET)
			check(0, "send");
		close(worker->connection);
		pthread_mutex_lock(&dispatching);
		nr_busy[worker->kind]--;
		worker->is_busy = 0;
		pthread_mutex_unlock(&dispatching);
		dispatch();
	}
	return NULL;
}

/* Reads what a request is for; HTTP of one line is enough for us. */
static void read_request(int connection)
{
	char text[256];
	ssize_t length = recv(connection, text, sizeof(text) - 1, 0);
	for (int kind = 0; length > 4 && kind < KINDS; kind++)
		if (!strncmp(text + 4, paths[kind], strlen(paths[kind])) &&
		    waiting[kind].last - waiting[kind].first < QUEUE) {
			waiting[kind].connection[waiting[kind].last++ % QUEUE] = connection;
			return;
		}
	close(connection);
}

static int listener, ready[2]; /* the server says by this pipe that its threads are where they are to be */

static void *dispatcher(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, happened[64];
	int queue = epoll_create1(0);
	tids[0] = gettid();
	sem_post(&has_begun);
	sem_wait(&is_placed);
	tell_rank(3);
	check(queue >= 0 && !epoll_ctl(queue, EPOLL_CTL_ADD, listener, &event), "epoll");
	for (;;) {
		int count = epoll_wait(queue, happened, 64, -1);
		for (int i = 0; i < count; i++) {
			int connection = happened[i].data.fd;
			if (connection == listener) {
				connection = accept(listener, NULL, NULL);
				event.data.fd = connection;
				if (connection >= 0 && epoll_ctl(queue, EPOLL_CTL_ADD, connection, &event))
					close(connection);
				continue;
			}
			epoll_ctl(queue, EPOLL_CTL_DEL, connection, NULL);
			pthread_mutex_lock(&dispatching);
			read_request(connection);
			pthread_mutex_unlock(&dispatching);
		}
		dispatch();
	}
	return unused;
}

/* The policy of our own: the dispatcher, then workers that do paid work, then the others. */
static unsigned schedule(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	unsigned slot, best = hls_first_slot(candidates);
	(void)s, (void)cpu;
	hls_for_each_slot (slot, candidates) {
		if (slot == DISPATCHER_SLOT)
			return slot;
		if (slot >= FIRST_WORKER_SLOT && slot < FIRST_WORKER_SLOT + WORKERS &&
		    workers[slot - FIRST_WORKER_SLOT].kind == PAID)
			best = slot;
	}
	return best;
}

/* Without a decision, urgencies choose. They follow the kind of request for which the thread is woken. */
static void wakeup(struct hls_scheduler *s, unsigned slot)
{
	if (slot == DISPATCHER_SLOT)
		hls_set_urgency(s, slot, 3);
	else if (slot < FIRST_WORKER_SLOT + WORKERS)
		hls_set_urgency(s, slot, 1 + (hls_word)workers[slot - FIRST_WORKER_SLOT].kind);
}

/* The agent is asked about threads that come, go and wake up; when a worker blocks, it names the next one itself. */
static const struct hls_user_policy policy = {
    .schedule = schedule,
    .wakeup = wakeup,
    .asks = 1 << HLS_EVENT_NEW | 1 << HLS_EVENT_REMOVED | 1 << HLS_EVENT_WAKEUP,
};

static void start(const char *name, void *(*body)(void *), void *arg)
{
	pthread_t thread;
	check(!pthread_create(&thread, NULL, body, arg) && !pthread_setname_np(thread, name), name);
	sem_wait(&has_begun);
}

static void serve(void)
{
	int pages[2];
	if (is_told)
		messenger = hls_messenger();
	check(!is_told || messenger >= 0, "hls_messenger");
	for (int i = 0; i < WORKERS; i++) {
		sem_init(&workers[i].has_work, 0, 0);
		start("worker", work, &workers[i]);
	}
	start("dispatcher", dispatcher, NULL);
	if (is_own) {
		check(!hls_pages("own", pages) && !hls_scheduler_map(&scheduler, &policy, NULL, pages), "own");
		check(!hls_grant("own", gettid(), 0, HLS_AGENT), "grant");
		for (unsigned i = 0; i <= WORKERS; i++)
			check(!hls_grant("own", tids[i], 0, DISPATCHER_SLOT + i), "grant");
	}
	sem_post(&is_placed);
	check(write(ready[1], "", 1) == 1, "write");
	if (is_own)
		hls_scheduler_run(&scheduler);
	for (;;)
		pause();
}

/* The client. */

struct request {
	uint64_t due_ns;
	int kind, connection;
};

static uint64_t times_us[KINDS][MOST_REQUESTS];
static unsigned nr_answered[KINDS];

/* The time to the next of `rate` events a second, as if each came by chance; the same in every run. */
static uint64_t distance_ns(uint64_t *state, unsigned rate)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	/* Minus the logarithm of a number that is evenly spread over (0, 1], by its first bits and a line. */
	double part = (double)((*state >> 33) + 1) / 2147483648.0, logarithm = 0;
	while (part < 0.5) {
		part *= 2;
		logarithm += 0.69314718;
	}
	return (uint64_t)((logarithm + 2 * (1 - part) * 0.69314718) * 1e9 / rate);
}

static void send_request(int queue, struct request *request, const struct sockaddr_in *to)
{
	char text[64];
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = request};
	int length = snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\n\r\n", paths[request->kind]);
	request->connection = socket(AF_INET, SOCK_STREAM, 0);
	check(request->connection >= 0, "socket");
	check(!connect(request->connection, (const struct sockaddr *)to, sizeof(*to)), "connect");
	check(send(request->connection, text, (size_t)length, 0) == length, "send");
	check(!epoll_ctl(queue, EPOLL_CTL_ADD, request->connection, &event), "epoll_ctl");
}

static void take_answer(struct request *request)
{
	char text[256];
	if (recv(request->connection, text, sizeof(text), 0) > 0 && nr_answered[request->kind] < MOST_REQUESTS)
		times_us[request->kind][nr_answered[request->kind]++] = (now_ns() - request->due_ns) / 1000;
	close(request->connection);
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
	return (one > other) - (one < other);
}

static void print_times(int kind)
{
	unsigned count = nr_answered[kind];
	const uint64_t *times = times_us[kind];
	qsort(times_us[kind], count, sizeof(uint64_t), compare);
	printf("%s %u", paths[kind] + 1, count);
	for (unsigned thousandths = 500; count && thousandths <= 1000; thousandths = thousandths == 500 ? 990
										     : thousandths == 990
											 ? 999
											 : thousandths + 1)
		printf(" %llu", (unsigned long long)times[(uint64_t)(count - 1) * thousandths / 1000]);
	printf("\n");
}

static void be_client(const struct sockaddr_in *to, unsigned seconds)
{
	static struct request requests[2 * MOST_REQUESTS];
	static unsigned nr_requests;
	struct epoll_event happened[64];
	int queue = epoll_create1(0);
	uint64_t state = 1, begin = now_ns(), end = begin + seconds * 1000000000ULL, next[KINDS];
	for (int kind = 0; kind < KINDS; kind++)
		next[kind] = begin + distance_ns(&state, rates[kind]);
	for (;;) {
		int kind = next[PAID] < next[FREE] ? PAID : FREE;
		uint64_t now = now_ns();
		if (now >= end)
			break;
		if (next[kind] <= now) {
			struct request *request = &requests[nr_requests++ % (2 * MOST_REQUESTS)];
			*request = (struct request){.due_ns = next[kind], .kind = kind};
			send_request(queue, request, to);
			next[kind] += distance_ns(&state, rates[kind]);
			continue;
		}
		struct timespec patience = {
		    .tv_nsec = (long)(next[kind] - now < 900000000 ? next[kind] - now : 900000000)};
		int count = epoll_pwait2(queue, happened, 64, &patience, NULL);
		for (int i = 0; i < count; i++)
			take_answer(happened[i].data.ptr);
	}
	for (int kind = PAID; kind >= FREE; kind--)
		print_times(kind);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sched_param highest = {.sched_priority = 50};
	socklen_t length = sizeof(at);
	if (argc != 3 || (strcmp(argv[1], "own") && strcmp(argv[1], "told") && strcmp(argv[1], "plain"))) {
		fprintf(stderr, "usage: server own|told|plain SECONDS\n");
		return 2;
	}
	is_own = !strcmp(argv[1], "own");
	is_told = !strcmp(argv[1], "told");
	listener = socket(AF_INET, SOCK_STREAM, 0);
	check(listener >= 0 && !bind(listener, (struct sockaddr *)&at, length) && !listen(listener, 1024) &&
		  !getsockname(listener, (struct sockaddr *)&at, &length),
	      "listen");
	check(!sem_init(&has_begun, 0, 0) && !sem_init(&is_placed, 0, 0), "sem_init");
	check(!pipe(ready), "pipe");
	pid_t server = fork();
	check(server >= 0, "fork");
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "server");
		serve();
	}
	close(ready[1]);
	check(read(ready[0], &(char){0}, 1) == 1, "the server");
	sleep(2); /* until the threads are where their names put them */
	check(!sched_setscheduler(0, SCHED_FIFO, &highest), "sched_setscheduler");
	be_client(&at, (unsigned)atoi(argv[2]));
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}
