/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the pages of user-level schedulers lie (include/hls_pages.h), under the number that the scheduler has:
 * hls_scheduler.page. In the kernel each page is a map of its own, which user space creates and hands to the process;
 * until then there is none. Natively they lie behind the domain.
 */
#ifndef HLS_PORT_PAGES_H
#define HLS_PORT_PAGES_H

#include "../core.h"
#include "../../include/hls_pages.h"

#define HLS_MAX_PAGES 64 /* schedulers that have pages */

#ifdef __bpf__

#include "../../bpf/kernel.h"

/*
 * What each of the maps below holds: an array of one page. It states sizes, not types: for types that only a map in a
 * map names, the compiler tells libbpf nothing but the names.
 */
struct kernel_page_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct hls_kernel_page));
};

struct user_page_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct hls_user_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, HLS_MAX_PAGES + 1); /* no pages have the number 0 */
	__type(key, u32);
	__array(values, struct kernel_page_map);
} kernel_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, HLS_MAX_PAGES + 1);
	__type(key, u32);
	__array(values, struct user_page_map);
} user_pages SEC(".maps");

/* The page of this number, from 1 on, in a map of maps; NULL: there is none. */
static __always_inline void *port_page(void *pages, u32 number)
{
	u32 only = 0;
	void *map = bpf_map_lookup_elem(pages, &number);
	return map ? bpf_map_lookup_elem(map, &only) : NULL;
}

static __always_inline struct hls_kernel_page *port_kernel_page(const hls_t *h, u32 number)
{
	(void)h;
	return port_page(&kernel_pages, number);
}

static __always_inline struct hls_user_page *port_user_page(const hls_t *h, u32 number)
{
	(void)h;
	return port_page(&user_pages, number);
}

#else

struct hls_pages {
	struct hls_kernel_page kernel;
	struct hls_user_page user;
};

/* A domain of the native build, with room for the pages. */
struct hls_with_pages {
	struct hls hls;
	struct hls_pages pages[HLS_MAX_PAGES];
};

static __always_inline struct hls_pages *port_pages(const hls_t *h, u32 number)
{
	return number - 1 < HLS_MAX_PAGES ? &((struct hls_with_pages *)h)->pages[number - 1] : NULL;
}

static __always_inline struct hls_kernel_page *port_kernel_page(const hls_t *h, u32 number)
{
	struct hls_pages *pages = port_pages(h, number);
	return pages ? &pages->kernel : NULL;
}

static __always_inline struct hls_user_page *port_user_page(const hls_t *h, u32 number)
{
	struct hls_pages *pages = port_pages(h, number);
	return pages ? &pages->user : NULL;
}

#endif
#endif
