/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which children of a scheduler want a CPU and are not throttled: so that a child for a free CPU is found without a
 * walk over all children.
 *
 * A pinned child lies in a search tree while it is READY. A child that is not pinned lies in a list while it is READY
 * or RUNNING, if its scheduler holds several VPs; a scheduler that holds one VP never looks for a child. In both, a
 * node holds the child's place in the order of children: newest first.
 */
#ifndef HLS_WANTING_H
#define HLS_WANTING_H

#include "search_tree.h"

/* The neighbours of a node of the list. */
enum { WANTING_PREV, WANTING_NEXT };

/* v becomes a child: it comes before its siblings. */
static __always_inline void wanting_register(hls_t *h, u32 v)
{
	tree_node_t *n = &h->wanting_node[v];
	n->key = ~h->seq++;
	n->seq = 0;
	n->height = 0;
}

/* The pinned child v is READY, and not throttled. */
static __always_inline void wanting_add_pinned(hls_t *h, u32 v)
{
	scheduler_t *sched = in_register(&h->scheduler[h->vp[v].parent]);
	sched->nr_pinned++;
	tree_push(h->wanting_node, &sched->pinned, v, h->vp[v].usable);
}

/* The pinned child v is no longer READY, or is throttled. */
static __always_inline void wanting_remove_pinned(hls_t *h, u32 v)
{
	scheduler_t *sched = in_register(&h->scheduler[h->vp[v].parent]);
	sched->nr_pinned--;
	tree_remove(h->wanting_node, &sched->pinned, v);
}

/* The child v, which is not pinned, wants a CPU. No effect if v is in the list. */
HLS_RARE_FUNC u32 wanting_link(hls_t *h __arg_arena, u32 v)
{
	scheduler_t *sched = &h->scheduler[h->vp[v].parent];
	tree_node_t *n = &h->wanting_node[v];
	if (n->height)
		return 0;
	n->height = 1;
	n->child[WANTING_PREV] = 0;
	n->child[WANTING_NEXT] = sched->first_wanting;
	if (sched->first_wanting)
		h->wanting_node[sched->first_wanting].child[WANTING_PREV] = v;
	sched->first_wanting = v;
	return 0;
}

/* The child v, which is not pinned, no longer wants a CPU, or is throttled. No effect if v is not in the list. */
HLS_RARE_FUNC u32 wanting_unlink(hls_t *h __arg_arena, u32 v)
{
	tree_node_t *n = &h->wanting_node[v];
	u32 prev = n->child[WANTING_PREV], next = n->child[WANTING_NEXT];
	if (!n->height)
		return 0;
	n->height = 0;
	if (prev)
		h->wanting_node[prev].child[WANTING_NEXT] = next;
	else
		h->scheduler[h->vp[v].parent].first_wanting = next;
	if (next)
		h->wanting_node[next].child[WANTING_PREV] = prev;
	return 0;
}

/* The child v, which is not READY, is about to be pinned or unpinned: it leaves the list. */
static __always_inline void wanting_forget(hls_t *h, u32 v)
{
	if (h->scheduler[h->vp[v].parent].nr_up > 1)
		wanting_unlink(h, v);
	h->wanting_node[v].height = 0; /* left over from a list that ended when s lost its second VP */
}

/* The READY child v is no longer throttled. */
static __always_inline void wanting_add(hls_t *h, u32 v)
{
	const vp_t *vp = in_register(&h->vp[v]);
	if (vp->flags & HLS_PINNED)
		wanting_add_pinned(h, v);
	else if (in_register(&h->scheduler[vp->parent])->nr_up > 1)
		wanting_link(h, v);
}

/* The READY child v is throttled, or WAITING from now on. */
static __always_inline void wanting_remove(hls_t *h, u32 v)
{
	const vp_t *vp = in_register(&h->vp[v]);
	if (vp->flags & HLS_PINNED)
		wanting_remove_pinned(h, v);
	else if (in_register(&h->scheduler[vp->parent])->nr_up > 1)
		wanting_unlink(h, v);
}

/*
 * s has got a second VP; it has children already only if that VP is a whole CPU. Makes the list of its children. This
 * is the only walk over all children; it is made when a CPU becomes the second one of a domain.
 */
HLS_RARE_FUNC u32 wanting_begin(hls_t *h __arg_arena, u32 s)
{
	h->scheduler[s].first_wanting = 0;
	for_each_child (h, v, s) {
		const vp_t *vp = &h->vp[v];
		if (!(vp->flags & HLS_PINNED)) {
			h->wanting_node[v].height = 0;
			if (vp->state != HLS_WAITING && !(vp->flags & HLS_THROTTLED))
				wanting_link(h, v);
		}
	}
	return 0;
}

/*
 * The first READY child of s that is neither throttled nor pinned, in the order of children; 0: none. The list is in
 * another order. While CPUs are free it is short: it has not many more members than s holds VPs. It is long when a CPU
 * comes online while all others are busy; then, probably, one of the first children in order is READY and ends the
 * search. Without the list (s holds one VP) only a CPU that comes online, and the fallback, have to search.
 */
static __always_inline u32 wanting_first_unpinned(hls_t *h, u32 s)
{
	const scheduler_t *sched = &h->scheduler[s];
	u32 first = 0, child = sched->first_child, v = sched->nr_up > 1 ? sched->first_wanting : 0;
	bool has_list = v != 0;
	if (sched->nr_ready <= sched->nr_pinned)
		return 0;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && child && can_loop; i++) {
		const vp_t *vp = &h->vp[child];
		if (vp->state == HLS_READY && !(vp->flags & (HLS_THROTTLED | HLS_PINNED)))
			return child;
		child = vp->sib_next;
		if (!has_list)
			continue;
		const tree_node_t *n = &h->wanting_node[v];
		if (h->vp[v].state == HLS_READY && (!first || tree_before(n, &h->wanting_node[first])))
			first = v;
		v = n->child[WANTING_NEXT];
		if (!v)
			break;
	}
	return first;
}

/*
 * The first READY child of s, in the order of children, that can use one of these CPUs; 0: none. HLS_NEVER: any child
 * will do.
 */
HLS_RARE_FUNC u32 wanting_first(hls_t *h __arg_arena, u32 s, u64 cpus)
{
	u32 root = h->scheduler[s].pinned, unpinned = wanting_first_unpinned(h, s);
	u32 pinned =
	    cpus == HLS_NEVER ? tree_first(h->wanting_node, root) : tree_first_usable(h->wanting_node, root, cpus);
	if (!pinned || !unpinned)
		return pinned ? pinned : unpinned;
	return tree_before(&h->wanting_node[pinned], &h->wanting_node[unpinned]) ? pinned : unpinned;
}

/* Whether the child v is in its tree or list exactly if it has to be there. */
static __always_inline bool wanting_is_sound_for(hls_t *h, u32 v)
{
	const vp_t *vp = &h->vp[v];
	const scheduler_t *sched = &h->scheduler[vp->parent];
	bool able = vp->state == HLS_READY && !(vp->flags & HLS_THROTTLED),
	     is_there = h->wanting_node[v].height != 0;
	if (vp->flags & HLS_PINNED)
		return vp->state == HLS_RUNNING || (able == is_there && (!able || sched->nr_pinned));
	return sched->nr_up < 2 || (able || vp->state == HLS_RUNNING) == is_there;
}

/* Whether a READY child of s can use the CPU. */
static __always_inline bool wanting_any(const hls_t *h, u32 s, u32 cpu)
{
	const scheduler_t *sched = &h->scheduler[s];
	if (sched->nr_ready > sched->nr_pinned)
		return true;
	return sched->pinned && ((h->wanting_node[sched->pinned].below >> cpu) & 1);
}

#endif
