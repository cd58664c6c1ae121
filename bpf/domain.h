/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What lies in the arena of the kernel engine: the core's struct hls, and the engine's own state of CPUs and threads.
 * User space has all of it mapped, and crates/kernel-engine reads it.
 */
#ifndef HLS_BPF_DOMAIN_H
#define HLS_BPF_DOMAIN_H

#include "../core/call.h"

/* The bits of a VP's number. */
#define VP_NUMBER_BITS 24
_Static_assert(HLS_MAX_VPS <= 1 << VP_NUMBER_BITS, "each VP has a number of its own");

/* Why a thread is urgent (urgent.h): its process was killed, or it holds a lock for which others wait. */
enum urgency { ENDS, HOLDS, URGENCIES };

/* A CPU, as the engine sees it. Times are by the clock of scx_bpf_now(). */
struct engine_cpu {
	u64 lag_ns;        /* last known lag of the thread to which the CPU is granted (clock.h) */
	u64 free_since_ns; /* since when the CPU is given up and waits for a decision; 0: it does not wait */
	u64 timer_at_ns;   /* when the CPU's timer goes off; HLS_NEVER: it is not set */
	u64 wakeups;       /* how often the CPU's timer went off */
	union {
		struct {
			/* The first VP in the list of starved threads to get this CPU for a moment; 0: none. */
			u32 rescue;
			u32 rescued; /* the VP of a thread that has the CPU for a moment (moment.h); 0: none */
		};
		u64 rescues; /* both */
	};
	u64 rescued_since_ns, rescued_until_ns; /* the moment */
	u64 rescued_lag_ns;                     /* the lag of its thread when it began (clock.h) */
	u64 urgent_paid_ns;                     /* up to when urgent threads have used up their rate (urgent.h) */
	u64 kernel_paid_ns; /* up to when the CPU's kernel threads have used up their part (kernel_threads.h) */
	/* The lists of urgent threads that wait for a moment, by enum urgency (urgent.h). */
	union {
		u32 urgent[URGENCIES]; /* the first VP of each; 0: none */
		u64 urgents;           /* both */
	};
	u32 urgent_last[URGENCIES]; /* the last VP of each */
	/* The timer does not wait for the end of the slice: the clock stands still until the granted thread is back. */
	bool slice_waits;
	bool kernel_waits; /* kernel threads wait for the CPU */
	bool is_paid;      /* the moment counts for the rate of urgent threads */
	u8 urgent_turn;    /* enum urgency: the list from which the next urgent thread comes, if it has any */
	u32 turn_first, turn_last,
	    turn_threads; /* of the threads that were chosen for a turn on this CPU (rescue.h) */
};

/* What has happened to a thread; user space looks up the details itself. */
enum thread_change {
	CHANGED_THREAD = 1, /* the VP has another thread than before, or none */
	CHANGED_NAME = 2,
	CHANGED_CGROUP = 4, /* of the thread, or of all threads of its process */
	CHANGED_WEIGHT = 8, /* its weight is to be computed anew */
};

/*
 * A thread, under the number of its VP. This is the authoritative list of threads: user space reads it whenever it has
 * time, whatever happened meanwhile.
 */
struct engine_thread {
	u64 cpus;      /* its affinity, as the core has it; 0: it has left our class a moment ago (errands.h) */
	u32 pid, tgid; /* 0: no thread has the VP */
	/* Counts the threads that have had the VP. With the VP's number it names a thread for good; never 0. */
	u32 generation;
	u32 changes;      /* enum thread_change: what user space has not looked at */
	u32 weights_seen; /* the value of `weights_changed` that its share takes into account */
	/*
	 * Its process is killed; it holds what others wait for; whether it is in one of a CPU's lists of `urgent`, and
	 * the next VP there; enum errand.
	 */
	u32 is_dying : 1, is_holder : 1, is_listed : 1, next_urgent : VP_NUMBER_BITS, errands : 3;
	u64 queued_at_ns; /* since when it is runnable, and in none of the kernel's queues; 0: it is not */
	u64 may_post_at;  /* token bucket: time of the next message in rate; may be ahead by a burst */
	char comm[16];    /* its name (CHANGED_NAME) */
} __attribute__((aligned(64)));

#define CHANGE_WORDS ((HLS_MAX_VPS + 63) / 64)

/* Kernel threads in the hierarchy, by name: a thread matches if its name equals `name` where `mask` has bits. */
#define MAX_BRANDS 16
struct engine_brand {
	u64 name[2], mask[2]; /* a mask of zeroes ends the list */
};

/* A list of the VPs of starved threads, in the order in which they were found (rescue.h). */
struct starved_list {
	u32 first, last, length;
};

struct engine_domain {
	/*
	 * The lock (lock.h): the next ticket in the upper half of the word, the ticket that has it in the lower. On
	 * virtual CPUs, `is_taken`; then `served` counts the holds.
	 */
	union {
		u64 lock;
		u32 served;
	};
	u32 sealed;        /* no CPU gets the lock any more */
	u32 root;          /* the scheduler below which new threads are attached */
	u64 held_since_ns; /* since when the lock is held, where that is timed; else 0 */
	u32 is_taken;
	u32 holder;          /* the CPU that has the lock, where that is timed */
	u64 longest_hold_ns; /* the longest hold that was timed */
	u64 longest_wait_ns; /* for the lock */
	u32 keeper_tgid;     /* the process that must be able to end the run: its threads never wait for a grant */
	u32 service_tgid;    /* the process of `hls` itself: its threads are attached below `service` */
	u32 service;
	u32 has_begun;        /* the engine is attached: its timers run */
	u32 records_stolen;   /* whether stolen time is recorded */
	u32 is_announced;     /* user space was woken, and has not looked at `changed` since */
	u32 nr_threads;       /* threads that have a VP */
	u32 nr_refused;       /* forks that failed, since there was no VP for the thread */
	u32 refused_tgid;     /* the process of the last such fork */
	u32 nr_moves_unnamed; /* processes that moved to another cgroup when their first thread had gone */
	u64 probe_at_ns;      /* when the timer was to go off that is measured (probe.h) */
	u64 probe_late_ns;    /* how late it was, plus 1; 0: it has not gone off */
	u64 cpus_gone;        /* CPUs that the kernel said are going, and that the core still has */
	u64 cpus_back;        /* CPUs that the kernel said are back, and that the core does not have yet */
	u64 rescue_at_ns;     /* when starved threads are looked for next */
	u64 kicked;           /* CPUs that were kicked for a decision that is still due */
	u32 share_param;      /* 1 more than the number of the parameter `share` in `params`; 0: there is none */
	u32 weights_changed;  /* how often a cgroup got another weight; counts round */
	struct engine_brand brand[MAX_BRANDS];
	struct hls_params params;         /* of new threads below `root`, of nice 0 */
	struct hls_params service_params; /* of new threads below `service` */
	struct hls_call call;             /* the call of the core that user space wants made */
	struct hls_params message;        /* payload of the message that is being passed on */
	struct engine_cpu cpu[HLS_MAX_CPUS];
	u64 changed[CHANGE_WORDS]; /* a bit a VP: its thread has `changes` */
	struct hls hls;
	struct engine_thread thread[HLS_MAX_VPS];
	struct hls_params new_params;  /* of the thread that comes */
	u32 first_errand, last_errand; /* list of the VPs with errands; the first is 0: there is none */
	u32 next_errand[HLS_MAX_VPS];
	u64 run_seen_at_ns;             /* when the run was last seen to go on (run.h) */
	u64 looked_at_ns;               /* when the run and starved threads were last looked for */
	struct starved_list starved[2]; /* by whether RCU may wait for the thread (rescue.h) */
	u32 starved_turn;               /* the list from which the next starved thread comes */
	u64 rescue_moment_ns;           /* how long the moment of a starved thread is */
	/* The next VP in its list, or in a CPU's list; RESCUE_END: it is the last; 0: it is in no list. */
	u32 next_starved[HLS_MAX_VPS];
	u64 look_at_ns;                 /* without timers: when the watcher looks next (watch.h) */
	u64 watch_from_ns;              /* the watcher looks no sooner at what holds threads up */
	u32 is_watched;                 /* threads stall, and the watcher looks why */
	u32 wants_watch;                /* threads stall, and it does not yet */
	u64 stalled_at_ns[HLS_MAX_VPS]; /* since when its thread stalls for a kernel lock; 0: it does not */
	u32 reader;                     /* the last thread that had a moment since it may read under a lock */
	u64 holds[HLS_MAX_VPS];         /* the lock for which the VP's thread is_holder, as `blocker` (holders.h) */
};

/* What user space asks of engine_call(). Threads that have hls_post() can only ask for the first. */
enum ask {
	ASK_MESSAGE, /* that their scheduler gets a message */
	ASK_CALL,    /* that the call is made which is in domain->call */
	ASK_WEIGH,   /* that the VP `number` is weighed anew, if its generation is the first value */
	ASK_CHECK,   /* that the invariants are checked */
	ASK_TIMERS,  /* that timers call the functions of this engine */
};

/* A thread's message to its scheduler, from its policy's list, and the answer; or another request of user space. */
struct message {
	u32 number;
	u32 what; /* enum ask; hls_post() sets it */
	u64 value[HLS_VP_PARAMS];
	s64 answer; /* if negative, an enum hls_error */
};

/* The arena's address in user space. Its upper half is the upper half of all pointers into the arena. */
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

/* Whether VP v still belongs to the thread that got it with this generation. */
static __always_inline bool is_still_of(u32 v, u32 generation)
{
	const struct engine_thread __arena *t = &domain->thread[v < HLS_MAX_VPS ? v : 0];
	return t->pid && t->generation == generation;
}

/*
 * The word by which sched_ext keeps a thread's VP for us: its number below, its generation above. The highest byte is
 * for the number of a domain.
 */
static __always_inline u64 vp_word(u32 v, u32 generation)
{
	return (u64)generation << VP_NUMBER_BITS | v;
}

static __always_inline u32 vp_number(u64 word)
{
	return word & ((1 << VP_NUMBER_BITS) - 1);
}

#endif
