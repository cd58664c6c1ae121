/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that send their scheduler too many messages, and wrong ones; for tests. The scheduler has the policy
 * asked-times.
 *
 *	teller storm SCHEDULER SECONDS   four threads, each as fast as it can; prints the results
 *	teller storm SCHEDULER 0         until they have no such scheduler any more
 *	teller hostile SCHEDULER         what must be refused, and the error of each; exit status 1: something was not
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

/* The first message of asked-times: run this thread after this delay, and not before; at most an hour. */
#define RUN_IN 0
#define MS UINT64_C(1000000)
#define HOUR (3600 * 1000 * MS)
#define THREADS 4

static const char *scheduler;
static int messenger;
static time_t end;

struct talk {
	pthread_t thread;
	uint64_t delay_ns, done, busy, unknown;
	int error; /* another one */
};

static int64_t tell(uint32_t number, uint64_t first, uint64_t second)
{
	const uint64_t values[4] = {first, second, 0, 0};

	errno = 0;
	return hls_tell(messenger, number, values);
}

static void *talk(void *argument)
{
	struct talk *talk = argument;

	if (hls_move(scheduler)) {
		talk->error = errno;
		return NULL;
	}
	while (end ? time(NULL) < end : !talk->unknown) {
		if (tell(RUN_IN, talk->delay_ns, 0) >= 0)
			talk->done++;
		else if (errno == EBUSY)
			talk->busy++;
		else if (errno == ENOSYS)
			talk->unknown++;
		else
			talk->error = errno;
	}
	return NULL;
}

static int storm(int seconds)
{
	struct talk talks[THREADS] = {{.delay_ns = 0}, {.delay_ns = 0}, {.delay_ns = 1000}, {.delay_ns = MS}};
	int failed = 0;

	end = seconds ? time(NULL) + seconds : 0;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&talks[i].thread, NULL, talk, &talks[i]))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		const struct talk *t = &talks[i];
		pthread_join(t->thread, NULL);
		printf("%" PRIu64 " done, %" PRIu64 " busy, %" PRIu64 " unknown, %s\n", t->done, t->busy,
		       t->unknown, strerror(t->error));
		failed |= t->error != 0;
	}
	return failed;
}

/* Misuses the system call; returns its error, or 0. */
static int raw(const void *context, size_t size, int (*more)(union bpf_attr *))
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.test.prog_fd = (uint32_t)messenger;
	attributes.test.ctx_in = (uint64_t)(uintptr_t)context;
	attributes.test.ctx_size_in = (uint32_t)size;
	if (more)
		more(&attributes);
	errno = 0;
	return syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attributes, sizeof(attributes)) ? errno : 0;
}

static int with_data(union bpf_attr *attributes)
{
	attributes->test.data_in = attributes->test.ctx_in;
	attributes->test.data_size_in = 48;
	return 0;
}

static int again_and_again(union bpf_attr *attributes)
{
	attributes->test.repeat = UINT32_MAX;
	return 0;
}

static int elsewhere(union bpf_attr *attributes)
{
	attributes->test.flags = BPF_F_TEST_RUN_ON_CPU;
	attributes->test.cpu = 1;
	return 0;
}

static int failures;

static void expect(const char *what, int found, int expected)
{
	if (found == expected)
		return;
	printf("%s: found %s, expected %s\n", what, strerror(found), strerror(expected));
	failures++;
}

/* Gives the bucket of messages time to leak. */
static void wait_a_bit(void)
{
	const struct timespec bit = {0, 5 * (long)MS};
	nanosleep(&bit, NULL);
}

static int told(uint32_t number, uint64_t first, uint64_t second)
{
	return tell(number, first, second) < 0 ? errno : 0;
}

/* Of a thread below a scheduler of asked-times. */
static void abuse_messages(void)
{
	expect("a message", told(RUN_IN, 0, 0), 0);
	expect("a second message", told(RUN_IN + 1, 0, 0), ENOSYS);
	expect("the last message", told(UINT32_MAX, 0, 0), ENOSYS);
	expect("a number with a sign", told(1U << 31, 0, 0), ENOSYS);
	expect("more than an hour", told(RUN_IN, HOUR + 1, 0), EINVAL);
	expect("for ever", told(RUN_IN, UINT64_MAX, 0), EINVAL);
	expect("a field too many", told(RUN_IN, 0, 1), EINVAL);
}

static void abuse_memory(void)
{
	static uint64_t context[8192 + 1];
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page + 4096, 4096);
	expect("no memory", raw(NULL, 48, NULL), EINVAL);
	expect("no size", raw(context, 0, NULL), EINVAL);
	expect("a short one", raw(context, 47, NULL), EINVAL);
	expect("one of 64 KiB", raw(context, 65536, NULL), EINVAL);
	expect("one of 4 GiB", raw(context, UINT32_MAX, NULL), EINVAL);
	expect("memory that ends", raw(page + 4096 - 47, 48, NULL), EFAULT);
	expect("memory of the kernel", raw((void *)(UINTPTR_MAX - 4095), 48, NULL), EFAULT);
	expect("data", raw(context, 48, with_data), EINVAL);
	expect("on another CPU", raw(context, 48, elsewhere), EINVAL);
	expect("again and again", raw(context, 48, again_and_again), EINVAL);
	wait_a_bit();
	expect("a longer one", raw(context, 65535, NULL), 0);
	expect("an odd place", raw((char *)context + 1, 48, NULL), 0);
}

/* Without rights, and with what is not the messenger's to do. */
static void abuse_rights(void)
{
	union bpf_attr attributes;
	int status = -1;
	pid_t child = fork();

	if (!child) {
		struct timespec second = {1, 0};
		failures = 0;
		if (setuid(65534))
			_exit(1);
		nanosleep(&second, NULL);
		expect("a thread of no such scheduler", told(RUN_IN, 0, 0), ENOSYS);
		memset(&attributes, 0, sizeof(attributes));
		attributes.prog_id = 1;
		expect("another program",
		       syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attributes, sizeof(attributes)) ? errno : 0, EPERM);
		expect("the scheduler of others", hls_move(scheduler) ? errno : 0, EPERM);
		fflush(stdout);
		_exit(failures > 0);
	}
	waitpid(child, &status, 0);
	failures += status != 0;
}

static int hostile(void)
{
	expect("before it is anywhere", told(RUN_IN, 0, 0), ENOSYS);
	if (hls_move(scheduler))
		return 1;
	abuse_messages();
	abuse_memory();
	abuse_rights();
	if (hls_release())
		return 1;
	expect("when it is nowhere again", told(RUN_IN, 0, 0), ENOSYS);
	return failures > 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	scheduler = argv[2];
	messenger = hls_messenger();
	if (messenger < 0) {
		perror("no messenger");
		return 1;
	}
	if (!strcmp(argv[1], "hostile"))
		return hostile();
	return argc == 4 && !strcmp(argv[1], "storm") ? storm(atoi(argv[3])) : 2;
}
