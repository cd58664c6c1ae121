/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * HLS: the hierarchical scheduler infrastructure (HSI), its data and its entry points.
 *
 * After J. Regehr and J. A. Stankovic, "HLS: A Framework for Composing Soft Real-Time Schedulers", RTSS 2001,
 * section 6. The core is one body of freestanding C: compiled natively it is the simulator's scheduler,
 * compiled as BPF it is the kernel's. It therefore takes the time as an argument, allocates nothing, recurses
 * nowhere, gives every loop a named bound, calls through no pointer that the compiler does not resolve, and refers to
 * things by index into the arrays of one `struct hls`, where index 0 means none, so that zeroed memory is a valid,
 * empty machine.
 *
 * THE RULES for whoever calls the core
 *
 *  1. One caller at a time. All of a `struct hls` is one root domain, and is guarded by one lock that the platform
 *     holds around every entry point. The core takes no lock itself.
 *  2. Time never runs backwards between calls on one `struct hls`.
 *  3. After an event, or several at one instant, the platform calls hls_schedule() on every CPU in `kick` until none
 *     is left there. Only hls_schedule() changes what a CPU runs, so that a migration is one step: the thread is off
 *     its old CPU before any other may be told to run it.
 *  4. The platform may say at any time that a CPU goes or comes back (hls_offline, hls_online). One that is offline is
 *     granted to nobody: who had it is READY, and looks for another CPU. Affinities stay what they were; a thread that
 *     may use no other CPU waits until the platform gives it another affinity, or the CPU is back.
 *  5. The platform calls hls_expire() when hls_expires_at() is reached on a CPU, and hls_timers() when
 *     hls_timer_at() is. It may be late (a tick); it must not be early.
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
#ifndef HLS_H
#define HLS_H

#ifdef __bpf__
#include "port/bpf.h"
#else
#include "port/native.h"
#endif

/* Limits. A reader that needs more changes the number here and nowhere else. */
#define HLS_MAX_CPUS 64            /* CPUs of one root domain: the width of a mask */
#define HLS_MAX_DEPTH 32           /* levels of schedulers */
#define HLS_MAX_SCHEDULERS 4096    /* instances, entry 0 unused */
#define HLS_MAX_VPS (4096 + 65536) /* edges to schedulers and to threads, entry 0 unused */
#define HLS_MAX_RECORDS 16384      /* records that may wait to be read; a power of two */
#define HLS_MAX_BATCH 1024         /* VPs that one call of a timer hook looks after; the rest are due again */
#define HLS_PARAMS 4               /* parameters of a scheduler, and of a VP */
#define HLS_SCHEDULER_WORDS 104    /* a policy's own words in each of its schedulers */
#define HLS_VP_WORDS 4             /* a policy's own words in each VP that it schedules */
#define HLS_MAX_STEPS (64 * HLS_MAX_DEPTH) /* steps of one scheduling decision, refusals for affinity included */

#define HLS_NEVER (~0ULL)

/* The policies that were loaded have numbers from here on. */
#define HLS_FIRST_LOADED 64

/*
 * The function itself. While registry.h has loaded policies compiled it makes it checked_FUNCTION, which looks at what
 * the policy asks for first (guard.h, guard_queues.h).
 */
#define HLS_GUARD(function) function

/* Part of the condition of each loop: whether it may go on. */
#define can_loop HLS_GUARD(port_can_loop)()

enum hls_state { HLS_WAITING, HLS_READY, HLS_RUNNING };

/* Flags of a VP. */
enum {
	HLS_USED = 1,      /* the entry is taken */
	HLS_THROTTLED = 2, /* READY but out of budget: asks for no CPU until the policy's timer says so */
	HLS_RESUMED = 4,   /* this request goes on where an earlier one was interrupted: see join */
	HLS_WATCHED = 8,   /* its changes of state are recorded */
	HLS_YIELDED = 16,  /* the thread has just said that others may go first */
	HLS_PINNED = 32,   /* a thread that may not use every CPU */
	HLS_SEEKING = 64,  /* in a list of VPs that claim a CPU or seek another one */
};

/* What a record tells. The numbers are part of the tape format. */
enum hls_record_kind {
	HLS_REC_REQUEST = 1,
	HLS_REC_GRANT,
	HLS_REC_REVOKE,
	HLS_REC_RELEASE,
	HLS_REC_THROTTLE,
	HLS_REC_REPLENISH, /* a: new budget in ns, b: absolute deadline in ns */
	HLS_REC_STOLEN,    /* by the platform, where it tells such things: others had the CPU for a ns; vp: 0 */
	HLS_REC_OFFLINE,   /* the CPU has gone; vp: 0 */
	HLS_REC_ONLINE,    /* it is back; vp: 0 */
	/*
	 * a: scheduler whose policy was replaced by a fallback; b: enum hls_violation, from bit 8 on enum hls_hook,
	 * and from bit 32 on the VP or CPU that it was about; vp, cpu: 0
	 */
	HLS_REC_FALLBACK,
};

/* Why a call was refused; entry points return these negated. */
enum hls_error {
	HLS_OK,
	HLS_E_FULL,      /* no free entry */
	HLS_E_NOT_FOUND, /* no such scheduler, VP, CPU or policy */
	HLS_E_PARAM,     /* a parameter out of the range that the policy states */
	HLS_E_BUSY,      /* still has children, is still held by a parent, or is the last CPU */
	HLS_E_CHILDREN,  /* the policy takes no further VP */
	HLS_E_DEPTH,     /* would be deeper than HLS_MAX_DEPTH, or a cycle */
	HLS_E_UNKNOWN,   /* the policy does not know this message */
};

/* A change of state, in the order in which it happened. */
struct hls_record {
	u64 at_ns;
	u64 a, b;
	u32 vp;
	u16 cpu;
	u8 kind;
	u8 unused;
};

/* A member of a heap or of a list; see heap.h and list.h. */
struct hls_node {
	u64 key;
	u32 seq;
	u32 dist;
	u32 left, right, up;
	u32 prev, next;
};

/* A virtual processor: an edge of the hierarchy; without a child scheduler it stands for a thread. */
struct hls_vp {
	u32 parent;   /* the scheduler above; 0: the machine, which grants a whole CPU */
	u32 child;    /* the scheduler below; 0: this is a thread */
	u32 up_next;  /* next VP that the child scheduler holds of its parents */
	u32 sib_prev; /* other children of the parent */
	u32 sib_next;
	u32 seeking_next;
	u32 nr_grants;
	u32 nr_revokes; /* CPUs lost for good while it wanted to go on */
	u32 unused;
	u8 state; /* enum hls_state */
	u8 flags;
	u8 cpu;         /* where it runs, or ran last */
	u8 level;       /* its index in the path of that CPU while it is RUNNING */
	u64 usable;     /* CPUs that are of use to it: a thread's affinity; all but those that its child refused */
	u64 granted_at; /* clock of its CPU when it was granted or charged last */
	u64 ran_ns;     /* CPU time it had up to then */
	u64 param[HLS_PARAMS];
	u64 word[HLS_VP_WORDS];
};
_Static_assert(sizeof(struct hls_vp) == 128, "a VP fills two cache lines");

/* A scheduler: an instance of a policy. */
struct hls_scheduler {
	u8 policy; /* 0: the entry is free */
	u8 level;  /* where its children are in a CPU's path, on the longest way to the root */
	u8 in_pending;
	u8 refused;   /* some VP of it refuses some CPU, until another child comes */
	u8 joins;     /* its policy holds VPs of several parents and requests all of them at once */
	u8 single;    /* it holds one VP, refuses no CPU and does not join: it has nothing to choose among */
	u8 violation; /* what its policy, that was loaded, did against the contract; enum hls_violation in guard.h */
	u8 violating_hook; /* in which of its hooks; enum hls_hook there */
	u16 nr_up;         /* VPs that it holds of its parents */
	u16 nr_requested;  /* of these, READY or RUNNING */
	u32 nr_children;
	u32 nr_ready; /* children that are READY and not throttled */
	u32 nr_running;
	u32 first_up;
	u32 first_child;
	u32 pending_next;
	u32 violation_about; /* the VP or, to the grant hook, the CPU that this was about */
	u64 timer_at;
	u64 called_at; /* when its policy was called of its own will last: its timer was due, or a slice was over */
	u64 asked_at;  /* when a loaded policy has set its timer last */
	/* What a loaded policy owes for such calls (guard.h). */
	u64 owed_for_slices_ns;
	u64 owed_for_timer_ns;
	u64 param[HLS_PARAMS];
	u64 word[HLS_SCHEDULER_WORDS];
};

/* One of the VPs that a CPU is granted to. */
struct hls_step {
	u64 expires_at;   /* end of its slice, by the CPU's clock */
	u64 first_expiry; /* the least of these from the root's to this one */
	u32 vp;           /* 0: it has been released, and the decision is due */
	u32 unused;
};

/* A physical CPU and the VPs, from the root's down to the thread's, that it is granted to now. */
struct hls_cpu {
	u64 stolen_ns; /* time that interrupts and the host took: the CPU's clock stands still in it */
	u32 root_vp;
	u32 depth;   /* entries of path; 0: idle */
	u64 resched; /* bit n: the decision at level n is due */
	u32 claims;  /* list of VPs that are to displace one that runs here, when the decision is taken */
	struct hls_step path[HLS_MAX_DEPTH + 1];
};

/* The first broken invariant that hls_check() found. */
struct hls_fault {
	u32 code; /* enum hls_invariant in check.h; 0: none */
	u32 scheduler;
	u32 vp;
	u32 cpu;
};

/* Parameters of a new scheduler or VP, or what a message carries, in the order of the policy's list. */
struct hls_params {
	u64 value[HLS_PARAMS];
};

/* One root domain: everything that the core knows. */
struct hls {
	u64 now_ns;
	u64 kick;       /* CPUs on which hls_schedule() is due */
	u64 slice_ns;   /* answer of a grant hook beside the VP: how long until it wants to be asked again */
	u64 cpus;       /* CPUs that there are */
	u64 offline;    /* of these, the ones that are not there now: their root VPs are held by nobody */
	u64 decisions;  /* grant hooks called */
	u64 pace_ns;    /* a loaded policy may have itself called once in it, for long; 0: HLS_LEAST_PACE */
	u64 hook_at_ns; /* when the hook at hand of a loaded policy was called, */
	u32 steps;      /* the steps that it has left, */
	u32 hook, hook_scheduler, hook_about; /* which it is, whose, and about which VP or CPU */
	u32 has_faulty;                       /* whether some scheduler is to be taken out */
	u32 nr_pinned;                        /* threads that may not use every CPU */
	u32 seq;
	u32 pending; /* schedulers that have VPs to request or to withdraw */
	u32 seeking; /* VPs that did not get, or lost, one CPU and might displace others on another */
	u32 timers;  /* heap of schedulers by timer_at */
	u32 free_vp, free_scheduler;
	u32 used_vps, used_schedulers; /* high-water marks */
	u64 nr_records; /* ever written; the last HLS_MAX_RECORDS of them are in `record`, each in its turn */
	/* Room for place() and for hls_message(): the stack of a BPF program is too small. */
	u32 way[HLS_MAX_DEPTH];
	struct hls_params asked;
	struct hls_fault fault;
	struct hls_cpu cpu[HLS_MAX_CPUS];
	struct hls_record record[HLS_MAX_RECORDS];
	struct hls_scheduler scheduler[HLS_MAX_SCHEDULERS];
	struct hls_node timer_node[HLS_MAX_SCHEDULERS];
	struct hls_node node[HLS_MAX_VPS];
	struct hls_vp vp[HLS_MAX_VPS] __attribute__((aligned(64)));
};

typedef struct hls __arena hls_t;
typedef struct hls_vp __arena vp_t;
typedef struct hls_scheduler __arena scheduler_t;
typedef struct hls_cpu __arena cpu_t;
typedef struct hls_step __arena step_t;
typedef struct hls_node __arena node_t;
typedef struct hls_params __arena params_t;

/* Building and changing the hierarchy. Each returns an index or 0, or an enum hls_error negated. */
s64 hls_add_cpu(hls_t *h, u32 cpu);
s64 hls_create_scheduler(hls_t *h, u32 policy, const params_t *params);
s64 hls_destroy_scheduler(hls_t *h, u32 s);
s64 hls_attach_root(hls_t *h, u32 s, u32 cpu);
s64 hls_attach(hls_t *h, u32 parent, u32 child, const params_t *params);
s64 hls_detach(hls_t *h, u32 vp, u64 now_ns);
s64 hls_move(hls_t *h, u32 vp, u32 parent, const params_t *params, u64 now_ns);
s64 hls_set_affinity(hls_t *h, u32 vp, u64 cpus, u64 now_ns);
s64 hls_watch(hls_t *h, u32 vp, u32 on);
s64 hls_replace(hls_t *h, u32 s, u32 policy, const params_t *params, u64 now_ns);
s64 hls_set_pace(hls_t *h, u64 pace_ns);

/* A CPU goes, and comes back. No effect where it has already. */
s64 hls_offline(hls_t *h, u32 cpu, u64 now_ns);
s64 hls_online(hls_t *h, u32 cpu, u64 now_ns);

/* What happens to threads. These and those below return `kick`: the CPUs on which hls_schedule() is due. */
u64 hls_request(hls_t *h, u32 vp, u64 now_ns);
u64 hls_release(hls_t *h, u32 vp, u64 now_ns);
u64 hls_yield(hls_t *h, u32 vp, u64 now_ns);
s64 hls_message(hls_t *h, u32 vp, u32 param, u64 value, u64 now_ns);
s64 hls_tell(hls_t *h, u32 vp, u32 message, const params_t *payload, u64 now_ns);

/* What happens to time. What is stolen is stolen since the last charge there: a CPU's clock never runs backwards. */
u64 hls_expire(hls_t *h, u32 cpu, u64 now_ns);
u64 hls_timers(hls_t *h, u64 now_ns);
u64 hls_steal(hls_t *h, u32 cpu, u64 length_ns);
u64 hls_expires_at(hls_t *h, u32 cpu);
u64 hls_timer_at(hls_t *h);

/* The decision: what `cpu` runs from now on; a thread's VP, or 0 for nothing. */
u32 hls_schedule(hls_t *h, u32 cpu, u64 now_ns);

/* Whether all is as it must be; enum hls_invariant, 0 when it is. */
u32 hls_check(hls_t *h);

#endif
