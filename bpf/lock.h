/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the domain, a spin lock. It is taken inside the run queue's, with interrupts off. If a CPU cannot get
 * it the run ends: the domain is sealed, and nothing in it changes any more. Needs the map `arena`.
 */
#ifndef HLS_BPF_LOCK_H
#define HLS_BPF_LOCK_H

#include "domain.h"
#include "sched_ext.h"

/*
 * The kernel ends a function's loops after 250 ms. A virtual CPU that holds the lock may not run for longer: try
 * again.
 */
#define LOCK_SPINS (1 << 30)
#define LOCK_ROUNDS 16

/* Ends the run: sched_ext gives the threads to the kernel's own scheduler and reports the text to the loader. */
#define end_run(text)                                                                    \
	({                                                                               \
		static char message[] = text;                                            \
		unsigned long long nothing[1] = {0}; /* the kernel wants one at least */ \
		scx_bpf_error_bstr(message, nothing, sizeof(nothing));                   \
	})

static __always_inline bool try_lock(void)
{
	return !__sync_val_compare_and_swap(&domain->lock, FREE, HELD);
}

/* Waits for the lock for a while. A global function: its loop has 250 ms of its own, apart from its caller's. */
HLS_GLOBAL_FUNC u32 spin(void)
{
	USES(arena);
	for (u32 i = opaque(0); i < LOCK_SPINS && can_loop; i++)
		if (domain->lock == FREE && try_lock())
			return true;
	return false;
}

/* Lets no CPU have the lock any more: the domain stays as it is, for user space to look at. */
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
