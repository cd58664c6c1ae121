/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Virtual time, for policies that give shares: the CPU time of a VP divided by its share. It counts 1/256 ns of CPU
 * time per unit of share, and wraps: two virtual times are compared as points on a circle.
 */
#ifndef HLS_VIRTUAL_TIME_H
#define HLS_VIRTUAL_TIME_H

#include "policy.h"

#define VIRTUAL_SHIFT 8
/* A virtual time that has not changed for this long is behind, even if a comparison, which wraps, says otherwise. */
#define VIRTUAL_FORGET_NS HLS_S(86400)

static __always_inline bool virtual_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* CPU time as virtual time of a VP with this share, rounded down. */
static __always_inline u64 virtual_of(u64 ns, u64 share)
{
	return (ns << VIRTUAL_SHIFT) / share;
}

/* Up to where a VP has used its share, in virtual time. */
struct virtual_account {
	u64 used;
	u64 rest; /* remainder of the division that made `used`: carried over, so that no share drifts */
};
typedef struct virtual_account __arena virtual_account_t;

/* The VP, which has this share, had used_ns of CPU time. */
static __always_inline void virtual_charge(virtual_account_t *account, u64 share, u64 used_ns)
{
	u64 service = (used_ns << VIRTUAL_SHIFT) + account->rest, quotient = service / share;
	account->used += quotient;
	account->rest = service - quotient * share;
}

/* The VP goes on at the virtual time `at`. */
static __always_inline void virtual_skip_to(virtual_account_t *account, u64 at)
{
	account->used = at;
	account->rest = 0;
}

#endif
