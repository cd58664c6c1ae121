/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queues of loaded policies: the functions of list.h, heap.h and levels.h with a check before them.
 *
 * A VP has one node, whatever queue it is in. A policy that leaves a VP in its queue after unregister_vp still has the
 * VP's index there, while another scheduler has put the VP into a queue of its own: a change of the first queue would
 * tear the second. So each function first looks at the nodes to which it would write. Unless all are those of children
 * of the scheduler whose hook runs, the scheduler is faulty and the function does nothing.
 */
#ifndef HLS_GUARD_QUEUES_H
#define HLS_GUARD_QUEUES_H

#include "guard.h"
#include "levels.h"

/* The domain. Policies pass the array of nodes, which is always that of the VPs, h->node. */
static __always_inline hls_t *hls_of_nodes(node_t *nodes)
{
	return (hls_t *)((char __arena *)nodes - __builtin_offsetof(struct hls, node));
}

/* Whether the running hook may write to node i. 0 is no node: nothing is written to it. */
static __always_inline bool hls_may_write(hls_t *h, u32 i)
{
	if (likely(!i || (i < HLS_MAX_VPS && in_register(&h->vp[i])->parent == h->hook_scheduler)))
		return true;
	hls_report_wrong_target(h);
	return false;
}

static __always_inline void checked_list_push_tail(node_t *nodes, list_t *list, u32 i)
{
	hls_t *h = hls_of_nodes(nodes);
	if (hls_may_write(h, i) && hls_may_write(h, list->tail))
		list_push_tail(nodes, list, i);
}

static __always_inline void checked_list_push_head(node_t *nodes, list_t *list, u32 i)
{
	hls_t *h = hls_of_nodes(nodes);
	if (hls_may_write(h, i) && hls_may_write(h, list->head))
		list_push_head(nodes, list, i);
}

/* list_pop() writes to the second member, not to the first, which leaves. */
static __always_inline void checked_list_pop(node_t *nodes, list_t *list)
{
	if (hls_may_write(hls_of_nodes(nodes), nodes[list->head].next))
		list_pop(nodes, list);
}

/* Whether the running hook may write to node i and to its neighbours in a list. */
static __always_inline bool hls_may_unlink(node_t *nodes, u32 i)
{
	hls_t *h = hls_of_nodes(nodes);
	return hls_may_write(h, i) && hls_may_write(h, nodes[i].prev) && hls_may_write(h, nodes[i].next);
}

static __always_inline void checked_list_remove(node_t *nodes, list_t *list, u32 i)
{
	if (hls_may_unlink(nodes, i))
		list_remove(nodes, list, i);
}

/* Behind the queue of the last level lie words of something else. */
static __always_inline bool hls_is_level(hls_t *h, u64 level)
{
	if (likely(level < HLS_LEVELS))
		return true;
	hls_report_wrong_target(h);
	return false;
}

static __always_inline void checked_levels_push(node_t *nodes, levels_t *levels, u64 level, u32 v, bool behind)
{
	hls_t *h = hls_of_nodes(nodes);
	if (!hls_is_level(h, level))
		return;
	const list_t *queue = &levels->queue[level];
	if (hls_may_write(h, v) && hls_may_write(h, behind ? queue->tail : queue->head))
		levels_push(nodes, levels, level, v, behind);
}

static __always_inline void checked_levels_remove(node_t *nodes, levels_t *levels, u64 level, u32 v)
{
	if (hls_is_level(hls_of_nodes(nodes), level) && hls_may_unlink(nodes, v))
		levels_remove(nodes, levels, level, v);
}

/* levels_take_usable(), checked: the first VP of the highest level cannot use the CPU. */
HLS_GLOBAL_FUNC u32 checked_levels_take_usable(hls_t *h __arg_arena, levels_t *levels __arg_arena, u32 cpu)
{
	u32 level = levels_usable(h, levels, cpu);
	if (level >= HLS_LEVELS)
		return 0;
	u32 v = hls_first_usable(h, &levels->queue[level], cpu);
	checked_levels_remove(h->node, levels, level, v);
	return v;
}

static __always_inline u32 checked_levels_take(hls_t *h, levels_t *levels, u32 cpu)
{
	u32 first = levels_first(levels)->head;
	if (unlikely(!hls_usable(in_register(&h->vp[first]), cpu)))
		return checked_levels_take_usable(h, levels, cpu);
	return hls_may_write(h, h->node[first].next) ? levels_take(h, levels, cpu) : 0;
}

/* Whether the running hook may write to the right spine of the heap with root i, along which heaps are merged. */
static __always_inline bool hls_may_join(hls_t *h, u32 i)
{
	u32 d = opaque(0);
	for (; d < HLS_HEAP_SPINE && i && hls_may_write(h, i) && can_loop; d++)
		i = h->node[i].right;
	return !i;
}

/* The same of all nodes that change when node i leaves its heap: its children's spines, and the nodes above it. */
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

HLS_GLOBAL_FUNC u32 checked_heap_push(node_t *nodes __arg_arena, u32 __arena *root __arg_arena, u32 i, u64 key,
				      u32 seq)
{
	hls_t *h = hls_of_nodes(nodes);
	if (hls_may_write(h, i) && hls_may_join(h, *root))
		heap_push(nodes, root, i, key, seq);
	return 0;
}

static __always_inline void checked_heap_begin(node_t *nodes, u32 __arena *root, u32 i, u64 key, u32 seq)
{
	if (hls_may_write(hls_of_nodes(nodes), i))
		heap_begin(nodes, root, i, key, seq);
}

HLS_GLOBAL_FUNC u32 checked_heap_remove(node_t *nodes __arg_arena, u32 __arena *root __arg_arena, u32 i)
{
	if (hls_may_leave(hls_of_nodes(nodes), i))
		heap_remove(nodes, root, i);
	return 0;
}

static __always_inline void checked_heap_pop(node_t *nodes, u32 __arena *root)
{
	u32 i = *root;
	if (unlikely(nodes[i].left))
		checked_heap_remove(nodes, root, i);
	else if (hls_may_write(hls_of_nodes(nodes), i))
		heap_pop(nodes, root);
}

/* The words of a child of the running hook's scheduler; for another VP, the words of entry 0, which no VP has. */
static __always_inline u64 __arena *checked_hls_vp_words(hls_t *h, u32 v)
{
	vp_t *vp = in_register(&h->vp[hls_may_write(h, v) ? v : 0]);
	return vp->word;
}

/* From here on each name stands for both: in the file of a loaded policy it is the function that checks. */
#define hls_throttle HLS_GUARD(hls_throttle)
#define hls_unthrottle HLS_GUARD(hls_unthrottle)
#define hls_recheck HLS_GUARD(hls_recheck)
#define hls_set_timer HLS_GUARD(hls_set_timer)
#define list_push_tail HLS_GUARD(list_push_tail)
#define list_push_head HLS_GUARD(list_push_head)
#define list_pop HLS_GUARD(list_pop)
#define list_remove HLS_GUARD(list_remove)
#define levels_push HLS_GUARD(levels_push)
#define levels_remove HLS_GUARD(levels_remove)
#define levels_take HLS_GUARD(levels_take)
#define heap_push HLS_GUARD(heap_push)
#define heap_begin HLS_GUARD(heap_begin)
#define heap_remove HLS_GUARD(heap_remove)
#define heap_pop HLS_GUARD(heap_pop)

#endif
