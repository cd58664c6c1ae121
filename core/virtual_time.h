/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Virtual time, for policies that give shares: the CPU time of a VP divided by its share. It counts 1/256 ns of CPU
 * time per unit of share, and wraps: two virtual times are compared as points on a circle.
 */
#ifndef HLS_VIRTUAL_TIME_H
#define HLS_VIRTUAL_TIME_H

#include "policy.h"

#define VIRTUAL_SHIFT 8
/* A virtual time that has not changed for so long is behind, even where a comparison, which wraps, denies it. */
#define VIRTUAL_FORGET_NS HLS_S(86400)

static __always_inline bool virtual_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* How much virtual time this much CPU time is for the VP of such a share, rounded down. */
static __always_inline u64 virtual_of(u64 ns, u64 share)
{
	return (ns << VIRTUAL_SHIFT) / share;
}

#endif
