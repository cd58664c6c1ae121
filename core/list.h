/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue in order of arrival. Its members lie in an array and are named by index; 0 is none. Members may leave from
 * the middle.
 */
#ifndef HLS_LIST_H
#define HLS_LIST_H

#include "core.h"

struct hls_list {
	u32 head, tail;
};
typedef struct hls_list __arena list_t;

/* Adds node i behind the others. */
static __always_inline void list_push_tail(hls_t *h, list_t *list, u32 i)
{
	h->node[i].next = 0;
	h->node[i].prev = list->tail;
	if (list->tail)
		h->node[list->tail].next = i;
	else
		list->head = i;
	list->tail = i;
}

/* Adds node i before the others. */
static __always_inline void list_push_head(hls_t *h, list_t *list, u32 i)
{
	h->node[i].prev = 0;
	h->node[i].next = list->head;
	if (list->head)
		h->node[list->head].prev = i;
	else
		list->tail = i;
	list->head = i;
}

/* Removes the first member. */
static __always_inline void list_pop(hls_t *h, list_t *list)
{
	u32 next = h->node[list->head].next;
	list->head = next;
	if (next)
		h->node[next].prev = 0;
	else
		list->tail = 0;
}

/* Removes member i. */
static __always_inline void list_remove(hls_t *h, list_t *list, u32 i)
{
	u32 prev = h->node[i].prev, next = h->node[i].next;
	if (prev)
		h->node[prev].next = next;
	else
		list->head = next;
	if (next)
		h->node[next].prev = prev;
	else
		list->tail = prev;
}

#endif
