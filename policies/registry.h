/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The policies that are built in: one line each, from which the enum, the switches, the names and the Rust side
 * come.
 *
 * P(number, function prefix, CONSTANT prefix, "name in files", most children, joins, strict, near, "what it is",
 * "source")
 *
 * joins: holds VPs of several parents and requests all of them at once. strict: no READY child ever waits beside a
 * RUNNING one that it would preempt; the others look at `preempts` only when a child comes. near: short enough for its
 * hooks to become part of the loops that every switch goes through; see dispatch.h.
 *
 * Numbers are explicit and never used again for another policy: tapes and running kernels know policies by them.
 */
#ifndef HLS_REGISTRY_H
#define HLS_REGISTRY_H

#include "fixed_priority.c"
#include "time_sharing.c"
#include "proportional_share.c"
#include "reservation.c"
#include "join.c"
#include "limit.c"
#include "round_robin.c"

#define HLS_POLICIES(P)                                                                                          \
	P(1, fixed_priority, FIXED_PRIORITY, "fixed-priority", HLS_MAX_VPS, false, true, true,                   \
	  "the highest priority runs; VPs of one level take turns", "HLS, RTSS 2001, section 5.1")               \
	P(2, time_sharing, TIME_SHARING, "time-sharing", HLS_MAX_VPS, false, true, false,                        \
	  "multi-level queue with boosts for those that wake up or starve", "HLS thesis, section 10.5.2")        \
	P(3, proportional_share, PROPORTIONAL_SHARE, "proportional-share", HLS_MAX_VPS, false, false, true,      \
	  "CPU time in proportion to shares: SFQ with warp", "Goyal et al., OSDI 1996; BVT, SOSP 1999")          \
	P(4, reservation, RESERVATION, "reservation", HLS_MAX_VPS, false, true, false,                           \
	  "so much CPU time in every period, hard, by EDF", "HLS, RTSS 2001, section 5.1")                       \
	P(5, join, JOIN, "join", 1, true, false, false, "runs its child when any of its parents gives it a CPU", \
	  "HLS, RTSS 2001, section 5.1")                                                                         \
	P(6, limit, LIMIT, "limit", 1, false, false, false,                                                      \
	  "at most so much CPU time in every period, for one child", "HLS, RTSS 2001, section 5.1")              \
	P(7, round_robin, ROUND_ROBIN, "round-robin", HLS_MAX_VPS, false, false, false, "every child in turn",   \
	  "HLS, RTSS 2001, section 5.4")

#define HLS_POLICY_NUMBER(number, fn, CONST, ...) POLICY_##CONST = number,
enum hls_policy { POLICY_NONE, HLS_POLICIES(HLS_POLICY_NUMBER) };

#endif
