/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queues of loaded policies: the functions of list.h, heap.h, queue.h and levels.h with a check before them.
 *
 * A VP has only one node for all queues. A policy that leaves a VP in its queue after unregister_vp still has the VP's
 * index there, while another scheduler has put the VP into a queue of its own: a change of the first queue would tear
 * the second. So each function first looks at the nodes to which it would write. Unless all of these nodes belong to
 * children of the scheduler of the running hook, that scheduler is faulty and the function does nothing.
 */
#ifndef HLS_GUARD_QUEUES_H
#define HLS_GUARD_QUEUES_H

#include "guard.h"
#include "levels.h"

/* Whether the running hook may write to node i. 0 is no node: nothing is written to it. */
static __always_inline bool hls_may_write(hls_t *h, u32 i)
{
	if (likely(!i || (i < HLS_MAX_VPS && in_register(&h->vp[i])->parent == h->hook_scheduler)))
		return true;
	hls_report_wrong_target(h);
	return false;
}

static __always_inline void checked_list_push_tail(hls_t *h, list_t *list, u32 i)
{
	if (hls_may_write(h, i) && hls_may_write(h, list->tail))
		list_push_tail(h, list, i);
}

static __always_inline void checked_list_push_head(hls_t *h, list_t *list, u32 i)
{
	if (hls_may_write(h, i) && hls_may_write(h, list->head))
		list_push_head(h, list, i);
}

/* list_pop() writes to the second member, not to the first, which leaves. */
static __always_inline void checked_list_pop(hls_t *h, list_t *list)
{
	if (hls_may_write(h, h->node[list->head].next))
		list_pop(h, list);
}

/* Whether the running hook may write to node i and to its neighbours in a list. */
static __always_inline bool hls_may_unlink(hls_t *h, u32 i)
{
	return hls_may_write(h, i) && hls_may_write(h, h->node[i].prev) && hls_may_write(h, h->node[i].next);
}

static __always_inline void checked_list_remove(hls_t *h, list_t *list, u32 i)
{
	if (hls_may_unlink(h, i))
		list_remove(h, list, i);
}

/* Whether the running hook may write to the right spine of the heap with root i, along which heaps are merged. */
static __always_inline bool hls_may_join(hls_t *h, u32 i)
{
	u32 d = opaque(0);
	for (; d < HLS_HEAP_SPINE && i && hls_may_write(h, i) && can_loop; d++)
		i = h->node[i].right;
	return !i;
}

/* The same for all nodes that change when node i leaves its heap: its children's spines, and the nodes above it. */
static __always_inline bool hls_may_leave(hls_t *h, u32 i)
{
	if (!hls_may_write(h, i) || !hls_may_join(h, h->node[i].left) || !hls_may_join(h, h->node[i].right))
		return false;
	u32 up = h->node[i].up;
	for (u32 d = opaque(0); d < HLS_HEAP_SPINE && up && can_loop; d++) {
		if (!hls_may_write(h, up))
			return false;
		up = h->node[up].up;
	}
	return true;
}

HLS_GLOBAL_FUNC u32 checked_heap_push(hls_t *h __arg_arena, u32 __arena *root __arg_arena, u32 i, u64 key, u64 seq)
{
	if (hls_may_write(h, i) && hls_may_join(h, *root))
		heap_push(h, root, i, key, seq);
	return 0;
}

static __always_inline void checked_heap_begin(hls_t *h, u32 __arena *root, u32 i, u64 key, u64 seq)
{
	if (hls_may_write(h, i))
		heap_begin(h, root, i, key, seq);
}

HLS_GLOBAL_FUNC u32 checked_heap_remove(hls_t *h __arg_arena, u32 __arena *root __arg_arena, u32 i)
{
	if (hls_may_leave(h, i))
		heap_remove(h, root, i);
	return 0;
}

static __always_inline void checked_heap_pop(hls_t *h, u32 __arena *root)
{
	u32 i = *root;
	if (unlikely(h->node[i].left))
		checked_heap_remove(h, root, i);
	else if (hls_may_write(h, i))
		heap_pop(h, root);
}

/*
 * Whether the running hook may add v to the search tree with this root. All members of a search tree are children of
 * one scheduler: none leaves it while it is in one (hls_take_back()).
 */
static __always_inline bool hls_may_grow(hls_t *h, u32 root, u32 v)
{
	if (!hls_may_write(h, v) || !hls_may_write(h, root))
		return false;
	const tree_node_t *n = &h->queue_node[root];
	if (likely(v && !h->queue_node[v].height && (!root || (n->height && !n->up))))
		return true;
	hls_report_wrong_target(h);
	return false;
}

/* Whether v lies in a search tree from which the running hook may remove it. */
static __always_inline bool hls_may_prune(hls_t *h, u32 v)
{
	return v < HLS_MAX_VPS && h->queue_node[v].height && hls_may_write(h, v);
}

HLS_GLOBAL_FUNC u32 checked_push_tree(hls_t *h __arg_arena, u32 __arena *tree __arg_arena, u32 v, u64 key, u64 seq)
{
	if (hls_may_grow(h, *tree, v))
		queue_push_tree(h, tree, v, key, seq);
	return 0;
}

static __always_inline void checked_queue_push(hls_t *h, queue_t *queue, u32 v, u64 key)
{
	if (!hls_may_write(h, v))
		return;
	if (queue_is_pinned(h, v))
		checked_push_tree(h, &queue->tree, v, key, h->seq++);
	else
		checked_heap_push(h, &queue->heap, v, key, h->seq++);
}

static __always_inline void checked_queue_remove(hls_t *h, queue_t *queue, u32 v)
{
	if (hls_may_prune(h, v))
		queue_remove_tree(h, &queue->tree, v);
	else
		checked_heap_remove(h, &queue->heap, v);
}

static __always_inline void checked_fifo_push(hls_t *h, fifo_t *fifo, u32 v, bool behind)
{
	if (!hls_may_write(h, v))
		return;
	if (queue_is_pinned(h, v))
		checked_push_tree(h, &fifo->tree, v, 0, queue_place(h, behind));
	else if (hls_may_write(h, behind ? fifo->list.tail : fifo->list.head))
		queue_push_list(h, &fifo->list, v, behind);
}

static __always_inline void checked_fifo_remove(hls_t *h, fifo_t *fifo, u32 v)
{
	if (hls_may_prune(h, v))
		queue_remove_tree(h, &fifo->tree, v);
	else
		checked_list_remove(h, &fifo->list, v);
}

/* Whether this is a level: behind the queue of the last level lie other words. */
static __always_inline bool hls_is_level(hls_t *h, u64 level)
{
	if (likely(level < HLS_LEVELS))
		return true;
	hls_report_wrong_target(h);
	return false;
}

static __always_inline void checked_levels_push(hls_t *h, levels_t *levels, u64 level, u32 v, bool behind)
{
	if (!hls_is_level(h, level) || !hls_may_write(h, v))
		return;
	const list_t *queue = &levels->queue[level];
	if (queue_is_pinned(h, v))
		checked_push_tree(h, &levels->tree, v, levels_depth(level), queue_place(h, behind));
	else if (hls_may_write(h, behind ? queue->tail : queue->head))
		levels_push_to_list(h, levels, level, v, behind);
}

static __always_inline void checked_levels_remove(hls_t *h, levels_t *levels, u64 level, u32 v)
{
	if (!hls_is_level(h, level))
		return;
	if (hls_may_prune(h, v))
		queue_remove_tree(h, &levels->tree, v);
	else if (hls_may_unlink(h, v))
		levels_remove_from_list(h, levels, level, v);
}

static __always_inline u32 checked_levels_take(hls_t *h, levels_t *levels, u32 cpu)
{
	u32 v = levels->tree ? levels_search(h, levels, cpu) : 0;
	if (v) {
		if (!hls_may_prune(h, v))
			return 0;
		queue_remove_tree(h, &levels->tree, v);
		return v;
	}
	if (!levels->occupied)
		return 0;
	list_t *queue = levels_first(levels);
	v = queue->head;
	return hls_may_write(h, h->node[v].next) ? levels_take_from_list(h, levels) : 0;
}

/* The walks of policy.h; their steps count like steps of the policy's own loops. */
static __always_inline u32 checked_hls_first_usable(hls_t *h, const list_t *list, u32 cpu)
{
	u32 v = list->head;
	while (v && unlikely(!hls_usable(&h->vp[v], cpu)) && hls_may_step(h))
		v = h->node[v].next;
	return v && hls_usable(&h->vp[v], cpu) ? v : 0;
}

HLS_GLOBAL_FUNC u32 checked_hls_search_usable(hls_t *h __arg_arena, u32 root, u32 cpu)
{
	u32 least = 0, v = root;
	while (v && hls_may_step(h)) {
		if (hls_usable(&h->vp[v], cpu) && (!least || heap_before(&h->node[v], &h->node[least])))
			least = v;
		v = heap_next(h, v);
	}
	return least;
}

static __always_inline u32 checked_hls_least_usable(hls_t *h, u32 root, u32 cpu)
{
	return !root || likely(hls_usable(in_register(&h->vp[root]), cpu))
		   ? root
		   : checked_hls_search_usable(h, root, cpu);
}

/* The words of a child of the running hook's scheduler; for another VP, the words of entry 0, which no VP has. */
static __always_inline u64 __arena *checked_hls_vp_words(hls_t *h, u32 v)
{
	vp_t *vp = in_register(&h->vp[hls_may_write(h, v) ? v : 0]);
	return vp->word;
}

/* From here on each name stands for both functions: in the file of a loaded policy it is the checking one. */
#define hls_throttle HLS_GUARD(hls_throttle)
#define hls_tell_parents HLS_GUARD(hls_tell_parents)
#define hls_told HLS_GUARD(hls_told)
#define hls_unthrottle HLS_GUARD(hls_unthrottle)
#define hls_recheck HLS_GUARD(hls_recheck)
#define hls_set_timer HLS_GUARD(hls_set_timer)
#define hls_first_usable HLS_GUARD(hls_first_usable)
#define hls_least_usable HLS_GUARD(hls_least_usable)
#define list_push_tail HLS_GUARD(list_push_tail)
#define list_push_head HLS_GUARD(list_push_head)
#define list_pop HLS_GUARD(list_pop)
#define list_remove HLS_GUARD(list_remove)
#define queue_push HLS_GUARD(queue_push)
#define queue_remove HLS_GUARD(queue_remove)
#define fifo_push HLS_GUARD(fifo_push)
#define fifo_remove HLS_GUARD(fifo_remove)
#define levels_push HLS_GUARD(levels_push)
#define levels_remove HLS_GUARD(levels_remove)
#define levels_take HLS_GUARD(levels_take)
#define heap_push HLS_GUARD(heap_push)
#define heap_begin HLS_GUARD(heap_begin)
#define heap_remove HLS_GUARD(heap_remove)
#define heap_pop HLS_GUARD(heap_pop)

#endif
