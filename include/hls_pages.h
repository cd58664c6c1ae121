/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two pages by which a scheduler in a process of its own (policy `user-level`) and the engine talk to each other.
 * After G. Parmer and R. West, "Predictable and Configurable Component-Based Scheduling in the Composite OS", ACM TECS
 * 13(1s), 2013, section 2.2, where kernel and schedulers share event structures.
 *
 * Only the engine can write the kernel page: what is in it is true. The process writes the user page. The engine reads
 * each word of the user page once, masks it, and uses it only to choose among the scheduler's own children: a wrong
 * word harms only the scheduler that wrote it.
 *
 * A scheduler's children are in slots. Slot 0 is for the agent, the thread of the process that runs its policy. The
 * agent parks by sched_yield() when it has answered everything; the engine lets it run when it is asked again.
 *
 * A CPU goes, in this order, to:
 *  1. the agent, while it has something to answer, or to do, and CPU time left of its allowance;
 *  2. the child that the decision for this CPU names, if the decision was made after the last event;
 *  3. the child of the greatest urgency.
 *
 * This file is the contract. It includes nothing, and is the same in C and C++, in BPF and natively.
 */
#ifndef HLS_PAGES_H
#define HLS_PAGES_H

#define HLS_PAGES_VERSION 1

#define HLS_SLOTS 64  /* children of a scheduler, the agent included; the width of a mask of slots */
#define HLS_AGENT 0   /* the slot of the agent */
#define HLS_EVENTS 64 /* how many events the ring has: the last ones */

/* All numbers are words of 64 bits: each is read and written whole. Times are in nanoseconds, by the engine's clock. */
typedef unsigned long long hls_word;

/* What can happen to a child, or to the scheduler. What happens to the agent is no event. */
enum hls_event {
	HLS_EVENT_NEW,     /* a child has come */
	HLS_EVENT_REMOVED, /* a child has gone */
	HLS_EVENT_WAKEUP,  /* it wants a CPU now */
	HLS_EVENT_BLOCK,   /* it no longer wants one */
	HLS_EVENT_YIELD,   /* it has let others go first */
	HLS_EVENT_SLICE,   /* its slice is over */
	HLS_EVENT_TIME,    /* the time at which the process wanted to be asked; slot: the agent's */
	HLS_EVENT_OFFLINE, /* its CPU went offline: it wants another one */
	HLS_NR_EVENTS = 8,
};

/* A child, as the engine sees it. */
struct hls_kernel_slot {
	hls_word child;  /* a thread's TID, another number for a scheduler below; 0: the slot is free */
	hls_word ran_ns; /* its CPU time up to when it last lost a CPU */
	hls_word event;  /* the number of its last event */
};

/* An event in the ring: its number from bit 16 on, its kind from bit 8 on, and its slot. */
#define HLS_EVENT_NUMBER(word) ((word) >> 16)
#define HLS_EVENT_KIND(word) (((word) >> 8) & 0xff)
#define HLS_EVENT_SLOT(word) ((word) & 0xff)

/* What the engine writes. */
struct hls_kernel_page {
	hls_word version; /* HLS_PAGES_VERSION */
	hls_word events;  /* number of events so far; of each event this word is written last */
	hls_word asked;   /* the number of the last event that the agent is asked about */
	hls_word wanting; /* a bit a slot: the child has a CPU, or wants one */
	hls_word at_ns;   /* the time of the last event, or of the agent's last grant, if that was later */
	hls_word cpus;    /* CPUs of the hierarchy that are online, a bit each, at the agent's last grant */
	hls_word width;   /* the most CPUs that the scheduler could have at once, at the agent's last grant */
	struct hls_kernel_slot slot[HLS_SLOTS];
	hls_word ring[HLS_EVENTS]; /* event n is in ring[n % HLS_EVENTS], until a later one takes its place */
};

/*
 * A decision: the child that is to have a CPU next. It is followed if it knows the last event; otherwise it is stale.
 * It contains, modulo 2^48, the number of the last event that it knows. The event that it must know:
 *
 *  - without a flag: the scheduler's last event;
 *  - HLS_LOOSE: the last event of the child that it names, whatever happened to others. For several CPUs, each with its
 *    own decisions;
 *  - HLS_AFTER: the coming event of the thread in the slot `decider`, which makes the decision and then blocks or
 *    yields. It is followed if the last event is that one, and has exactly this number.
 */
#define HLS_NAMED 0x1000ULL /* the word is a decision */
#define HLS_LOOSE 0x2000ULL
#define HLS_AFTER 0x4000ULL
#define HLS_DECISION(events, flags, decider, slot) \
	((hls_word)(events) << 16 | HLS_NAMED | (flags) | (hls_word)(decider) << 6 | (hls_word)(slot))
#define HLS_DECISION_EVENTS(word) ((word) >> 16)
#define HLS_DECISION_DECIDER(word) (((word) >> 6) & (HLS_SLOTS - 1))
#define HLS_DECISION_SLOT(word) ((word) & (HLS_SLOTS - 1))

/* Urgencies: 0 is what the hierarchy states for the child. A held child gets no CPU while there is an agent. */
#define HLS_MOST_URGENT 0x7fffffffffffffffULL
#define HLS_HELD 0xffffffffffffffffULL

/*
 * A slice: after this CPU time the child loses its CPU, and there is an event. 0: no slice. The number, modulo 2^16,
 * counts the slices that the child was given: if the number has changed, the child begins a whole slice, otherwise it
 * goes on with what is left.
 */
#define HLS_SLICE(number, ns) ((hls_word)(number) << 48 | (hls_word)(ns))
#define HLS_SLICE_NUMBER(word) ((word) >> 48)
#define HLS_SLICE_NS(word) ((word) & 0xffffffffffffULL)

/* What the process writes. Zeroed, it asks nothing and decides nothing: the urgencies of the hierarchy count. */
struct hls_user_page {
	hls_word answered;           /* the last event that the agent has dealt with */
	hls_word wake_at_ns;         /* when to ask the agent in any case; 0: never */
	hls_word touched;            /* a bit a slot: its urgency has changed; the engine clears the bits */
	hls_word ask[HLS_NR_EVENTS]; /* by enum hls_event, a bit a slot: the agent is asked about such events */
	hls_word next[64];           /* by CPU: the decision */
	hls_word urgency[HLS_SLOTS];
	hls_word slice[HLS_SLOTS];
};

#endif
