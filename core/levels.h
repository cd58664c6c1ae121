/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For policies that choose by priority: a queue of READY VPs for each of 64 levels, in order of arrival. A VP is in one
 * queue at most, and its policy keeps the level. Pinned VPs lie in a search tree, as in queue.h: one tree for all
 * levels.
 *
 * Invariant: bit n of `occupied` is set exactly when the list of the n-th level from the highest has a member. Without
 * an instruction for either, the lowest bit is cheaper to find than the highest.
 */
#ifndef HLS_LEVELS_H
#define HLS_LEVELS_H

#include "policy.h"

#define HLS_LEVELS 64

struct hls_levels {
	u64 occupied;
	struct hls_list queue[HLS_LEVELS]; /* of VPs that can use every CPU */
	u32 tree;                          /* of the others, by level, the highest first, then by place */
	u32 unused;
};
typedef struct hls_levels __arena levels_t;

/* The number of a level from the highest. */
static __always_inline u64 levels_depth(u64 level)
{
	return HLS_LEVELS - 1 - level;
}

static __always_inline u64 levels_bit(u64 level)
{
	return 1ULL << levels_depth(level);
}

/* levels_push() of a VP that can use every CPU. */
static __always_inline void levels_push_to_list(hls_t *h, levels_t *levels, u64 level, u32 v, bool behind)
{
	queue_push_list(h, &levels->queue[level], v, behind);
	levels->occupied |= levels_bit(level);
}

/* Adds v behind the other VPs of its level, or before them. */
static __always_inline void levels_push(hls_t *h, levels_t *levels, u64 level, u32 v, bool behind)
{
	if (queue_is_pinned(h, v))
		queue_push_tree(h, &levels->tree, v, levels_depth(level), queue_place(h, behind));
	else
		levels_push_to_list(h, levels, level, v, behind);
}

/* levels_remove() of a VP that can use every CPU. */
static __always_inline void levels_remove_from_list(hls_t *h, levels_t *levels, u64 level, u32 v)
{
	list_remove(h, &levels->queue[level], v);
	if (!levels->queue[level].head)
		levels->occupied &= ~levels_bit(level);
}

/* Removes v, which is at this level. */
static __always_inline void levels_remove(hls_t *h, levels_t *levels, u64 level, u32 v)
{
	if (queue_is_pinned(h, v))
		queue_remove_tree(h, &levels->tree, v);
	else
		levels_remove_from_list(h, levels, level, v);
}

/* The queue of the highest level that has a VP which can use every CPU. There must be one. */
static __always_inline list_t *levels_first(levels_t *levels)
{
	return &levels->queue[HLS_LEVELS - 1 - __builtin_ctzll(levels->occupied)];
}

/* Whether v, of the search tree, comes before all VPs that can use every CPU. */
static __always_inline bool levels_goes_first(const hls_t *h, levels_t *levels, u32 v)
{
	const tree_node_t *n = &h->queue_node[v];
	if (!levels->occupied)
		return true;
	u64 depth = __builtin_ctzll(levels->occupied);
	if (n->key != depth)
		return n->key < depth;
	return (s64)(n->seq - h->node[levels_first(levels)->head].place) < 0;
}

/* The first VP of the search tree that can use the CPU, if it goes before all VPs that can use every CPU; else 0. */
static __always_inline u32 levels_search(hls_t *h, levels_t *levels, u32 cpu)
{
	u32 v = queue_first_usable_of_tree(h, levels->tree, cpu);
	return v && levels_goes_first(h, levels, v) ? v : 0;
}

/* Removes and returns the first VP that can use every CPU. There must be one. */
static __always_inline u32 levels_take_from_list(hls_t *h, levels_t *levels)
{
	list_t *queue = levels_first(levels);
	u32 v = queue->head;
	list_pop(h, queue);
	if (!queue->head)
		levels->occupied &= levels->occupied - 1;
	return v;
}

/* levels_take() where VPs are pinned. */
HLS_RARE_FUNC u32 levels_take_any(hls_t *h __arg_arena, levels_t *levels __arg_arena, u32 cpu)
{
	u32 v = levels_search(h, levels, cpu);
	if (v)
		queue_remove_tree(h, &levels->tree, v);
	else if (levels->occupied)
		v = levels_take_from_list(h, levels);
	return v;
}

/*
 * Removes and returns the first VP of the highest level that can use the CPU; 0: none. The queues must not all be
 * empty.
 */
static __always_inline u32 levels_take(hls_t *h, levels_t *levels, u32 cpu)
{
	return unlikely(levels->tree) ? levels_take_any(h, levels, cpu) : levels_take_from_list(h, levels);
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
