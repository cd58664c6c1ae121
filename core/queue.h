/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues of READY VPs, for policies: each yields its first VP that can use a given CPU. A hls_queue is in order of
 * keys, and among equal keys in order of arrival; a hls_fifo is in order of arrival. levels.h has a third queue, by
 * priority.
 *
 * Nearly all VPs can use every CPU: these lie in a heap or in a list, and the first of them is at hand. Pinned VPs
 * (HLS_PINNED) lie in a search tree. The first VP of the queue is the earlier of the first VPs of both. So, however
 * many VPs wait for one CPU, a decision on another CPU does not walk over them.
 */
#ifndef HLS_QUEUE_H
#define HLS_QUEUE_H

#include "heap.h"
#include "list.h"
#include "search_tree.h"

struct hls_queue {
	u32 heap; /* of VPs that can use every CPU */
	u32 tree; /* of the others */
};
typedef struct hls_queue __arena queue_t;

struct hls_fifo {
	struct hls_list list; /* of VPs that can use every CPU */
	u32 tree;             /* of the others */
	u32 unused;
};
typedef struct hls_fifo __arena fifo_t;

/* Whether v lies in the search tree of its queue. */
static __always_inline bool queue_is_pinned(const hls_t *h, u32 v)
{
	return unlikely(in_register(&h->vp[v])->flags & HLS_PINNED);
}

/* Adds v to the search tree of a queue. */
static __always_inline void queue_push_tree(hls_t *h, u32 __arena *tree, u32 v, u64 key, u64 seq)
{
	h->queue_node[v].key = key;
	h->queue_node[v].seq = seq;
	tree_push(h->queue_node, tree, v, h->vp[v].usable);
}

/* Removes v from the search tree of a queue. */
static __always_inline void queue_remove_tree(hls_t *h, u32 __arena *tree, u32 v)
{
	tree_remove(h->queue_node, tree, v);
}

/* The first VP of the search tree of a queue; 0: the tree is empty. */
static __always_inline u32 queue_first_of_tree(const hls_t *h, u32 tree)
{
	return tree_first(h->queue_node, tree);
}

/* The VP after v there; 0: v is the last. */
static __always_inline u32 queue_next_of_tree(const hls_t *h, u32 v)
{
	return tree_next(h->queue_node, v);
}

/* The first VP there that can use the CPU; 0: none. */
static __always_inline u32 queue_first_usable_of_tree(const hls_t *h, u32 tree, u32 cpu)
{
	return tree_first_usable(h->queue_node, tree, 1ULL << cpu);
}

/* Adds v to a heap, which may be empty. */
static __always_inline void queue_push_heap(hls_t *h, u32 __arena *heap, u32 v, u64 key, u64 seq)
{
	if (*heap)
		heap_push(h, heap, v, key, seq);
	else
		heap_begin(h, heap, v, key, seq);
}

/* Adds v under `key`; `seq` orders equal keys. */
static __always_inline void queue_push_at(hls_t *h, queue_t *queue, u32 v, u64 key, u64 seq)
{
	if (queue_is_pinned(h, v))
		queue_push_tree(h, &queue->tree, v, key, seq);
	else
		queue_push_heap(h, &queue->heap, v, key, seq);
}

/* Adds v under `key`, behind the others of that key. */
static __always_inline void queue_push(hls_t *h, queue_t *queue, u32 v, u64 key)
{
	queue_push_at(h, queue, v, key, h->seq++);
}

/* Removes v. */
static __always_inline void queue_remove(hls_t *h, queue_t *queue, u32 v)
{
	if (queue_is_pinned(h, v))
		queue_remove_tree(h, &queue->tree, v);
	else
		heap_remove(h, &queue->heap, v);
}

/* The same, for a caller that mostly removes the first VP: that takes fewer instructions. */
static __always_inline void queue_remove_early(hls_t *h, queue_t *queue, u32 v)
{
	if (likely(v == queue->heap))
		heap_pop(h, &queue->heap);
	else
		queue_remove(h, queue, v);
}

/* Which comes first: the root of the heap, or v of the search tree; 0 is none. */
static __always_inline u32 queue_earlier(const hls_t *h, u32 root, u32 v)
{
	const node_t *n = &h->node[root];
	const tree_node_t *other = &h->queue_node[v];
	if (!root || !v)
		return root ? root : v;
	if (n->key != other->key)
		return (s64)(n->key - other->key) < 0 ? root : v;
	return (s64)(n->seq - other->seq) < 0 ? root : v;
}

/* The first VP of all; 0: the queue is empty. */
static __always_inline u32 queue_first(hls_t *h, const queue_t *queue)
{
	if (likely(!queue->tree))
		return queue->heap;
	return queue_earlier(h, queue->heap, queue_first_of_tree(h, queue->tree));
}

/* queue_first_usable() where VPs are pinned. */
HLS_RARE_FUNC u32 queue_search(hls_t *h __arg_arena, const queue_t *queue __arg_arena, u32 cpu)
{
	return queue_earlier(h, queue->heap, queue_first_usable_of_tree(h, queue->tree, cpu));
}

/* The first VP that can use the CPU; 0: none. */
static __always_inline u32 queue_first_usable(hls_t *h, const queue_t *queue, u32 cpu)
{
	return likely(!queue->tree) ? queue->heap : queue_search(h, queue, cpu);
}

/* Removes the first VP that can use the CPU, and returns it; 0: none. */
static __always_inline u32 queue_take(hls_t *h, queue_t *queue, u32 cpu)
{
	u32 v = queue_first_usable(h, queue, cpu);
	if (!v)
		return 0;
	if (likely(v == queue->heap))
		heap_pop(h, &queue->heap);
	else
		queue_remove_tree(h, &queue->tree, v);
	return v;
}

/* A place behind all places given so far, or before all of them. */
static __always_inline u64 queue_place(hls_t *h, bool behind)
{
	u64 place = h->seq++;
	return behind ? place : -place;
}

/* Adds v to a list, behind its members or before them. */
static __always_inline void queue_push_list(hls_t *h, list_t *list, u32 v, bool behind)
{
	h->node[v].place = queue_place(h, behind);
	if (behind)
		list_push_tail(h, list, v);
	else
		list_push_head(h, list, v);
}

/* Adds v behind the others, or before them. */
static __always_inline void fifo_push(hls_t *h, fifo_t *fifo, u32 v, bool behind)
{
	if (queue_is_pinned(h, v))
		queue_push_tree(h, &fifo->tree, v, 0, queue_place(h, behind));
	else
		queue_push_list(h, &fifo->list, v, behind);
}

/* Removes v. */
static __always_inline void fifo_remove(hls_t *h, fifo_t *fifo, u32 v)
{
	if (queue_is_pinned(h, v))
		queue_remove_tree(h, &fifo->tree, v);
	else
		list_remove(h, &fifo->list, v);
}

/* fifo_first_usable() where VPs are pinned. */
HLS_RARE_FUNC u32 fifo_search(hls_t *h __arg_arena, const fifo_t *fifo __arg_arena, u32 cpu)
{
	u32 head = fifo->list.head, v = queue_first_usable_of_tree(h, fifo->tree, cpu);
	if (!head || !v)
		return head ? head : v;
	return (s64)(h->node[head].place - h->queue_node[v].seq) < 0 ? head : v;
}

/* The first VP that can use the CPU; 0: none. */
static __always_inline u32 fifo_first_usable(hls_t *h, const fifo_t *fifo, u32 cpu)
{
	return likely(!fifo->tree) ? fifo->list.head : fifo_search(h, fifo, cpu);
}

#endif
