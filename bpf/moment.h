/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A moment: a thread has a CPU without a grant for a short time, which is stolen time for the thread to which that CPU
 * is granted. So starved threads (rescue.h) and urgent ones (urgent.h) make progress. A moment ends when its time is
 * over, when its thread blocks, and when the CPU decides anew. The moment of a holder (holders.h) also ends when the
 * holder has let its lock go: the CPU's timer looks every LOOK_NS, and so does a thread that is woken to get the lock.
 * No urgent thread cuts short the moment of another: otherwise they could take the CPU from each other for ever.
 */
#ifndef HLS_BPF_MOMENT_H
#define HLS_BPF_MOMENT_H

#include "clock.h"
#include "cpus.h"
#include "holders.h"

/* Starved threads get the CPU for 1 / MOMENT_PART of a turn; urgent ones pay MOMENT_PART times what they get. */
#define MOMENT_PART 20
/* How long an urgent thread has a CPU at a time. */
#define URGENT_MOMENT_NS HLS_MS(1)
/* How long a thread for which RCU may wait has a CPU at most. */
#define READERS_MOMENT_NS HLS_MS(1)

/* How often the timer looks whether a holder has let its lock go. */
#define LOOK_NS HLS_US(50)

/* Whether RCU may wait for the thread of v. Without timers this program's own read section counts as its thread's. */
static __always_inline bool is_reader(u32 v)
{
	const struct task_struct *p = thread_of(v);
	int own = !has_timers && p == bpf_get_current_task_btf();
	return p && HAS_FIELD(p->rcu_read_lock_nesting) && p->rcu_read_lock_nesting > own;
}

/* Has this CPU's timer look at its moment. */
static __always_inline void look_later(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u64 at = c->rescued_until_ns;
	if (c->is_paid && !domain->thread[c->rescued].is_dying && domain->thread[c->rescued].is_holder &&
	    at > now + LOOK_NS)
		at = now + LOOK_NS;
	set_timer_no_later(cpu, at, now);
}

/* The lag of the thread of v, which is on this CPU, or on none. */
static __always_inline u64 lag_of_vp(u32 v, u64 now)
{
	const struct task_struct *p = thread_of(v);
	return p ? lag_of(p, now) : 0;
}

/* CPU time of the thread in its present moment: without interrupts and other threads that came between. */
static __always_inline u64 had_of_moment_ns(const struct engine_cpu __arena *c, u64 now)
{
	s64 gone_ns = now - c->rescued_since_ns, stolen_ns = lag_of_vp(c->rescued, now) - c->rescued_lag_ns;
	if (gone_ns < stolen_ns)
		return 0;
	return stolen_ns > 0 ? gone_ns - stolen_ns : gone_ns;
}

/* Gives the thread of v, which may use this CPU, the CPU for a moment. From dispatch(), under the lock. */
static __always_inline void begin_moment(u32 cpu, u32 v, u64 length_ns, bool is_paid, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	c->rescued = v;
	c->rescued_since_ns = now;
	c->rescued_until_ns = now + length_ns;
	c->is_paid = is_paid;
	c->rescued_lag_ns = lag_of_vp(v, now);
	domain->thread[v].queued_at_ns = 0;
	look_later(cpu, now);
	insert_thread_of(v);
}

/*
 * Ends the moment on the CPU. Urgent threads pay for it, and so does a scheduler above the thread (core/debts.c).
 * Returns a mask of that CPU, which is to decide anew. To be called under the lock.
 */
HLS_GLOBAL_FUNC u64 end_moment(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u64 since = c->rescued_since_ns, paid = c->urgent_paid_ns > since ? c->urgent_paid_ns : since;
	u32 v = c->rescued;
	if (v && v < HLS_MAX_VPS) {
		u64 had_ns = had_of_moment_ns(c, now);
		if (c->is_paid)
			c->urgent_paid_ns = paid + MOMENT_PART * had_ns;
		hls_owe(&domain->hls, v, had_ns, not_before_ns(now));
	}
	c->rescued = 0;
	return 1ULL << cpu;
}

/* Whether this CPU's current thread is the granted one, and not the thread that has the CPU for a moment. */
static __always_inline bool was_cut_short(u32 cpu)
{
	u32 v = vp_of(bpf_get_current_task_btf());
	return v && v == granted_on(cpu) && v != domain->cpu[cpu].rescued;
}

/*
 * The timer of a CPU went off during a moment. Returns a mask of that CPU if the moment is over, else 0. To be called
 * under the lock.
 */
HLS_GLOBAL_FUNC u64 look_at_moment(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u32 v = c->rescued < HLS_MAX_VPS ? c->rescued : 0;
	struct engine_thread __arena *t = &domain->thread[v];
	bool is_done = c->is_paid && t->is_holder && !t->is_dying && !holds(v, domain->holds[v]);
	if (now >= c->rescued_until_ns && now < c->rescued_since_ns + READERS_MOMENT_NS && is_reader(v))
		c->rescued_until_ns = now + domain->rescue_moment_ns;
	if (is_done)
		t->is_holder = false;
	if (is_done || now >= c->rescued_until_ns)
		return end_moment(cpu, now);
	look_later(cpu, now);
	return 0;
}

/*
 * The thread of v, which has stalled, is runnable; `is_granted`: it has a CPU. If it was woken to get a lock, the
 * waking thread has let the lock go, and no longer needs its moment: it would come back for the lock. And if the woken
 * thread has stalled for STALL_NS, it is a holder itself. Returns a mask of this CPU, if it is to decide. To be called
 * under the lock.
 */
HLS_GLOBAL_FUNC u64 hand_lock_on(u32 v, u32 is_granted, u64 now)
{
	u32 cpu = bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1), waker = domain->cpu[cpu].rescued;
	const struct task_struct *p = thread_of(v);
	u64 blocker = p ? lock_before(p) : 0;
	if (v >= HLS_MAX_VPS || waker >= HLS_MAX_VPS || !blocker)
		return 0;
	if (!is_granted && now >= domain->stalled_at_ns[v] + STALL_NS) {
		domain->thread[v].is_holder = true;
		domain->holds[v] = blocker;
	}
	if (domain->thread[waker].is_dying || !domain->thread[waker].is_holder ||
	    !is_one_lock(domain->holds[waker], blocker) || holds(waker, blocker))
		return 0;
	domain->thread[waker].is_holder = false;
	return end_moment(cpu, now);
}

#endif
