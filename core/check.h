/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The invariants of the core, by number and in words. Dumps name the numbers, which are never used again for another
 * invariant.
 */
#ifndef HLS_CHECK_H
#define HLS_CHECK_H

#define HLS_INVARIANTS(I)                                                                                       \
	I(1, STATE, "a VP is waiting, ready or running, nothing else")                                          \
	I(2, PATH, "a running VP is in the path of its CPU, and each CPU's path is one way down the hierarchy") \
	I(3, ONE_CPU, "no VP runs on two CPUs")                                                                 \
	I(4, COUNTS, "a scheduler knows how many of its children are ready and running")                        \
	I(5, HELD, "a scheduler knows how many VPs of its parents it has requested")                            \
	I(6, THROTTLED, "only a ready VP is throttled")                                                         \
	I(7, WANTS, "a scheduler requests a VP for each child that wants a CPU, as far as it has VPs")          \
	I(8, IDLE, "no CPU is idle while a child of its root scheduler could use it")                           \
	I(9, POLICY, "the policy's own invariants hold")                                                        \
	I(10, PRIORITY, "no ready VP waits where it should preempt a running sibling")                          \
	I(12, OFFLINE, "no offline CPU is granted, or requested from the machine")                              \
	I(13, TREE, "a search tree is in order, balanced, and knows which CPUs its members can use")            \
	I(14, PINNED, "a VP is pinned when it cannot use every CPU")                                            \
	I(15, WANTING, "a scheduler's search for children that want a CPU finds exactly these")                 \
	I(16, SUSPENDED, "a suspended VP is a thread's, and waits")                                             \
	I(17, OWES, "a VP that owes CPU time does not run")
/* 11 was about lost records. */

#define HLS_INVARIANT_NUMBER(number, name, doc) HLS_BROKEN_##name = number,
enum hls_invariant { HLS_INVARIANTS(HLS_INVARIANT_NUMBER) };

#endif
