/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The pages of schedulers with a policy that has pages (hls_policy.has_pages). The core gives each such scheduler the
 * number of a pair of pages, from 1 on, for its lifetime; 0: all were taken, and it has none.
 */
#ifndef HLS_USER_PAGES_H
#define HLS_USER_PAGES_H

#include "policy.h"
#include "port/pages.h"

/* Reads or writes a word of a page once, as it stands there. */
#define PAGE_WORD(word) (*(volatile hls_word *)&(word))

/* Makes the compiler write first what stands before this. */
#define PAGE_BARRIER() asm volatile("" ::: "memory")

/* The pages of s; NULL: it has none. */
static __always_inline struct hls_kernel_page *kernel_page(const hls_t *h, u32 s)
{
	return port_kernel_page(h, in_register(&h->scheduler[s])->page);
}

static __always_inline struct hls_user_page *user_page(const hls_t *h, u32 s)
{
	return port_user_page(h, in_register(&h->scheduler[s])->page);
}

/* Writes zeroes, a word at a time. */
#define CLEAR_PAGE(page)                                                                       \
	do {                                                                                   \
		hls_word *clear_words = (hls_word *)(page);                                    \
		for (u32 n_clear = 0; n_clear < sizeof(*(page)) / sizeof(hls_word); n_clear++) \
			clear_words[n_clear] = 0;                                              \
	} while (0)

/* Resets the pages of s to the state before any event. */
HLS_GLOBAL_FUNC u32 clear_pages(hls_t *h __arg_arena, u32 s)
{
	struct hls_kernel_page *kernel = kernel_page(h, s);
	struct hls_user_page *user = user_page(h, s);
	if (kernel) {
		CLEAR_PAGE(kernel);
		kernel->version = HLS_PAGES_VERSION;
	}
	if (user)
		CLEAR_PAGE(user);
	return 0;
}

/* Gives s a pair of pages; none if all are taken. */
static __always_inline void take_pages(hls_t *h, u32 s)
{
	u64 free = ~h->pages_taken;
	h->scheduler[s].page = 0;
	if (!free)
		return;
	u32 place = __builtin_ctzll(free);
	h->pages_taken |= 1ULL << place;
	h->scheduler[s].page = place + 1;
	clear_pages(h, s);
}

/* Takes the pages of s back. */
static __always_inline void give_pages_back(hls_t *h, u32 s)
{
	u32 number = h->scheduler[s].page;
	if (number)
		h->pages_taken &= ~(1ULL << (number - 1));
	h->scheduler[s].page = 0;
}

/* The words of a user page. */
#define HLS_USER_WORDS (sizeof(struct hls_user_page) / sizeof(hls_word))

/* Writes a word into the user page of s, as its process does. */
HLS_ENTRY s64 hls_write_page(hls_t *h __arg_arena, u32 s, u32 word, u64 value)
{
	if (s >= HLS_MAX_SCHEDULERS || !h->scheduler[s].policy)
		return -HLS_E_NOT_FOUND;
	struct hls_user_page *user = user_page(h, s);
	if (!user)
		return -HLS_E_NOT_FOUND;
	if (word >= HLS_USER_WORDS)
		return -HLS_E_PARAM;
	((hls_word *)user)[word] = value;
	return 0;
}

#endif
