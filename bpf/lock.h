/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the domain. Taken inside the run queue's, with interrupts off. One that cannot be had ends the run: the
 * domain is sealed then, and nothing there changes any more. Needs the map of the arena, `arena`.
 */
#ifndef HLS_BPF_LOCK_H
#define HLS_BPF_LOCK_H

#include "domain.h"
#include "sched_ext.h"

/* The kernel ends a function's loops after 250 ms; the CPU of the holder, if a virtual one, may be away for longer. */
#define LOCK_SPINS (1 << 30)
#define LOCK_ROUNDS 16

/* Ends the run: sched_ext takes its threads back and tells the loader. */
#define end_run(text)                                                      \
	({                                                                 \
		static char message[] = text;                              \
		unsigned long long nothing[1] = {0}; /* may not be none */ \
		scx_bpf_error_bstr(message, nothing, sizeof(nothing));     \
	})

static __always_inline bool try_lock(void)
{
	return !__sync_val_compare_and_swap(&domain->lock, FREE, HELD);
}

/* Waits for the lock for a while; a function of its own, so that its time is not that of the loops of its caller. */
HLS_GLOBAL_FUNC u32 spin(void)
{
	USES(arena);
	for (u32 i = opaque(0); i < LOCK_SPINS && can_loop; i++)
		if (domain->lock == FREE && try_lock())
			return true;
	return false;
}

/* Nobody has the lock from now on: the hierarchy stays as it is, for user space to look at. */
static __always_inline void seal(void)
{
	__sync_lock_test_and_set(&domain->lock, SEALED);
}

static __noinline bool wait_for_lock(void)
{
	for (u32 i = 0; i < LOCK_ROUNDS && domain->lock != SEALED; i++)
		if (spin())
			return true;
	if (domain->lock != SEALED) {
		seal();
		end_run("the lock of the hierarchy cannot be had");
	}
	return false;
}

static __always_inline bool lock(void)
{
	return likely(try_lock()) || wait_for_lock();
}

static __always_inline void unlock(void)
{
	__sync_lock_test_and_set(&domain->lock, FREE);
}

#endif
