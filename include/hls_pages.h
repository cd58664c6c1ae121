/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two pages by which a scheduler in a process of its own (policy `user-level`) and the engine talk to each other.
 * After G. Parmer and R. West, "Predictable and Configurable Component-Based Scheduling in the Composite OS", ACM TECS
 * 13(1s), 2013, section 3.3, where kernel and schedulers share event structures.
 *
 * The engine writes the kernel page, and no process can: what stands there is true. The process writes the user page.
 * The engine reads each word of that once, masks it, and uses it for nothing but to choose among the scheduler's own
 * children: a wrong word harms the scheduler that wrote it, and nobody else.
 *
 * A scheduler's children are in slots. Slot 0 is the agent's: the thread of the process that runs its policy. The agent
 * parks by sched_yield() when it has answered all that it was asked; the engine lets it run when it is asked again.
 *
 * Who gets a CPU, in this order:
 *  1. the agent, while it has something to answer, or to do, and CPU time left of its allowance;
 *  2. whom the decision for this CPU names, if that was made after the last event;
 *  3. the child of the greatest urgency.
 *
 * This file is the contract. It includes nothing, and is the same in C and C++, in BPF and natively.
 */
#ifndef HLS_PAGES_H
#define HLS_PAGES_H

#define HLS_PAGES_VERSION 1

#define HLS_SLOTS 64  /* children of a scheduler, the agent included; the width of a mask of slots */
#define HLS_AGENT 0   /* the slot of the agent */
#define HLS_EVENTS 64 /* how many of the last events the ring has */

/* All numbers are words of 64 bits: each is read and written whole. Times are in nanoseconds, by the engine's clock. */
typedef unsigned long long hls_word;

/* What can happen to a child, or to the scheduler. What happens to the agent is no event. */
enum hls_event {
	HLS_EVENT_NEW,     /* a child has come */
	HLS_EVENT_REMOVED, /* a child has gone */
	HLS_EVENT_WAKEUP,  /* it wants a CPU now */
	HLS_EVENT_BLOCK,   /* it wants none any more */
	HLS_EVENT_YIELD,   /* it has let others go first */
	HLS_EVENT_SLICE,   /* its slice is over */
	HLS_EVENT_TIME,    /* the time has come that the process wanted to be asked at; slot: the agent's */
	HLS_EVENT_OFFLINE, /* its CPU went offline: it wants another one */
	HLS_NR_EVENTS = 8,
};

/* A child, as the engine sees it. */
struct hls_kernel_slot {
	hls_word child;  /* a thread's TID, another number for a scheduler below; 0: the slot is free */
	hls_word ran_ns; /* CPU time that it had until it lost a CPU last */
	hls_word event;  /* the number of its last event */
};

/* An event in the ring: its number from bit 16 on, its kind from bit 8 on, and its slot. */
#define HLS_EVENT_NUMBER(word) ((word) >> 16)
#define HLS_EVENT_KIND(word) (((word) >> 8) & 0xff)
#define HLS_EVENT_SLOT(word) ((word) & 0xff)

/* What the engine writes. */
struct hls_kernel_page {
	hls_word version; /* HLS_PAGES_VERSION */
	hls_word events;  /* how many there were; the last word that is written of an event */
	hls_word asked;   /* the number of the last event that the agent is asked about */
	hls_word wanting; /* a bit a slot: the child has a CPU, or wants one */
	hls_word at_ns;   /* the time of the last event, or of the agent's last grant, if that was later */
	hls_word cpus;    /* of the hierarchy that are online, a bit each, at the agent's last grant */
	hls_word width;   /* how many of them the scheduler had at once at most, at the agent's last grant */
	struct hls_kernel_slot slot[HLS_SLOTS];
	hls_word ring[HLS_EVENTS]; /* event n is in ring[n % HLS_EVENTS], until another takes its place */
};

/*
 * A decision: who is to have a CPU next. It is followed if it knows the last event; if not, it is stale. The number in
 * it, modulo 2^48, is that of the last event that it knows:
 *
 *  - as such, of the scheduler;
 *  - HLS_LOOSE: of the child that it names, whatever happened to others. For several CPUs: each has its own decisions;
 *  - HLS_AFTER: of the thread in the slot `decider`, which makes the decision before its event, and then blocks or
 *    yields. It is followed if the last event was that, under the very number.
 */
#define HLS_NAMED 0x1000ULL /* the word is a decision */
#define HLS_LOOSE 0x2000ULL
#define HLS_AFTER 0x4000ULL
#define HLS_DECISION(events, flags, decider, slot) \
	((hls_word)(events) << 16 | HLS_NAMED | (flags) | (hls_word)(decider) << 6 | (hls_word)(slot))
#define HLS_DECISION_EVENTS(word) ((word) >> 16)
#define HLS_DECISION_DECIDER(word) (((word) >> 6) & (HLS_SLOTS - 1))
#define HLS_DECISION_SLOT(word) ((word) & (HLS_SLOTS - 1))

/* Urgencies: 0 is what the hierarchy states for the child. One that is held gets no CPU while there is an agent. */
#define HLS_MOST_URGENT 0x7fffffffffffffffULL
#define HLS_HELD 0xffffffffffffffffULL

/*
 * A slice: after so long the child loses its CPU, and there is an event. 0: it has none. The number, modulo 2^16,
 * counts the slices that the child was given: under another number than before it begins a whole slice, under the same
 * one it goes on with what is left.
 */
#define HLS_SLICE(number, ns) ((hls_word)(number) << 48 | (hls_word)(ns))
#define HLS_SLICE_NUMBER(word) ((word) >> 48)
#define HLS_SLICE_NS(word) ((word) & 0xffffffffffffULL)

/* What the process writes. Zeroed, it asks nothing and decides nothing: urgencies are those of the hierarchy. */
struct hls_user_page {
	hls_word answered;           /* the last event that the agent has dealt with */
	hls_word wake_at_ns;         /* when the agent is to be asked whatever happens; 0: it is not */
	hls_word touched;            /* a bit a slot: its urgency has changed; the engine takes the bits out */
	hls_word ask[HLS_NR_EVENTS]; /* by enum hls_event, a bit a slot: the agent is asked about such events */
	hls_word next[64];           /* by CPU: the decision */
	hls_word urgency[HLS_SLOTS];
	hls_word slice[HLS_SLOTS];
};

#endif
