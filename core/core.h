/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * HLS, the hierarchical scheduler infrastructure (HSI): its data, and the rules for callers of its entry points, which
 * call.h lists.
 *
 * After J. Regehr and J. A. Stankovic, "HLS: A Framework for Composing Soft Real-Time Schedulers", RTSS 2001,
 * section 6. The core is one body of freestanding C: compiled natively it is the simulator's scheduler,
 * compiled as BPF it is the kernel's. It therefore takes the time as an argument, allocates nothing, recurses
 * nowhere, gives every loop a named bound, calls through no pointer that the compiler does not resolve, and refers to
 * things by index into the arrays of one `struct hls`, where index 0 means none, so that zeroed memory is a valid,
 * empty machine.
 *
 * THE RULES for callers of the core
 *
 *  1. One caller at a time. A `struct hls` is one root domain: CPUs that share schedulers. One lock guards it, which
 *     the platform holds around every entry point; the core takes no lock itself.
 *  2. Time never runs backwards between calls on one `struct hls`.
 *  3. After an event, or several at one instant, the platform calls hls_schedule() on every CPU in `kick` until no CPU
 *     is left in it. Only hls_schedule() changes what a CPU runs, so that a migration is one step: a thread is off
 *     its old CPU before another CPU may run it.
 *  4. The platform may say at any time that a CPU goes offline or comes back (hls_offline, hls_online). A CPU that is
 *     offline is granted to no VP: the VPs that had it are READY, and look for another CPU. Affinities stay what they
 *     were; a thread that may use no other CPU waits until the platform changes its affinity, or the CPU is back.
 *  5. The platform calls hls_expire() when a CPU's hls_expires_at() is reached, and hls_timers() when hls_timer_at()
 *     is. It may call late (by a tick), never early.
 *
 * The life of a virtual processor (VP), as its parent scheduler sees it:
 *
 *                 request                 grant
 *      WAITING -------------> READY ----------------> RUNNING
 *         ^                   | ^  \                  |   |
 *         |      release      | |   `---- revoke -----'   |
 *         +-------------------+ | throttled: READY, but   |
 *         |                     '  out of budget          |
 *         +-----------------------------------------------+
 *                            release
 */
#ifndef HLS_CORE_H
#define HLS_CORE_H

#ifdef __bpf__
#include "port/bpf.h"
#else
#include "port/native.h"
#endif

/* Limits. To raise one, change the number here and nowhere else. */
#define HLS_MAX_CPUS 64            /* CPUs of a root domain: the width of a mask of CPUs */
#define HLS_MAX_DEPTH 32           /* levels of schedulers */
#define HLS_MAX_SCHEDULERS 4096    /* schedulers, entry 0 unused */
#define HLS_MAX_VPS (4096 + 65536) /* VPs of schedulers and of threads, entry 0 unused */
#define HLS_MAX_RECORDS 16384      /* records that may wait to be read; a power of two */
#define HLS_MAX_BATCH 4         /* VPs that timers of schedulers may name in a row; then other work comes first */
#define HLS_SCHEDULER_PARAMS 5  /* parameters of a scheduler */
#define HLS_VP_PARAMS 4         /* and of a VP; values of a message */
#define HLS_SCHEDULER_WORDS 102 /* words of 8 bytes that a policy has in each of its schedulers */
#define HLS_VP_WORDS 4          /* and in each VP that such a scheduler schedules */
/* Steps of one scheduling decision: each VP may refuse the CPU, once, for the affinity of the threads below it. */
#define HLS_MAX_STEPS (HLS_MAX_VPS + HLS_MAX_DEPTH)
/* Rounds of one decision: each level may refuse the CPU anew. Only a policy that contradicts itself needs more. */
#define HLS_MAX_ROUNDS (4 * HLS_MAX_DEPTH)

#define HLS_NEVER (~0ULL)

/* Loaded policies have numbers from here on, built-in ones below. */
#define HLS_FIRST_LOADED 64
#define HLS_FIRST_OPTIONAL 8 /* built-in policies from here on may be left out of an engine */

/*
 * The function itself. While registry.h compiles loaded policies, it is checked_FUNCTION, which first checks what the
 * policy asks for (guard.h, guard_queues.h).
 */
#define HLS_GUARD(function) function

/* Part of the condition of each loop: whether it may go on. */
#define can_loop HLS_GUARD(port_can_loop)()

enum hls_state { HLS_WAITING, HLS_READY, HLS_RUNNING };

/* Flags of a VP. */
enum {
	HLS_USED = 1,      /* the entry is taken */
	HLS_THROTTLED = 2, /* READY but out of budget: gets no CPU until the policy unthrottles it */
	HLS_RESUMED = 4,   /* this request goes on where an earlier one was interrupted: see policies/join.c */
	HLS_WATCHED = 8,   /* its changes of state are recorded */
	HLS_YIELDED = 16,  /* the thread has just let others of its scheduler go first */
	/*
	 * It cannot use every CPU: a thread's affinity lacks some, or a scheduler has refused some. While it is READY
	 * it lies in search trees, which find the VPs that can use a CPU, and this flag does not change.
	 */
	HLS_PINNED = 32,
	HLS_SEEKING = 64,   /* in a list: hls.seeking, or the claims of a CPU */
	HLS_STALLED = 128,  /* its last sleep was against its will (hls_stall); until its next release */
	HLS_CHANGING = 256, /* between begin_change() and the next request: neither is recorded */
	HLS_OWES = 512,     /* owed_us is above 0; then it is not RUNNING */
};

/* Whether a thread's VP is suspended (core/suspend.c). */
enum hls_suspension {
	HLS_NOT_SUSPENDED,
	HLS_SUSPENDED,         /* and its thread wants no CPU */
	HLS_SUSPENDED_WANTING, /* and its thread wants a CPU; its scheduler does not know that */
};

/* What a record says about its VP, or about its CPU if `vp` is 0. The numbers are part of the tape format. */
enum hls_record_kind {
	HLS_REC_REQUEST = 1,
	HLS_REC_GRANT,
	HLS_REC_REVOKE,
	HLS_REC_RELEASE,
	HLS_REC_THROTTLE,
	HLS_REC_REPLENISH, /* a: new budget in ns, b: absolute deadline in ns */
	HLS_REC_STOLEN,    /* written by the platform, if at all: a: stolen time in ns; vp: 0 */
	HLS_REC_OFFLINE,   /* the CPU is offline; vp: 0 */
	HLS_REC_ONLINE,    /* the CPU is back; vp: 0 */
	/*
	 * A faulty policy was replaced by the fallback. a: its scheduler; b: enum hls_violation, from bit 8 on enum
	 * hls_hook, and from bit 32 on the VP or CPU that the hook was called about; vp, cpu: 0
	 */
	HLS_REC_FALLBACK,
	HLS_REC_HOLD, /* READY, but the process of its scheduler makes it wait; a: 1 for that process's agent */
	HLS_REC_PAY,  /* it is charged for CPU time that threads below it had without a grant; a: in ns */
};

/*
 * What a scheduler may tell the schedulers above it about itself; it follows from what its children want now. 0: it
 * tells nothing.
 */
enum hls_told {
	HLS_TOLD_DEADLINE, /* the earliest deadline below it, as a time */
	HLS_TOLD_WARP,     /* CPU time by which to treat it as if it were behind, plus 1 ns */
	HLS_NR_TOLD,
};

/* Bits of hls_scheduler.in_pending. */
enum {
	HLS_PENDING = 1,  /* it is in the list hls.pending */
	HLS_HAS_TOLD = 2, /* it has told something new since the schedulers above it last heard */
};

/* Why a call was refused; entry points return these negated. */
enum hls_error {
	HLS_OK,
	HLS_E_FULL,      /* no free entry */
	HLS_E_NOT_FOUND, /* no such scheduler, VP, CPU or policy */
	HLS_E_PARAM,     /* a parameter out of the range that the policy states */
	HLS_E_BUSY,      /* a scheduler with children or a parent; the last CPU online; a new CPU beside VPs */
	HLS_E_CHILDREN,  /* the policy takes no further child */
	HLS_E_DEPTH,     /* the hierarchy would be deeper than HLS_MAX_DEPTH, or have a cycle */
	HLS_E_UNKNOWN,   /* the policy does not know this message */
};

/* A record of what happened; records are in the order of the events. */
struct hls_record {
	u64 at_ns;
	u64 a, b;
	u32 vp;
	u16 cpu;
	u8 kind;
	u8 unused;
};

/* What a VP, or a scheduler, needs as the member of a heap or of a list: see heap.h, list.h and queue.h. */
struct hls_node {
	u64 key;
	u64 seq;
	u64 place; /* in a queue in order of arrival */
	u32 dist;
	u32 left, right, up;
	u32 prev, next;
};

/* What a VP needs as the member of a search tree: see search_tree.h. */
struct hls_tree_node {
	u64 key;
	u64 seq;
	u64 cpus;  /* that it can use */
	u64 below; /* that this VP or a member below it can use */
	u32 child[2], up;
	u32 height; /* 0: it is in no tree */
};

/* A virtual processor (VP): an edge of the hierarchy, from a scheduler to its child: a scheduler or a thread. */
struct hls_vp {
	u32 parent;   /* the scheduler that grants CPUs to it; 0: the machine, which grants a whole CPU */
	u32 child;    /* the scheduler that may use it; 0: it is the VP of a thread */
	u32 up_next;  /* the next of the VPs that the child scheduler holds of its parents (first_up) */
	u32 sib_prev; /* the other VPs of the parent */
	u32 sib_next;
	u32 seeking_next;
	u32 nr_grants;
	u32 nr_revokes; /* how often it lost its CPU while it still wanted it */
	u8 suspension;  /* enum hls_suspension */
	u8 state;       /* enum hls_state */
	u16 flags;
	u16 owed_us; /* CPU time for which its scheduler is charged when it is granted a CPU (debts.c) */
	u8 cpu;      /* the CPU that it has, or had last */
	u8 level;    /* its index in the path of that CPU, while it is RUNNING */
	u64 usable;  /* CPUs that it can use: a thread's affinity; a scheduler's, all but those that it refused */
	u64 granted_at; /* time of its CPU's clock when it was granted or charged last */
	u64 ran_ns;     /* CPU time that it had until granted_at */
	u64 param[HLS_VP_PARAMS];
	u64 word[HLS_VP_WORDS];
};
_Static_assert(sizeof(struct hls_vp) == 128, "a VP fills two cache lines");

/* A scheduler: an instance of a policy. */
struct hls_scheduler {
	u8 policy;         /* 0: the entry is free */
	u8 level;          /* index of its children in a CPU's path, on the longest way to the root */
	u8 in_pending;     /* HLS_PENDING, HLS_HAS_TOLD */
	u8 refused;        /* a VP that it holds refuses some CPU, until another child asks */
	u8 joins;          /* hls_policy.joins of its policy */
	u8 single;         /* it holds one VP, refuses no CPU and does not join: requests have one way up */
	u8 violation;      /* how its loaded policy violated the contract; enum hls_violation in guard.h */
	u8 violating_hook; /* in which hook; enum hls_hook in policy.h */
	u16 nr_up;         /* VPs that it holds of its parents: its ups, listed from first_up */
	u16 nr_requested;  /* of these, those that are READY or RUNNING */
	u32 nr_children;
	u32 nr_ready; /* children that are READY and not throttled */
	u32 nr_running;
	u32 first_up;
	u32 first_child;
	/* The children that want a CPU (wanting.h). */
	u32 pinned;    /* search tree of the children that are counted in nr_ready and pinned */
	u32 nr_pinned; /* its members */
	u32 first_wanting;
	u8 hears; /* whether its policy has the hook `told` */
	u8 slows; /* hls_policy.slows of its policy */
	u8 page;  /* the number of its pages (user_pages.h); 0: it has none */
	u8 pays;  /* for what threads below it have without a grant (debts.c), if no scheduler above it does */
	u32 pending_next;
	u32 violation_about; /* the VP, or of the grant hook the CPU, that the hook was called about */
	u64 timer_at;
	u64 called_at; /* when its policy last had itself called: its timer was due, or a slice of it was over */
	u64 asked_at;  /* when its loaded policy, or the core for the rest of a batch, last set the timer */
	/* What a loaded policy owes for having itself called (guard.h). */
	u64 owed_for_slices_ns;
	u64 owed_for_timer_ns;
	u64 told[HLS_NR_TOLD]; /* what it tells the schedulers above it; enum hls_told */
	u64 param[HLS_SCHEDULER_PARAMS];
	u64 word[HLS_SCHEDULER_WORDS];
};

/* A place in a CPU's path: a VP that the CPU is granted to. */
struct hls_step {
	u64 expires_at;   /* end of the VP's slice, by the CPU's clock */
	u64 first_expiry; /* the least expires_at from the root's place to this one */
	u32 vp;           /* 0: the VP was released, and a decision is due here */
	u32 unused;
};

/* A CPU, and its path: the VPs that it is granted to now, from the root scheduler's down to the thread's. */
struct hls_cpu {
	u64 stolen_ns; /* time of interrupts and of the host: the CPU's clock stands still meanwhile */
	u64 stolen_from_ns, stolen_to_ns; /* the last stretch of such time */
	u32 root_vp;
	u32 depth;   /* entries of path; 0: idle */
	u64 resched; /* bit n: the decision at level n is due */
	u32 claims;  /* list of READY VPs that are to displace a RUNNING VP of this CPU when it decides */
	struct hls_step path[HLS_MAX_DEPTH + 1];
};

/* The first broken invariant that hls_check() found. */
struct hls_fault {
	u32 code; /* enum hls_invariant in check.h; 0: none */
	u32 scheduler;
	u32 vp;
	u32 cpu;
};

/*
 * Parameters of a scheduler or of a VP, or the payload of a message, in the order of the policy's list; the others are
 * 0.
 */
struct hls_params {
	u64 value[HLS_SCHEDULER_PARAMS];
};

/* One root domain: everything that the core knows. */
struct hls {
	u64 now_ns;
	u64 kick;        /* CPUs on which hls_schedule() is due */
	u64 slice_ns;    /* set by a grant hook: CPU time after which the VP that it chose is revoked */
	u64 cpus;        /* CPUs of the domain */
	u64 offline;     /* CPUs that are offline: no scheduler holds their root VPs */
	u64 decisions;   /* how often a grant hook was called */
	u64 cut_short;   /* how often HLS_MAX_ROUNDS ended a decision */
	u64 seq;         /* counts up: orders equal keys, the earlier one first */
	u64 pace_ns;     /* least mean time between calls that a loaded policy causes; 0: HLS_LEAST_PACE */
	u64 pages_taken; /* pages that schedulers have (user_pages.h), a bit each */
	/* The running hook of a loaded policy: when it was called, its remaining steps, and its call (guard.h). */
	u64 hook_at_ns;
	u32 steps;
	u32 hook, hook_scheduler, hook_about;
	u32 has_faulty; /* whether a scheduler waits for the fallback in place of its faulty policy */
	u32 nr_pinned;  /* threads that may not use every CPU */
	u32 pending;    /* list of schedulers that may have to request or withdraw VPs */
	u32 seeking;    /* list of VPs that did not get a CPU, or lost one, and may displace others elsewhere */
	u32 timers;     /* heap of schedulers by timer_at */
	u32 free_vp, free_scheduler;
	u32 used_vps, used_schedulers; /* the greatest index that was ever used, of each */
	u64 nr_records; /* ever written; record n is in record[n % HLS_MAX_RECORDS] until another takes its place */
	/* Room for request_any() and for hls_set_param(): the stack of a BPF program is too small. */
	u32 way[HLS_MAX_DEPTH];
	struct hls_params new_params;
	struct hls_fault fault;
	struct hls_cpu cpu[HLS_MAX_CPUS];
	struct hls_record record[HLS_MAX_RECORDS];
	struct hls_scheduler scheduler[HLS_MAX_SCHEDULERS];
	struct hls_node timer_node[HLS_MAX_SCHEDULERS];
	struct hls_node node[HLS_MAX_VPS];
	struct hls_tree_node queue_node[HLS_MAX_VPS];   /* of the queues of policies (queue.h) */
	struct hls_tree_node wanting_node[HLS_MAX_VPS]; /* of the children that want a CPU (wanting.h) */
	struct hls_vp vp[HLS_MAX_VPS] __attribute__((aligned(64)));
};

/*
 * Every hook begins with the address of a scheduler: its index times this size. The native compiler takes one
 * instruction for that, a multiplication; where it can (960 is 15 * 64) it takes four others instead, which made a
 * decision 30 instructions longer, and 23 more for each further level.
 */
_Static_assert(sizeof(struct hls_scheduler) == 968, "a size by which one instruction multiplies");

typedef struct hls __arena hls_t;
typedef struct hls_vp __arena vp_t;
typedef struct hls_scheduler __arena scheduler_t;
typedef struct hls_cpu __arena cpu_t;
typedef struct hls_step __arena step_t;
typedef struct hls_node __arena node_t;
typedef struct hls_tree_node __arena tree_node_t;
typedef struct hls_params __arena params_t;

/* The children v of the scheduler s, newest first; and the VPs u that s holds of its parents. */
#define for_each_child(h, v, s)                                                                              \
	for (u32 v = (h)->scheduler[s].first_child, n_##v = opaque(0); v && n_##v < HLS_MAX_VPS && can_loop; \
	     v = (h)->vp[v].sib_next, n_##v++)
#define for_each_up(h, u, s)                                                                              \
	for (u32 u = (h)->scheduler[s].first_up, n_##u = opaque(0); u && n_##u < HLS_MAX_VPS && can_loop; \
	     u = (h)->vp[u].up_next, n_##u++)

#endif
