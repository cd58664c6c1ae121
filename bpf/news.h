/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What user space is to look at. The state of threads is in the arena; the ring only wakes user space, so that nothing
 * is lost, however much happens before user space looks.
 */
#ifndef HLS_BPF_NEWS_H
#define HLS_BPF_NEWS_H

#include "maps.h"

/* Wakes user space, unless it was woken already. Never under the lock. */
HLS_GLOBAL_FUNC u32 announce(void)
{
	u32 nothing = 0;
	/* An exchange, so that user space, which clears the flag before it looks, sees what was noted before. */
	if (__sync_lock_test_and_set(&domain->is_announced, true))
		return 0;
	if (bpf_ringbuf_output(&doorbell, &nothing, sizeof(nothing), 0))
		domain->is_announced = false;
	return 0;
}

/* Notes for user space that something has happened to the thread of v. */
static __always_inline void note_change(u32 v, u32 change)
{
	if (v >= HLS_MAX_VPS)
		return;
	__sync_fetch_and_or(&domain->thread[v].changes, change);
	__sync_fetch_and_or(&domain->changed[v / 64], 1ULL << (v % 64));
}

/* The word that names the VP of a thread, whatever the thread's class is now; 0: it has none. */
static __always_inline u64 kept_word(struct task_struct *p)
{
	u64 *word = bpf_task_storage_get(&task_vps, p, NULL, 0);
	return word ? *word : 0;
}

/* The VP of a thread, whatever the thread's class is now; 0: it has none. */
static __always_inline u32 kept_vp(struct task_struct *p)
{
	return vp_number(kept_word(p));
}

#endif
