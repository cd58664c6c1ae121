/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue in order of arrival. Its members lie in an array and are named by index; 0 is none. Members may leave from
 * the middle.
 */
#ifndef HLS_LIST_H
#define HLS_LIST_H

#include "hls.h"

struct hls_list {
	u32 head, tail;
};
typedef struct hls_list __arena list_t;

/* Adds node i behind the others. */
static __always_inline void list_push_tail(node_t *nodes, list_t *list, u32 i)
{
	nodes[i].next = 0;
	nodes[i].prev = list->tail;
	if (list->tail)
		nodes[list->tail].next = i;
	else
		list->head = i;
	list->tail = i;
}

/* Adds node i before the others. */
static __always_inline void list_push_head(node_t *nodes, list_t *list, u32 i)
{
	nodes[i].prev = 0;
	nodes[i].next = list->head;
	if (list->head)
		nodes[list->head].prev = i;
	else
		list->tail = i;
	list->head = i;
}

/* Removes the first member. */
static __always_inline void list_pop(node_t *nodes, list_t *list)
{
	u32 next = nodes[list->head].next;
	list->head = next;
	if (next)
		nodes[next].prev = 0;
	else
		list->tail = 0;
}

/* Removes member i. */
static __always_inline void list_remove(node_t *nodes, list_t *list, u32 i)
{
	u32 prev = nodes[i].prev, next = nodes[i].next;
	if (prev)
		nodes[prev].next = next;
	else
		list->head = next;
	if (next)
		nodes[next].prev = prev;
	else
		list->tail = prev;
}

#endif
