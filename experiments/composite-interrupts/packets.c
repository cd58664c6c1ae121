/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two streams of real packets, and the threads that process them: programs of the experiment composite-interrupts on a
 * real kernel. `packets one|two RATE RATE SECONDS` sends the streams at these rates, in packets a second, over the
 * loopback device, and prints what became of them: packets a second that upcalls, task 1 and task 2 have processed,
 * thousandths of the CPU that sending took, and packets a second for which mailboxes had no room.
 *
 *   sender --UDP--> upcall (one, or one for each stream) --mailbox--> task 1, task 2          task 3 computes
 *
 * A hierarchy knows the threads by their names. The sender is a real-time thread: what it takes, the kernel's network
 * work included, is stolen from the hierarchy, as the work at interrupt time is ("level 0"). It sends all packets of a
 * millisecond at once, and the kernel passes them on together (UDP_SEGMENT, UDP_GRO), like a network card that
 * interrupts once for many packets. An upcall takes 14,000 instructions for each packet, a task 30,000, as many as
 * cycles in the paper (Parmer and West, ACM TECS 13(1s), 2013, section 3.2).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define UPCALL_INSTRUCTIONS 14000
#define TASK_INSTRUCTIONS 30000
#define PACKET_BYTES 16    /* of which the first one is the number of the stream */
#define MOST_SEGMENTS 60   /* packets that the kernel takes at once */
#define MAILBOX_HOLDS 4096 /* packets */
#define PERIOD_NS 1000000  /* of the sender */
#define STREAMS 2

/* Packets that wait for a task. */
struct mailbox {
	_Atomic uint32_t waiting;
	_Atomic uint32_t is_empty; /* the task sleeps until this is 0 */
	uint64_t dropped, done;
};

/* What a stream's packets become. */
struct stream {
	unsigned long rate;
	uint64_t sent;
	struct mailbox mailbox;
};

static struct stream streams[STREAMS];
static int sockets[STREAMS]; /* from which upcalls read; both the same where one deals with all */
static uint64_t upcalls;     /* packets that upcalls have dealt with */
static atomic_bool is_over;

static void fail(const char *what)
{
	perror(what);
	exit(3);
}

/* Executes this number of instructions, give or take ten. */
static void burn(long instructions)
{
	long rounds = instructions / 2;
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(rounds));
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* Puts a packet into a mailbox, and wakes the task if it sleeps. */
static void put(struct mailbox *mailbox)
{
	if (mailbox->waiting >= MAILBOX_HOLDS) {
		mailbox->dropped++;
		return;
	}
	mailbox->waiting++;
	if (atomic_exchange(&mailbox->is_empty, 0))
		futex(&mailbox->is_empty, FUTEX_WAKE, 1);
}

static void *task(void *arg)
{
	struct mailbox *mailbox = arg;
	while (!is_over) {
		if (!mailbox->waiting) {
			mailbox->is_empty = 1;
			if (!mailbox->waiting)
				futex(&mailbox->is_empty, FUTEX_WAIT, 1);
			continue;
		}
		mailbox->waiting--;
		burn(TASK_INSTRUCTIONS);
		mailbox->done++;
	}
	return NULL;
}

static void *hog(void *unused)
{
	while (!is_over)
		burn(100000);
	return unused;
}

/* Deals with the packets that come to a socket, in order. */
static void *upcall(void *arg)
{
	static _Thread_local unsigned char packets[MOST_SEGMENTS * PACKET_BYTES * 4];
	int from = *(int *)arg;
	while (!is_over) {
		ssize_t bytes = recv(from, packets, sizeof(packets), 0);
		if (bytes < 0 && errno != EINTR && errno != EAGAIN)
			fail("recv");
		for (ssize_t at = 0; at < bytes && !is_over; at += PACKET_BYTES) {
			burn(UPCALL_INSTRUCTIONS);
			upcalls++;
			put(&streams[packets[at] % STREAMS].mailbox);
		}
	}
	return NULL;
}

/* Sends `count` packets of a stream. A full socket drops them. */
static void send_packets(int socket, unsigned int stream, unsigned long count)
{
	static unsigned char packets[MOST_SEGMENTS * PACKET_BYTES];
	memset(packets, (int)stream, sizeof(packets));
	while (count) {
		unsigned long now = count < MOST_SEGMENTS ? count : MOST_SEGMENTS;
		if (send(socket, packets, now * PACKET_BYTES, 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			fail("send");
		streams[stream].sent += now;
		count -= now;
	}
}

/* A socket to which packets are sent: *to is the one that sends there. */
static int receiver(int *to)
{
	int one = 1, segment = PACKET_BYTES, room = 1 << 20, from = socket(AF_INET, SOCK_DGRAM, 0);
	struct timeval patience = {.tv_usec = 100000};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	*to = socket(AF_INET, SOCK_DGRAM, 0);
	if (from < 0 || *to < 0 || bind(from, (struct sockaddr *)&at, length) ||
	    getsockname(from, (struct sockaddr *)&at, &length) || connect(*to, (struct sockaddr *)&at, length) ||
	    setsockopt(from, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) ||
	    setsockopt(*to, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)) ||
	    setsockopt(from, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) ||
	    setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		fail("sockets");
	return from;
}

static void start(const char *name, void *(*body)(void *), void *arg)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, body, arg) || pthread_setname_np(thread, name))
		fail(name);
}

/* The CPU time of the sender, the kernel's network work included. */
static uint64_t cpu_time_us(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

/* Sends at both rates for this time: in each period, the packets that are due by then. */
static void send_streams(const int *to, long seconds)
{
	struct timespec next;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long period = 1; period <= seconds * 1000000000L / PERIOD_NS; period++) {
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
			;
		for (unsigned int stream = 0; stream < STREAMS; stream++) {
			uint64_t due = streams[stream].rate * (uint64_t)period * PERIOD_NS / 1000000000;
			send_packets(to[stream], stream, due - streams[stream].sent);
		}
	}
}

int main(int argc, char **argv)
{
	int to[STREAMS];
	struct sched_param highest = {.sched_priority = 50};
	if (argc != 5 || (strcmp(argv[1], "one") && strcmp(argv[1], "two"))) {
		fprintf(stderr, "usage: packets one|two RATE RATE SECONDS\n");
		return 2;
	}
	int is_one = !strcmp(argv[1], "one");
	long seconds = atol(argv[4]);
	for (int stream = 0; stream < STREAMS; stream++)
		streams[stream].rate = strtoul(argv[2 + stream], NULL, 10);
	sockets[0] = receiver(&to[0]);
	sockets[1] = sockets[0], to[1] = to[0];
	if (!is_one)
		sockets[1] = receiver(&to[1]);
	start("task 3", hog, NULL);
	start("task 1", task, &streams[0].mailbox);
	start("task 2", task, &streams[1].mailbox);
	start(is_one ? "upcall" : "upcall 1", upcall, &sockets[0]);
	if (!is_one)
		start("upcall 2", upcall, &sockets[1]);
	sleep(1); /* until the threads have their places in the hierarchy */
	if (pthread_setname_np(pthread_self(), "sender") || sched_setscheduler(0, SCHED_FIFO, &highest))
		fail("sched_setscheduler");
	send_streams(to, seconds);
	is_over = 1;
	printf("%llu %llu %llu %llu %llu\n", (unsigned long long)upcalls / seconds,
	       (unsigned long long)streams[0].mailbox.done / seconds,
	       (unsigned long long)streams[1].mailbox.done / seconds,
	       (unsigned long long)cpu_time_us() / seconds / 1000,
	       (unsigned long long)(streams[0].mailbox.dropped + streams[1].mailbox.dropped) / seconds);
	return 0;
}
