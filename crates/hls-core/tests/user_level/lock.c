/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of include/hls_scheduler.h, tried by threads at once: an agent that has turns all the time, and children
 * that take the lock, wait for it, and decide before they block. Nobody schedules them by their pages. Prints how many
 * turns were put off, and fails if two threads were inside at once, or an urgency stays raised.
 */
#define _GNU_SOURCE
#include "hls_scheduler.h"
#include <pthread.h>

#define CHILDREN 3
#define ROUNDS 20000

static struct hls_kernel_page kernel_page;
static struct hls_user_page user_page;
static struct hls_scheduler scheduler;
static unsigned inside; /* how many threads have the lock */
static unsigned ready, done;

/* A thread has the lock; `for_long`, it lets others run meanwhile. */
static void be_inside(int for_long)
{
	if (__atomic_fetch_add(&inside, 1, __ATOMIC_ACQ_REL))
		abort();
	if (for_long)
		sched_yield();
	__atomic_fetch_sub(&inside, 1, __ATOMIC_ACQ_REL);
}

static unsigned first(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	(void)s, (void)cpu;
	be_inside(0);
	return hls_first_slot(candidates);
}

static void urge(struct hls_scheduler *s, unsigned slot)
{
	hls_set_urgency(s, slot, slot);
}

static const struct hls_user_policy policy = {.thread_new = urge, .schedule = first};

static void *child(void *argument)
{
	unsigned slot = (unsigned)(size_t)argument;

	hls_store(&kernel_page.slot[slot].child, (hls_word)syscall(SYS_gettid));
	__atomic_fetch_add(&ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) <= CHILDREN)
		sched_yield();
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned self = hls_lock(&scheduler);
		be_inside(i % 16 == 0);
		hls_unlock(&scheduler, self);
		if (self != slot)
			abort();
		hls_decide_blocking(&scheduler);
	}
	__atomic_fetch_add(&done, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

int main(void)
{
	pthread_t thread[CHILDREN];
	unsigned long put_off = 0, turns = 0;

	kernel_page.wanting = 0xe;
	for (unsigned i = 0; i < CHILDREN; i++)
		pthread_create(&thread[i], NULL, child, (void *)(size_t)(i + 1));
	while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < CHILDREN)
		sched_yield();
	hls_scheduler_init(&scheduler, &policy, NULL, &kernel_page, &user_page);
	kernel_page.cpus = ~0ULL;
	kernel_page.events = 1000; /* the ring has none of them: the slots are looked at */
	__atomic_fetch_add(&ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < CHILDREN) {
		hls_scheduler_turn(&scheduler);
		turns++;
		put_off += hls_load(&user_page.wake_at_ns) != 0;
		sched_yield();
	}
	for (unsigned i = 0; i < CHILDREN; i++)
		pthread_join(thread[i], NULL);
	hls_scheduler_turn(&scheduler);
	for (unsigned slot = 1; slot <= CHILDREN; slot++) {
		if (user_page.urgency[slot] != slot)
			return 1;
	}
	printf("%lu turns, %lu put off\n", turns, put_off);
	return scheduler.lock || scheduler.helped || !put_off;
}
