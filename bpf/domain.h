/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What lies in the arena of the kernel engine: the core's domain, and what the engine keeps beside it of CPUs and
 * threads. User space has all of it mapped; crates/kernel-engine reads it.
 */
#ifndef HLS_BPF_DOMAIN_H
#define HLS_BPF_DOMAIN_H

#include "../core/call.h"

/* A CPU, as the engine sees it. Times are those of scx_bpf_now(). */
struct engine_cpu {
	u64 lag_ns; /* how far the CPU time of the thread that has been granted the CPU lagged behind the clock */
	u64 free_since_ns;    /* since when it is given up and not decided on yet; 0: it is not */
	u64 timer_at_ns;      /* when its timer goes off; HLS_NEVER: it is not set */
	u64 wakeups;          /* how often its timer went off */
	u32 rescue;           /* the VP of a starved thread that is to have the CPU for a moment */
	u32 rescued;          /* that has it, */
	u64 rescued_until_ns; /* and until when */
	/* Its clock stands still, so that the end of its slice is not waited for, until the granted thread is back. */
	bool slice_waits;
};

/* A thread, under the index of its VP. */
struct engine_thread {
	u64 since; /* when it came into being: no other thread has its TID and this */
	u64 cpus;  /* its affinity, as the core knows it */
	u32 pid, tgid;
	u64 queued_at_ns; /* since when it is runnable and nowhere in the kernel's queues: in our hands; 0: it is not */
	u64 may_post_at; /* it has told its scheduler so much that more than a burst has to wait until then */
};

/* The lock of the domain. Once it is sealed nothing there changes any more. */
enum { FREE, HELD, SEALED };

struct engine_domain {
	u32 lock;
	u32 root;                  /* the scheduler below which new threads are hung */
	u32 own_tgid;              /* the process that must be able to end all this: its threads never wait */
	u32 has_begun;             /* it is attached, and so there are timers */
	u64 records_stolen;        /* whether there are to be records of stolen time */
	u64 kicked;                /* CPUs that have been told that a decision is due */
	struct hls_params params;  /* of new threads there */
	struct hls_call call;      /* what user space asks for */
	struct hls_params message; /* what a thread tells its scheduler */
	struct engine_cpu cpu[HLS_MAX_CPUS];
	struct hls hls;
	struct engine_thread thread[HLS_MAX_VPS];
};

/* What a thread tells its scheduler, in the terms of its policy, and what that answers. */
struct message {
	u32 number;
	u32 unused;
	u64 value[HLS_PARAMS];
	s64 answer; /* if negative an enum hls_error */
};

/* The arena's address in user space, and so the upper half of its pointers. */
#define DOMAIN_AT (1ULL << 44)
#define DOMAIN_PAGES ((sizeof(struct engine_domain) + 4095) / 4096)

/* The domain, as a pointer that the compiler does not see through: it makes one register of it, not many constants. */
static __always_inline struct engine_domain __arena *the_domain(void)
{
	struct engine_domain __arena *at = (struct engine_domain __arena *)DOMAIN_AT;
	asm("" : "+r"(at));
	return at;
}
#define domain the_domain()

/*
 * What user space is told of threads, in the order in which it happened; and, so that it need not look all the time,
 * that there are many records to be read.
 */
enum event_kind {
	EVENT_THREAD_NEW = 1,
	EVENT_THREAD_GONE,
	EVENT_THREAD_RENAMED,
	EVENT_THREAD_MOVED,
	EVENT_RECORDS
};
struct event {
	u32 kind;
	u32 vp; /* of EVENT_THREAD_NEW 0: there was no room for it */
	u32 pid, tgid;
	char comm[16]; /* of EVENT_THREAD_RENAMED: the name */
};

#endif
