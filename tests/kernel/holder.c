/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a process can do with the pages of a scheduler that were passed on to it; for tests, as root, while hls runs.
 * `holder NAME PARENT PARAMETER VALUE...` has a user's process promote a scheduler NAME below PARENT and pass the
 * descriptors of its pages on to a process of another user, the holder. The holder writes random words into all user
 * pages that it has got, as fast as it can, to the end. Then the owner is killed and an heir takes the scheduler over,
 * or it is demoted and the heir promotes it again: the heir's page must stay as the heir has written it. Nor may the
 * holder write a kernel page, open a map by its number, ask for pages, or come below the scheduler. Says which of these
 * failed.
 */
#define _GNU_SOURCE
#include "include/hls.h"
#include "include/hls_pages.h"
#include "program.h"
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define OWNER 65534 /* `nobody` of the hierarchies of the tests */
#define HOLDER 65533
#define ROUNDS 4
#define ENOUGH_WRITES 1000000
#define A_LITTLE_NS 2000000
#define WORDS (sizeof(struct hls_user_page) / sizeof(hls_word))
#define PATTERN 5 /* in no place a decision, or a child that is held */

enum { OWNERS_END, HOLDERS_END };

static const char *scheduler, *parent;
static const char *const *parameters;
static int passing[2]; /* a pair of sockets */
static pid_t worker;
static struct {
	volatile unsigned held; /* pages that the holder has got */
	volatile unsigned long long writes;
	volatile unsigned promoted, inherited; /* rounds in which that was done */
} *shared;

/* A process of this user, which ends with this one. */
static pid_t start(void (*act)(void), uid_t user)
{
	pid_t process = fork();

	must(process >= 0, "fork");
	if (process)
		return process;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	must(!setresuid(user, user, user), "setresuid");
	/* The change of the user has undone that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	act();
	exit(0);
}

static void *map(int page, size_t size, int protection)
{
	void *memory = mmap(NULL, size, protection, MAP_SHARED, page, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static volatile hls_word *map_user_page(int page)
{
	volatile hls_word *words = map(page, sizeof(struct hls_user_page), PROT_READ | PROT_WRITE);

	must(!!words, "the user page");
	return words;
}

/* The message by which the descriptors go from one process to the other. */
struct parcel {
	struct msghdr message;
	struct iovec part;
	char byte;
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr aligned;
	} control;
};

static void wrap(struct parcel *parcel)
{
	memset(parcel, 0, sizeof(*parcel));
	parcel->part = (struct iovec){&parcel->byte, 1};
	parcel->message = (struct msghdr){.msg_iov = &parcel->part,
					  .msg_iovlen = 1,
					  .msg_control = &parcel->control,
					  .msg_controllen = sizeof(parcel->control)};
}

static void pass_on(const int pages[2])
{
	struct parcel parcel;

	wrap(&parcel);
	struct cmsghdr *header = CMSG_FIRSTHDR(&parcel.message);
	*header = (struct cmsghdr){CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(header), pages, 2 * sizeof(int));
	must(sendmsg(passing[OWNERS_END], &parcel.message, 0) == 1, "sendmsg");
}

/* Takes pages that were passed on; 0: no more have come. */
static int get_pages(int pages[2])
{
	struct parcel parcel;

	wrap(&parcel);
	if (recvmsg(passing[HOLDERS_END], &parcel.message, MSG_DONTWAIT) != 1)
		return 0;
	struct cmsghdr *header = CMSG_FIRSTHDR(&parcel.message);
	must(header && header->cmsg_len == CMSG_LEN(2 * sizeof(int)), "descriptors");
	memcpy(pages, CMSG_DATA(header), 2 * sizeof(int));
	return 1;
}

static long bpf(enum bpf_cmd command, union bpf_attr attributes)
{
	return syscall(SYS_bpf, command, &attributes, sizeof(attributes));
}

/* The number that the kernel knows a map by. */
static unsigned number_of(int page)
{
	struct bpf_map_info info = {0};
	union bpf_attr attributes = {.info = {(unsigned)page, sizeof(info), (uintptr_t)&info}};

	must(!bpf(BPF_OBJ_GET_INFO_BY_FD, attributes), "BPF_OBJ_GET_INFO_BY_FD");
	return info.id;
}

/* What a process with these descriptors, and without rights, may not do. */
static void try_all(const int pages[2])
{
	static struct hls_kernel_page page;
	static const unsigned only;
	union bpf_attr update = {.map_fd = (unsigned)pages[0], .key = (uintptr_t)&only, .value = (uintptr_t)&page};
	int own[2];

	must(!map(pages[0], sizeof(page), PROT_READ | PROT_WRITE), "a kernel page that can be written");
	void *kernel = map(pages[0], sizeof(page), PROT_READ);
	must(kernel && mprotect(kernel, sizeof(page), PROT_READ | PROT_WRITE),
	     "a kernel page that loses its protection");
	must(bpf(BPF_MAP_UPDATE_ELEM, update), "a kernel page that can be updated");
	must(bpf(BPF_MAP_GET_FD_BY_ID, (union bpf_attr){.map_id = number_of(pages[1])}) < 0,
	     "a page by its number");
	must(hls_pages(scheduler, own) && errno == EPERM, "pages of another user's scheduler");
	must(hls_grant(scheduler, getpid(), 0, HLS_SLOTS) && errno == EPERM,
	     "a place below another user's scheduler");
	must(hls_demote(scheduler) && errno == EPERM, "an end of another user's scheduler");
	/* That may succeed: a process that has mapped the page can still write it. */
	bpf(BPF_MAP_FREEZE, (union bpf_attr){.map_fd = (unsigned)pages[1]});
}

static hls_word any_word(void)
{
	static hls_word state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state ^ state >> 29;
}

static void hold(void)
{
	volatile hls_word *held[ROUNDS];
	int pages[2];

	for (unsigned number = 0;;) {
		if (number < ROUNDS && get_pages(pages)) {
			held[number++] = map_user_page(pages[1]);
			try_all(pages);
			shared->held = number;
		}
		for (unsigned i = 0; i < number * 100; i++)
			held[i % number][any_word() % WORDS] = any_word();
		shared->writes += number * 100;
		if (!number)
			sleep_ns(A_LITTLE_NS);
	}
}

static void work(void)
{
	for (;;)
		continue;
}

static void own(void)
{
	int pages[2];

	must(!hls_promote(scheduler, parent, parameters, pages), "promote");
	must(!hls_grant(scheduler, worker, 0, 1), "grant");
	pass_on(pages);
	shared->promoted++;
	for (;;)
		pause();
}

/* The page stays as it is now written, while the holder writes on. */
static void keep(int page)
{
	volatile hls_word *words = map_user_page(page);
	size_t touched = offsetof(struct hls_user_page, touched) / sizeof(hls_word);

	for (size_t i = 0; i < WORDS; i++)
		words[i] = i == touched ? 0 : PATTERN;
	for (unsigned long long end = shared->writes + ENOUGH_WRITES; shared->writes < end;)
		sleep_ns(A_LITTLE_NS);
	for (size_t i = 0; i < WORDS; i++) {
		if (words[i] != (i == touched ? 0 : PATTERN)) {
			printf("word %zu of the heir's page is %llx\n", i, words[i]);
			exit(1);
		}
	}
	shared->inherited++;
}

static void take_over(void)
{
	int pages[2];

	must(!hls_pages(scheduler, pages), "pages");
	must(!hls_grant(scheduler, getpid(), 0, HLS_AGENT), "grant");
	keep(pages[1]);
}

static void promote_again(void)
{
	int pages[2];

	must(!hls_demote(scheduler), "demote");
	must(!hls_promote(scheduler, parent, parameters, pages), "promote");
	must(!hls_grant(scheduler, worker, 0, 1), "grant");
	keep(pages[1]);
}

static void end(pid_t process)
{
	kill(process, SIGKILL);
	waitpid(process, NULL, 0);
}

/* The owner dies and is followed by an heir, or lives on without its scheduler; the holder must live through both. */
static void inherit(unsigned round, int dies)
{
	int status;
	pid_t holder_ended = 0, owner = start(own, OWNER);

	while (shared->held < round || shared->promoted < round) {
		holder_ended = waitpid(-1, &status, WNOHANG);
		must(!holder_ended, "a process");
		sleep_ns(A_LITTLE_NS);
	}
	if (dies)
		end(owner);
	pid_t heir = start(dies ? take_over : promote_again, OWNER);
	must(waitpid(heir, &status, 0) == heir && !status, "an heir");
	end(owner);
	hls_demote(scheduler);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	scheduler = argv[1];
	parent = argv[2];
	parameters = (const char *const *)argv + 3;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED && !socketpair(AF_UNIX, SOCK_DGRAM, 0, passing), "mmap, socketpair");
	worker = start(work, OWNER);
	pid_t holder = start(hold, HOLDER);
	for (unsigned round = 1; round <= ROUNDS; round++)
		inherit(round, round % 2);
	must(!waitpid(holder, NULL, WNOHANG), "the holder");
	printf("%u heirs, beside a holder of %u pages that wrote %llu words\n", shared->inherited, shared->held,
	       shared->writes);
	end(holder);
	end(worker);
	return 0;
}
