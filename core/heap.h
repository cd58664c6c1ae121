/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A leftist heap. Its nodes lie in an array and are named by index; 0 is the empty heap. A heap is its root's index.
 *
 * Insertion and removal of any member take at most about 2 log2(n) steps in the worst case; a pairing heap does not
 * promise that, and an array heap needs memory of its own. Of equal keys, the one inserted first comes first. Keys are
 * compared as points on a circle, so that they may wrap.
 *
 * Invariants: a node's key is not above its children's; dist is the length of the path to the right, and the left
 * child's dist is not below the right one's.
 */
#ifndef HLS_HEAP_H
#define HLS_HEAP_H

#include "core.h"

/*
 * The greatest length of a path along right children, and of two such paths together: log2 of the greatest number of
 * members, with room.
 */
#define HLS_HEAP_SPINE (2 * 18)

/* Whether a comes before b. */
static __always_inline bool heap_before(const node_t *a, const node_t *b)
{
	if (a->key != b->key)
		return (s64)(a->key - b->key) < 0;
	return (s64)(a->seq - b->seq) < 0;
}

static __always_inline u32 heap_dist(const node_t *nodes, u32 i)
{
	return i ? nodes[i].dist : 0;
}

/* Puts a node's children in order of their dist, and sets its own; returns whether that changed. */
static __always_inline bool heap_settle(node_t *nodes, u32 i)
{
	node_t *n = &nodes[i];
	u32 left = heap_dist(nodes, n->left), right = heap_dist(nodes, n->right);
	if (left < right) {
		u32 swap = n->left;
		n->left = n->right;
		n->right = swap;
		right = left;
	}
	if (n->dist == right + 1)
		return false;
	n->dist = right + 1;
	return true;
}

/* Merges two heaps: down along their right children, then back up. Returns the root; its `up` is 0. */
static __always_inline u32 heap_merge(node_t *nodes, u32 a, u32 b)
{
	u32 root = 0, last = 0;
	for (u32 i = opaque(0); i < HLS_HEAP_SPINE && a && b && can_loop; i++) {
		if (heap_before(&nodes[b], &nodes[a])) {
			u32 swap = a;
			a = b;
			b = swap;
		}
		nodes[a].up = last;
		if (last)
			nodes[last].right = a;
		else
			root = a;
		last = a;
		a = nodes[a].right;
	}
	u32 rest = a ? a : b;
	if (!last) {
		if (rest)
			nodes[rest].up = 0;
		return rest;
	}
	nodes[last].right = rest;
	if (rest)
		nodes[rest].up = last;
	for (u32 i = opaque(0); i < HLS_HEAP_SPINE && last && can_loop; i++) {
		heap_settle(nodes, last);
		last = nodes[last].up;
	}
	return root;
}

/* Makes node i a heap with no other member. */
static __always_inline void heap_begin_in(node_t *nodes, u32 __arena *root, u32 i, u64 key, u64 seq)
{
	node_t *n = &nodes[i];
	n->key = key;
	n->seq = seq;
	n->dist = 1;
	n->left = n->right = n->up = 0;
	*root = i;
}

/* Adds node i under `key`; `seq` orders equal keys. */
HLS_GLOBAL_FUNC u32 heap_push_in(node_t *nodes __arg_arena, u32 __arena *root __arg_arena, u32 i, u64 key, u64 seq)
{
	u32 others = *root;
	heap_begin_in(nodes, root, i, key, seq);
	if (others)
		*root = heap_merge(nodes, others, i);
	return 0;
}

/* Removes node i, wherever in the heap it is. */
HLS_GLOBAL_FUNC u32 heap_remove_in(node_t *nodes __arg_arena, u32 __arena *root __arg_arena, u32 i)
{
	u32 up = nodes[i].up;
	u32 rest = heap_merge(nodes, nodes[i].left, nodes[i].right);
	nodes[i].dist = 0;
	if (!up) {
		*root = rest;
		return 0;
	}
	if (nodes[up].left == i)
		nodes[up].left = rest;
	else
		nodes[up].right = rest;
	if (rest)
		nodes[rest].up = up;
	for (u32 d = opaque(0); d < HLS_HEAP_SPINE && up && heap_settle(nodes, up) && can_loop; d++)
		up = nodes[up].up;
	return 0;
}

/* To visit all members, parents before children: the member after i; 0: i was the last. */
HLS_GLOBAL_FUNC u32 heap_next_in(const node_t *nodes __arg_arena, u32 i)
{
	if (nodes[i].left)
		return nodes[i].left;
	if (nodes[i].right)
		return nodes[i].right;
	for (u32 d = opaque(0); d < HLS_MAX_VPS && can_loop; d++) {
		u32 up = nodes[i].up;
		if (!up)
			return 0;
		if (nodes[up].left == i && nodes[up].right)
			return nodes[up].right;
		i = up;
	}
	return 0;
}

/* The same for heaps of VPs, as policies have them. */

static __always_inline void heap_push(hls_t *h, u32 __arena *root, u32 v, u64 key, u64 seq)
{
	heap_push_in(h->node, root, v, key, seq);
}

static __always_inline void heap_begin(hls_t *h, u32 __arena *root, u32 v, u64 key, u64 seq)
{
	heap_begin_in(h->node, root, v, key, seq);
}

static __always_inline void heap_remove(hls_t *h, u32 __arena *root, u32 v)
{
	heap_remove_in(h->node, root, v);
}

/* Removes the root: the member with the least key. */
static __always_inline void heap_pop(hls_t *h, u32 __arena *root)
{
	u32 v = *root;
	if (h->node[v].left) {
		heap_remove(h, root, v);
		return;
	}
	h->node[v].dist = 0;
	*root = 0;
}

static __always_inline u32 heap_next(const hls_t *h, u32 v)
{
	return heap_next_in(h->node, v);
}

#endif
