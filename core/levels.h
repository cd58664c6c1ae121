/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue of READY VPs for each of 64 levels, the highest level first, in order of arrival within one: for policies
 * that choose by priority. A VP is in one queue at most, and its policy knows at which level.
 *
 * Invariant: bit n of `occupied` is set exactly when the queue of level n has a member.
 */
#ifndef HLS_LEVELS_H
#define HLS_LEVELS_H

#include "policy.h"

#define HLS_LEVELS 64

struct hls_levels {
	u64 occupied;
	struct hls_list queue[HLS_LEVELS];
};
typedef struct hls_levels ARENA levels_t;

/* Puts a VP behind the others of its level, or before them. */
static inline void levels_push(node_t *nodes, levels_t *levels, u64 level, u32 v, bool behind)
{
	if (behind)
		list_push_tail(nodes, &levels->queue[level], v);
	else
		list_push_head(nodes, &levels->queue[level], v);
	levels->occupied |= 1ULL << level;
}

static inline void levels_remove(node_t *nodes, levels_t *levels, u64 level, u32 v)
{
	list_remove(nodes, &levels->queue[level], v);
	if (!levels->queue[level].head)
		levels->occupied &= ~(1ULL << level);
}

/* The first VP of the highest level that can use the CPU; 0: none. */
HLS_ONCE u32 levels_first_usable(hls_t *h ARENA_ARG, const levels_t *levels ARENA_ARG, u32 cpu)
{
	u64 occupied = levels->occupied;
	for (u32 i = from(0); i < HLS_LEVELS && occupied && can_loop; i++) {
		u32 level = hls_top_bit(occupied);
		u32 v = hls_first_usable(h, &levels->queue[level], cpu);
		if (likely(v))
			return v;
		occupied &= ~(1ULL << level);
	}
	return 0;
}

static inline bool levels_are_sound(const levels_t *levels)
{
	for (u32 level = from(0); level < HLS_LEVELS && can_loop; level++)
		if (((levels->occupied >> level) & 1) != (levels->queue[level].head != 0))
			return false;
	return true;
}

#endif
