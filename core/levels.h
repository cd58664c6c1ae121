/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For policies that choose by priority: a queue of READY VPs for each of 64 levels, in order of arrival. A VP is in one
 * queue at most, and its policy keeps the level.
 *
 * Invariant: bit n of `occupied` is set exactly when the queue of the n-th level from the highest has a member. The
 * lowest bit is cheaper to find than the highest where there is an instruction for neither.
 */
#ifndef HLS_LEVELS_H
#define HLS_LEVELS_H

#include "policy.h"

#define HLS_LEVELS 64

struct hls_levels {
	u64 occupied;
	struct hls_list queue[HLS_LEVELS];
};
typedef struct hls_levels __arena levels_t;

static __always_inline u64 levels_bit(u64 level)
{
	return 1ULL << (HLS_LEVELS - 1 - level);
}

/* Adds v behind the other VPs of its level, or before them. */
static __always_inline void levels_push(node_t *nodes, levels_t *levels, u64 level, u32 v, bool behind)
{
	if (behind)
		list_push_tail(nodes, &levels->queue[level], v);
	else
		list_push_head(nodes, &levels->queue[level], v);
	levels->occupied |= levels_bit(level);
}

/* Removes v, which is at this level. */
static __always_inline void levels_remove(node_t *nodes, levels_t *levels, u64 level, u32 v)
{
	list_remove(nodes, &levels->queue[level], v);
	if (!levels->queue[level].head)
		levels->occupied &= ~levels_bit(level);
}

/* The highest level that has a VP which can use the CPU; HLS_LEVELS: none. */
static __always_inline u32 levels_usable(hls_t *h, const levels_t *levels, u32 cpu)
{
	u64 occupied = levels->occupied;
	for (u32 i = opaque(0); i < HLS_LEVELS && occupied && can_loop; i++) {
		u32 level = HLS_LEVELS - 1 - __builtin_ctzll(occupied);
		if (hls_first_usable(h, &levels->queue[level], cpu))
			return level;
		occupied &= ~levels_bit(level);
	}
	return HLS_LEVELS;
}

/* levels_take() for the case that the first VP of the highest level cannot use the CPU. */
HLS_GLOBAL_FUNC u32 levels_take_usable(hls_t *h __arg_arena, levels_t *levels __arg_arena, u32 cpu)
{
	u32 level = levels_usable(h, levels, cpu);
	if (level >= HLS_LEVELS)
		return 0;
	u32 v = hls_first_usable(h, &levels->queue[level], cpu);
	levels_remove(h->node, levels, level, v);
	return v;
}

/* The queue of the highest level that has a member. The queues must not all be empty. */
static __always_inline list_t *levels_first(levels_t *levels)
{
	return &levels->queue[HLS_LEVELS - 1 - __builtin_ctzll(levels->occupied)];
}

/*
 * Removes and returns the first VP of the highest level that can use the CPU; 0: none. The queues must not all be
 * empty.
 */
static __always_inline u32 levels_take(hls_t *h, levels_t *levels, u32 cpu)
{
	list_t *queue = levels_first(levels);
	u32 v = queue->head;
	if (unlikely(!hls_usable(in_register(&h->vp[v]), cpu)))
		return levels_take_usable(h, levels, cpu);
	list_pop(h->node, queue);
	if (!queue->head)
		levels->occupied &= levels->occupied - 1;
	return v;
}

/* Whether the invariant above holds. */
static __always_inline bool levels_are_sound(const levels_t *levels)
{
	for (u32 level = opaque(0); level < HLS_LEVELS && can_loop; level++)
		if (((levels->occupied & levels_bit(level)) != 0) != (levels->queue[level].head != 0))
			return false;
	return true;
}

#endif
