/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What lies in the arena of the kernel engine: the core's struct hls, and the engine's own state of CPUs and threads.
 * User space has all of it mapped, and crates/kernel-engine reads it.
 */
#ifndef HLS_BPF_DOMAIN_H
#define HLS_BPF_DOMAIN_H

#include "../core/call.h"

/* A CPU, as the engine sees it. Times are those of scx_bpf_now(). */
struct engine_cpu {
	u64 lag_ns;        /* lag of the thread that the CPU is granted to, when it was last looked at (clock.h) */
	u64 free_since_ns; /* since when the CPU is given up and waits for a decision; 0: it does not */
	u64 timer_at_ns;   /* when the CPU's timer goes off; HLS_NEVER: it is not set */
	u64 wakeups;       /* how often the CPU's timer went off */
	u32 rescue;        /* the VP of a starved thread that is to get the CPU for a moment; 0: none */
	u32 rescued;       /* the VP of a starved thread that has the CPU; 0: none */
	u64 rescued_until_ns; /* until when it has the CPU */
	/* The timer does not wait for the end of the slice: the clock stands still until the granted thread is back. */
	bool slice_waits;
};

/* A thread, under the index of its VP. */
struct engine_thread {
	u64 since; /* when the thread was made: no other thread has the same TID and this */
	u64 cpus;  /* its affinity, as the core has it */
	u32 pid, tgid;
	u64 queued_at_ns; /* since when it is runnable, and in none of the kernel's queues; 0: it is not */
	u64 may_post_at;  /* how far its messages use up its rate: may be ahead of the time by a burst */
};

/* The lock of the domain. Once it is SEALED nothing in the domain changes any more. */
enum { FREE, HELD, SEALED };

struct engine_domain {
	u32 lock;
	u32 root;           /* the scheduler below which new threads are attached */
	u32 own_tgid;       /* the process that must be able to end the run: its threads never wait for a grant */
	u32 has_begun;      /* the engine is attached: its timers run */
	u64 records_stolen; /* whether stolen time is recorded */
	u64 kicked;         /* CPUs that were kicked for a decision that is still due */
	struct hls_params params;  /* of new threads below `root` */
	struct hls_call call;      /* the call of the core that user space wants made */
	struct hls_params message; /* payload of the message that is being passed on */
	struct engine_cpu cpu[HLS_MAX_CPUS];
	struct hls hls;
	struct engine_thread thread[HLS_MAX_VPS];
};

/* A thread's message to its scheduler, from its policy's list, and the policy's answer. */
struct message {
	u32 number;
	u32 unused;
	u64 value[HLS_PARAMS];
	s64 answer; /* a negative one is an enum hls_error */
};

/* The arena's address in user space. Its upper half is that of all pointers into the arena. */
#define DOMAIN_AT (1ULL << 44)
#define DOMAIN_PAGES ((sizeof(struct engine_domain) + 4095) / 4096)

/* The domain, as a pointer of unknown value: with a known one, the compiler would load many constants. */
static __always_inline struct engine_domain __arena *the_domain(void)
{
	struct engine_domain __arena *at = (struct engine_domain __arena *)DOMAIN_AT;
	asm("" : "+r"(at));
	return at;
}
#define domain the_domain()

/*
 * An event that user space hears of, in the order in which events happened: of a thread, or that there are many records
 * to be read, so that user space need not look all the time.
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
	u32 vp; /* of EVENT_THREAD_NEW 0: there was no VP for the thread, and its fork failed */
	u32 pid, tgid;
	char comm[16]; /* of EVENT_THREAD_RENAMED: the new name */
};

#endif
