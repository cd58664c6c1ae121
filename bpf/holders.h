/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that waits for a CPU may hold a lock of the kernel, for example a folder's lock, or may be the next thread
 * to get it. Threads that need the lock, reserved ones too, would wait until the holder's scheduler gives it a CPU. So
 * a holder is urgent (urgent.h) from the time when a thread has stalled for the lock for STALL_NS until the holder has
 * let go.
 *
 * The kernel says for which lock a thread sleeps (`blocker`, of mutexes, semaphores and rw-semaphores), and the lock
 * says which thread has it. A semaphore that another thread has given back still names the thread that took it. A lock
 * that was let go has no owner until the next thread, which was woken, has a CPU; the `blocker` of that thread still
 * names the lock. A thread in a sleep that a signal may end has no `blocker`, or does not count as stalled.
 *
 * A lock with several readers names the last one to come, which may have gone. Then each thread that has lost its CPU
 * inside the kernel may be a reader: one after the other has a moment, as starved threads have (rescue.h).
 */
#ifndef HLS_BPF_HOLDERS_H
#define HLS_BPF_HOLDERS_H

#include "due.h"

/* The watcher looks for holders when a thread has stalled for this time, and at this interval. */
#define STALL_NS HLS_MS(10)

/* The types of locks, in the lowest bits of `blocker`; the rest is the lock's address. */
enum blocker_type { OF_MUTEX, OF_SEMAPHORE, OF_RWSEM_READER, OF_RWSEM_WRITER, BLOCKER_TYPES };
/* The lowest bits of a lock's owner are flags. */
#define OWNER_FLAGS 7UL
#define OWNER_READS 1UL
/* The bytes on the stack of a thread that has lost its CPU in user space, at most. */
#define WAY_FROM_USER_SPACE 640

static __always_inline bool is_one_lock(u64 one, u64 other)
{
	return (one ^ other) < BLOCKER_TYPES;
}

/* Whether the kernel says for which lock a thread sleeps, and which thread has it: not under PREEMPT_RT. */
static __always_inline bool can_see_locks(void)
{
	return HAS_FIELD(((struct task_struct *)NULL)->blocker) && HAS_FIELD(((struct mutex *)NULL)->owner) &&
	       HAS_FIELD(((struct rw_semaphore *)NULL)->owner);
}

/* The lock for which p sleeps, or which p is about to get; 0: none that the kernel names. */
static __always_inline u64 lock_before(const struct task_struct *p)
{
	return can_see_locks() ? p->blocker : 0;
}

/* What the lock says of its owner: the thread's address, and flags; 0: there is none. */
static __always_inline u64 owner_word(u64 blocker)
{
	u64 lock = blocker & -BLOCKER_TYPES, type = blocker & (BLOCKER_TYPES - 1), owner = 0;
	if (!can_see_locks())
		return 0;
	const void *at = &((struct rw_semaphore *)lock)->owner;
	if (type == OF_MUTEX)
		at = &((struct mutex *)lock)->owner;
	else if (type == OF_SEMAPHORE)
		at = &((struct semaphore *)lock)->last_holder;
	bpf_probe_read_kernel(&owner, sizeof(owner), at);
	return owner;
}

/* The address of the thread that has the lock; 0: none. */
static __always_inline u64 owner_of(u64 blocker)
{
	return owner_word(blocker) & ~OWNER_FLAGS;
}

/* Whether the lock is held by readers, perhaps several. */
static __always_inline bool has_readers(u64 blocker)
{
	return (blocker & (BLOCKER_TYPES - 1)) >= OF_RWSEM_READER && (owner_word(blocker) & OWNER_READS);
}

/*
 * Whether a thread that waits for a CPU has probably lost it inside the kernel: where it was in user space, its stack
 * has only the way from there to the scheduler.
 */
static __always_inline bool is_in_kernel(struct task_struct *p)
{
	/* The verifier lets us subtract these in 32 bits. */
	return HAS_FIELD(p->thread.sp) && (u32)(u64)bpf_task_pt_regs(p) - (u32)p->thread.sp > WAY_FROM_USER_SPACE;
}

/* The VP of the thread at this address; 0: none. The thread may have gone. */
static __always_inline u32 vp_at(u64 address)
{
	u64 word = 0;
	bpf_probe_read_kernel(&word, sizeof(word), &((struct task_struct *)address)->scx.dsq_vtime);
	u32 v = vp_number(word);
	return v < HLS_MAX_VPS && (u64)thread_of(v) == address ? v : 0;
}

/* Whether the thread of v has the lock, or is about to. */
static __always_inline bool holds(u32 v, u64 blocker)
{
	const struct task_struct *p = thread_of(v);
	return p && (lock_before(p) == blocker || owner_of(blocker) == (u64)p);
}

/*
 * The thread of v goes to sleep on this CPU, against its will; perhaps for a lock. A thread that has had only a moment
 * since its last stall is still in that stall. If no watch is on, this CPU's timer is to begin one. To be called under
 * the lock.
 */
HLS_GLOBAL_FUNC u32 begin_stall(u32 v, u32 cpu, u64 now)
{
	const struct task_struct *p = thread_of(v);
	if (v >= HLS_MAX_VPS || cpu >= HLS_MAX_CPUS || !p)
		return 0;
	domain->hls.vp[v].flags |= HLS_STALLED;
	if (!lock_before(p))
		return 0;
	if (domain->cpu[cpu].rescued != v || !domain->stalled_at_ns[v])
		domain->stalled_at_ns[v] = now;
	if (!domain->is_watched) {
		domain->wants_watch = true;
		set_timer_no_later(cpu, now + STALL_NS, now);
	}
	return 0;
}

/* The thread of v no longer stalls, unless it has begun to stall again. */
HLS_GLOBAL_FUNC u32 end_stall(u32 v)
{
	unsigned long irq;
	if (v >= HLS_MAX_VPS)
		return 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		const struct task_struct *p = thread_of(v);
		if (!p || !lock_before(p))
			domain->stalled_at_ns[v] = 0;
		unlock();
	}
	bpf_local_irq_restore(&irq);
	return 0;
}

#endif
