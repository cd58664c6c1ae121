/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A search tree of VPs that cannot use every CPU. Its members lie in an array and are named by index; 0 is the empty
 * tree. A tree is its root's index.
 *
 * Members are in order of their keys, and among equal keys in order of `seq`, which no two members share; both are
 * compared as points on a circle, so that they may wrap. Each node has the CPUs that it or a member below it can use:
 * the first member that can use a CPU is found on one way down. Insertion, removal and search take at most
 * HLS_TREE_HEIGHT steps each way, however many members cannot use that CPU.
 *
 * Invariants (AVL): the heights of a node's two subtrees differ by one at most; `below` is the union of the node's own
 * CPUs and its children's `below`. A node that is in no tree has the height 0. Node 0, which is never a member, stays
 * zeroed: as a child it has the height 0, and no CPU below it.
 */
#ifndef HLS_SEARCH_TREE_H
#define HLS_SEARCH_TREE_H

#include "core.h"

/* An AVL tree of HLS_MAX_VPS members is not higher: 1.44 log2(HLS_MAX_VPS + 2), with room. */
#define HLS_TREE_HEIGHT 26

/* The children of a node: the members before it, and those behind it. */
enum { TREE_BEFORE, TREE_BEHIND };

/* Whether a comes before b. */
static __always_inline bool tree_before(const tree_node_t *a, const tree_node_t *b)
{
	if (a->key != b->key)
		return (s64)(a->key - b->key) < 0;
	return (s64)(a->seq - b->seq) < 0;
}

/*
 * The comparisons here make no branches: the BPF verifier would follow each branch, with each resulting value, through
 * all rounds of the loops below.
 */

/* 1 if a is less than b, else 0. In a register: otherwise the compiler would make a comparison of it. */
static __always_inline u32 tree_less(u32 a, u32 b)
{
	return in_register((u64)a - b) >> 63;
}

/* 1 if a is not b, else 0. */
static __always_inline u32 tree_differs(u32 a, u32 b)
{
	return tree_less(0, a ^ b);
}

/* `yes` if `choice` is 1, `no` if it is 0. */
static __always_inline u32 tree_choose(u32 choice, u32 yes, u32 no)
{
	return no ^ ((no ^ yes) & -choice);
}

/* Sets a node's height and `below` from its children's; returns whether one of them changed. */
static __always_inline bool tree_settle(tree_node_t *nodes, u32 i)
{
	tree_node_t *n = &nodes[i];
	const tree_node_t *before = &nodes[n->child[TREE_BEFORE]], *behind = &nodes[n->child[TREE_BEHIND]];
	u32 height = before->height, other = behind->height;
	u64 below = n->cpus | before->below | behind->below;
	height = 1 + tree_choose(tree_less(height, other), other, height);
	u64 change = (n->height ^ height) | (n->below ^ below);
	n->height = height;
	n->below = below;
	return change != 0;
}

/* Puts the subtree `other`, or 0, in the place of node i below its parent `up`; `up` 0: `other` becomes the root. */
static __always_inline void tree_put(tree_node_t *nodes, u32 __arena *root, u32 up, u32 i, u32 other)
{
	if (!up)
		*root = other;
	else
		nodes[up].child[1 ^ tree_differs(nodes[up].child[TREE_BEHIND], i)] = other;
	if (other)
		nodes[other].up = up;
}

/*
 * Rotates node i down to `side`: its child on the other side takes the place of i, and i becomes a child of that node.
 */
static __always_inline void tree_rotate(tree_node_t *nodes, u32 __arena *root, u32 i, u32 side)
{
	u32 rising = nodes[i].child[1 ^ side], middle = nodes[rising].child[side];
	tree_put(nodes, root, nodes[i].up, i, rising);
	nodes[i].child[1 ^ side] = middle;
	if (middle)
		nodes[middle].up = i;
	nodes[rising].child[side] = i;
	nodes[i].up = rising;
	tree_settle(nodes, i);
	tree_settle(nodes, rising);
}

/*
 * After a change at node i or below it: settles and balances the nodes on the way up, as far as anything changes, and
 * at least up to the node `to`, which is i or above i; `to` may be 0.
 */
static __always_inline void tree_retrace(tree_node_t *nodes, u32 __arena *root, u32 i, u32 to)
{
	/* At each node once, or twice where its higher child is rotated first. */
	for (u32 d = opaque(0); d < 2 * HLS_TREE_HEIGHT && i && can_loop; d++) {
		nodes = in_register(nodes);
		u32 before = nodes[nodes[i].child[TREE_BEFORE]].height;
		u32 behind = nodes[nodes[i].child[TREE_BEHIND]].height;
		to &= -tree_differs(i, to);
		if (before - behind + 1 > 2) {
			u32 side = tree_less(before, behind), high = nodes[i].child[side];
			const tree_node_t *n = &nodes[high];
			u32 is_twice = tree_less(nodes[n->child[side]].height, nodes[n->child[1 ^ side]].height);
			tree_rotate(nodes, root, tree_choose(is_twice, high, i), 1 ^ side ^ is_twice);
			if (is_twice)
				continue;
			i = nodes[i].up;
		} else if (!tree_settle(nodes, i) && !to) {
			return;
		}
		i = nodes[i].up;
	}
}

/* Adds node i, which can use `cpus`. */
HLS_RARE_FUNC u32 tree_push(tree_node_t *nodes __arg_arena, u32 __arena *root __arg_arena, u32 i, u64 cpus)
{
	tree_node_t *n = &nodes[i];
	u32 up = opaque(0), next = *root, side = opaque(0);
	n->cpus = n->below = cpus;
	n->child[TREE_BEFORE] = n->child[TREE_BEHIND] = 0;
	n->height = 1;
	for (u32 d = opaque(0); d < HLS_TREE_HEIGHT && next && can_loop; d++) {
		up = next;
		side = 1 ^ (u32)tree_before(n, &nodes[up]);
		next = nodes[up].child[side];
	}
	n->up = up;
	if (up)
		nodes[up].child[side] = i;
	else
		*root = i;
	tree_retrace(nodes, root, up, opaque(0));
	return 0;
}

/* The first member of the tree; 0: the tree is empty. */
static __always_inline u32 tree_first(const tree_node_t *nodes, u32 root)
{
	u32 i = root;
	for (u32 d = opaque(0); d < HLS_TREE_HEIGHT && i && nodes[i].child[TREE_BEFORE] && can_loop; d++)
		i = nodes[i].child[TREE_BEFORE];
	return i;
}

/* The member after i; 0: i is the last. */
static __always_inline u32 tree_next(const tree_node_t *nodes, u32 i)
{
	if (nodes[i].child[TREE_BEHIND])
		return tree_first(nodes, nodes[i].child[TREE_BEHIND]);
	u32 up = nodes[i].up;
	for (u32 d = opaque(0); d < HLS_TREE_HEIGHT && up && nodes[up].child[TREE_BEHIND] == i && can_loop; d++) {
		i = up;
		up = nodes[i].up;
	}
	return up;
}

/* Removes node i. */
HLS_RARE_FUNC u32 tree_remove(tree_node_t *nodes __arg_arena, u32 __arena *root __arg_arena, u32 i)
{
	tree_node_t *n = in_register(&nodes[i]);
	u32 behind = n->child[TREE_BEHIND], next = n->child[TREE_BEFORE], changed = n->up, to = opaque(0);
	n->height = 0;
	if (next && behind) {
		/* The next member has no child before it: it leaves its place, and takes the place of i. */
		next = tree_first(nodes, behind);
		changed = nodes[next].up;
		if (changed == i) {
			changed = next;
		} else {
			tree_put(nodes, root, changed, next, nodes[next].child[TREE_BEHIND]);
			nodes[next].child[TREE_BEHIND] = behind;
			nodes[behind].up = next;
		}
		nodes[next].child[TREE_BEFORE] = n->child[TREE_BEFORE];
		nodes[n->child[TREE_BEFORE]].up = next;
		nodes[next].height = 0; /* so that it counts as changed: the node above it knows the height of i */
		to = next;
	} else if (!next) {
		next = behind;
	}
	tree_put(nodes, root, n->up, i, next);
	tree_retrace(nodes, root, changed, to);
	return 0;
}

/* Changes which CPUs node i can use. */
HLS_RARE_FUNC u32 tree_set_cpus(tree_node_t *nodes __arg_arena, u32 i, u64 cpus)
{
	nodes[i].cpus = cpus;
	for (u32 d = opaque(0); d < HLS_TREE_HEIGHT && i && tree_settle(nodes, i) && can_loop; d++)
		i = nodes[i].up;
	return 0;
}

/* The last member of the subtree of node i; 0: i is 0. */
static __always_inline u32 tree_last(const tree_node_t *nodes, u32 i)
{
	for (u32 d = opaque(0); d < HLS_TREE_HEIGHT && i && nodes[i].child[TREE_BEHIND] && can_loop; d++)
		i = nodes[i].child[TREE_BEHIND];
	return i;
}

/*
 * Whether the invariants hold at node i, which is compared with its neighbours in its subtree. If they hold at all
 * nodes, the tree is sound.
 */
HLS_GLOBAL_FUNC bool tree_is_sound_at(const tree_node_t *nodes __arg_arena, u32 i, u64 cpus)
{
	const tree_node_t *n = &nodes[i];
	u32 before = n->child[TREE_BEFORE], behind = n->child[TREE_BEHIND];
	u32 height = nodes[before].height, other = nodes[behind].height;
	u64 below = n->cpus | nodes[before].below | nodes[behind].below;
	if ((before && (nodes[before].up != i || !tree_before(&nodes[tree_last(nodes, before)], n))) ||
	    (behind && (nodes[behind].up != i || !tree_before(n, &nodes[tree_first(nodes, behind)]))))
		return false;
	if (height > other + 1 || other > height + 1 || n->height != (height > other ? height : other) + 1)
		return false;
	return n->cpus == cpus && n->below == below && n->height <= HLS_TREE_HEIGHT;
}

/* The first member that can use one of these CPUs; 0: none. */
HLS_RARE_FUNC u32 tree_first_usable(const tree_node_t *nodes __arg_arena, u32 root, u64 cpus)
{
	u32 i = root;
	if (!i || !(nodes[i].below & cpus))
		return 0;
	for (u32 d = opaque(0); d < HLS_TREE_HEIGHT && i && can_loop; d++) {
		u32 before = nodes[i].child[TREE_BEFORE];
		if (before && (nodes[before].below & cpus))
			i = before;
		else if (nodes[i].cpus & cpus)
			return i;
		else
			i = nodes[i].child[TREE_BEHIND];
	}
	return 0;
}

#endif
