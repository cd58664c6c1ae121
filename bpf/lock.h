/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the domain, a ticket lock: CPUs get it in the order in which they asked. Virtual CPUs, which may stand
 * still when their turn comes, use a lock without tickets: the first CPU that tries it when it is free gets it, as with
 * the kernel's own locks there.
 *
 * Order: the kernel's run queue, then the domain; a CPU holds one domain's lock at a time, with interrupts off, and
 * takes no other lock under it. The holder may change the domain, and put a chosen thread into the dispatch buffer of
 * its CPU; it sends nothing: kicks and events follow when the lock is free.
 *
 * If a CPU cannot get the lock, the run ends. The domain is sealed then: no CPU gets the lock again, and the domain
 * stays as it is for user space to look at. A seal is never removed.
 */
#ifndef HLS_BPF_LOCK_H
#define HLS_BPF_LOCK_H

#include "maps.h"

/*
 * The kernel ends a function's loops after 250 ms. A virtual CPU that has the lock, or is next, may stand still for
 * longer: on a busy host one did for 4.3 s. So a CPU waits for 15 s, which is less than the time after which the kernel
 * complains about stuck CPUs.
 */
#define LOCK_SPINS (1 << 30)
#define LOCK_ROUNDS 60

/*
 * One in LOCK_HOLDS_PER_TIMED holds is timed, and checked: no other CPU has the lock, and the CPU that took the lock
 * lets it go. Reading the clock costs as much as the lock itself.
 */
#define LOCK_HOLDS_PER_TIMED 16

/*
 * Ends the run: sched_ext gives the threads to the kernel's own scheduler and reports the text, which has the numbers
 * where it says %llu, to the loader.
 */
#define end_run_with(text, ...)                                        \
	({                                                             \
		static char message[] = text;                          \
		unsigned long long numbers[] = {__VA_ARGS__};          \
		scx_bpf_error_bstr(message, numbers, sizeof(numbers)); \
	})
#define end_run(text) end_run_with(text, 0) /* the kernel wants one number at least */

/* The lock's word: the next ticket above, the ticket that has the lock below. Both count round. */
#define NEXT_TICKET (1ULL << 32)

static __always_inline u32 next_ticket(u64 word)
{
	return word >> 32;
}

static __always_inline u32 served_ticket(u64 word)
{
	return word;
}

/* Whether the CPUs are virtual ones; user space says so before it loads these programs. */
const volatile bool has_virtual_cpus SEC(".rodata.virtual");

/* Takes the lock of virtual CPUs, if it is free. */
static __always_inline bool try_lock(void)
{
	return !__sync_lock_test_and_set(&domain->is_taken, true);
}

/* Whether it is this ticket's turn. */
static __always_inline bool is_served(u32 ticket)
{
	u64 word = domain->lock;
	/* The exchange changes nothing; it orders all later reads behind itself. */
	return served_ticket(word) == ticket && __sync_val_compare_and_swap(&domain->lock, word, word) == word;
}

/*
 * Waits for the lock for a while, with this ticket, unless the CPUs are virtual. A global function: its loop has 250 ms
 * of its own, apart from its caller's.
 */
HLS_GLOBAL_FUNC u32 spin(u32 ticket)
{
	USES(arena);
	for (u32 i = opaque(0); i < LOCK_SPINS && !domain->sealed && can_loop; i++)
		if (has_virtual_cpus ? !domain->is_taken && try_lock() : is_served(ticket))
			return true;
	return false;
}

/* From now on no CPU gets the lock. */
static __always_inline void seal(void)
{
	__sync_lock_test_and_set(&domain->sealed, true);
}

/*
 * Waits until this CPU has the lock, or the domain is sealed. Returns whether it has the lock. By the hardware's clock,
 * as time_hold() does.
 */
HLS_GLOBAL_FUNC bool wait_for_lock(u32 ticket)
{
	u64 since = bpf_ktime_get_ns();
	for (u32 i = opaque(0); i < LOCK_ROUNDS && !domain->sealed && can_loop; i++)
		if (spin(ticket)) {
			u64 waited_ns = bpf_ktime_get_ns() - since;
			if (waited_ns > domain->longest_wait_ns)
				domain->longest_wait_ns = waited_ns;
			return !domain->sealed;
		}
	if (!domain->sealed) {
		seal();
		u64 word = domain->lock;
		end_run_with("the lock of the hierarchy cannot be had (ticket %llu; %llu is served, %llu is next)",
			     ticket, served_ticket(word), next_ticket(word));
	}
	return false;
}

/* Ends the run if `is` is wrong for the holder of the lock. */
#define check_holder(is, text)                                                                                     \
	do {                                                                                                       \
		if (unlikely(!(is)))                                                                               \
			end_run_with(text " (CPU %llu, holder %llu)", bpf_get_smp_processor_id(), domain->holder); \
	} while (0)

/*
 * Begins a hold that is timed. By the hardware's clock: scx_bpf_now() may stand still while the run queue's lock is
 * held, and the time noted in the run queue may be earlier than the time that was read just before.
 */
HLS_GLOBAL_FUNC u32 time_hold(void)
{
	check_holder(!domain->held_since_ns, "the lock of the hierarchy was taken while it was held");
	domain->holder = bpf_get_smp_processor_id();
	domain->held_since_ns = bpf_ktime_get_ns();
	return 0;
}

/* Takes the lock; false: the domain is sealed, and nothing in it may change. */
static __always_inline bool lock(void)
{
	u32 ticket = 0;
	bool is_mine;
	if (has_virtual_cpus) {
		is_mine = try_lock();
	} else {
		u64 word = __sync_fetch_and_add(&domain->lock, NEXT_TICKET);
		ticket = next_ticket(word);
		is_mine = served_ticket(word) == ticket;
	}
	if (unlikely(!is_mine) && !wait_for_lock(ticket))
		return false;
	if (unlikely(domain->sealed))
		return false;
	if (has_virtual_cpus)
		ticket = domain->served++;
	if (unlikely(!(ticket % LOCK_HOLDS_PER_TIMED)))
		time_hold();
	return true;
}

/* Ends a hold that was timed. */
HLS_GLOBAL_FUNC u32 end_timed_hold(void)
{
	u64 held_ns = bpf_ktime_get_ns() - domain->held_since_ns;
	check_holder(domain->holder == bpf_get_smp_processor_id(),
		     "the lock of the hierarchy was released by a CPU that did not hold it");
	domain->held_since_ns = 0;
	if (held_ns > domain->longest_hold_ns)
		domain->longest_hold_ns = held_ns;
	return 0;
}

static __always_inline void unlock(void)
{
	if (unlikely(domain->held_since_ns))
		end_timed_hold();
	/* The kernel orders an atomic operation behind earlier accesses only if its result is used. */
	u32 was = has_virtual_cpus ? __sync_lock_test_and_set(&domain->is_taken, false)
				   : __sync_fetch_and_add(&domain->served, 1);
	asm volatile("" : : "r"(was));
}

#endif
