/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The share of a thread that was not placed explicitly, from the weights of the thread and of its cgroups. Pure
 * arithmetic: relies on nothing of the kernel.
 */
#ifndef HLS_BPF_SHARES_H
#define HLS_BPF_SHARES_H

#include "../core/core.h"

/* Weights are the fair class's. The weights of sched_ext, 1 for nice 19 and 2 for nice 17, are too coarse. */
#define NICE_0_WEIGHT 1024
#define IDLE_WEIGHT 3 /* of SCHED_IDLE */
#define MAX_NICE_STEPS 20
#define CGROUP_WEIGHT 100 /* the default weight of a cgroup */
#define MAX_SHARE 131072

/* While weights are applied, a share has SHARE_BITS bits behind the point, and is cut to MOST_WITH_BITS. */
#define SHARE_BITS 16
#define MOST_WITH_BITS (1ULL << 50)

/* The weight of a thread by its nice value: 1.25 times less with each step. */
static __always_inline u32 weight_of_nice(s64 nice)
{
	u64 weight = NICE_0_WEIGHT << 16;
	for (u32 i = opaque(0); i < MAX_NICE_STEPS && nice && can_loop; i++) {
		weight = nice > 0 ? weight * 4 / 5 : weight * 5 / 4;
		nice += nice > 0 ? -1 : 1;
	}
	return (weight + (1 << 15)) >> 16;
}

/* The share of a thread of this weight outside all cgroups, with SHARE_BITS. `share` is the share of nice 0. */
static __always_inline u64 share_of_weight(u64 share, u32 weight)
{
	return ((share * weight) << SHARE_BITS) / NICE_0_WEIGHT;
}

/* The share, with SHARE_BITS, of a thread in a cgroup of this weight; outside of the cgroup it would have `share`. */
static __always_inline u64 share_in_cgroup(u64 share, u32 weight)
{
	share = share * weight / CGROUP_WEIGHT;
	return share < MOST_WITH_BITS ? share : MOST_WITH_BITS;
}

/* The share without SHARE_BITS: the nearest value that proportional share accepts. */
static __always_inline u64 rounded_share(u64 share)
{
	share = (share + (1 << (SHARE_BITS - 1))) >> SHARE_BITS;
	if (share > MAX_SHARE)
		return MAX_SHARE;
	return share ? share : 1;
}

#endif
