/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Urgent threads must make progress in the kernel soon, whatever their schedulers give them: threads that end (ends.h),
 * and threads that hold a lock of the kernel for which others wait (holders.h). Each CPU has a list for each kind of
 * urgent threads that wait for it; such a thread gets the CPU for a moment at once, and again until it is no longer
 * urgent. The two lists take turns: so nobody holds up the others by killing processes all the time. Other threads lose
 * at most 6 ms of a CPU in a row to urgent threads, and in the long run a twentieth of it, as they do to starved ones.
 */
#ifndef HLS_BPF_URGENT_H
#define HLS_BPF_URGENT_H

#include "rescue.h"

/* The most threads that a decision looks at to find one that is still urgent. */
#define URGENT_LOOKS 8

static __always_inline bool is_urgent(const struct engine_thread __arena *t)
{
	return t->is_dying || t->is_holder;
}

/* Puts v at the end of one of the CPU's lists of urgent threads. */
static __always_inline void push_urgent(struct engine_cpu __arena *c, u32 v)
{
	struct engine_thread __arena *t = &domain->thread[v];
	u32 urgency = t->is_dying ? ENDS : HOLDS;
	t->is_listed = true;
	t->next_urgent = 0;
	if (c->urgent[urgency])
		domain->thread[c->urgent_last[urgency]].next_urgent = v;
	else
		c->urgent[urgency] = v;
	c->urgent_last[urgency] = v;
}

/*
 * Makes a CPU that the urgent thread of v may use give the thread a moment. Returns that CPU, which is to decide, as a
 * mask; 0: the thread does not wait, or is listed already, or no such CPU is online; or a thread has the CPU for a
 * moment, after which the CPU decides anyway. To be called under the lock.
 */
HLS_GLOBAL_FUNC u64 list_urgent(u32 v)
{
	if (v >= HLS_MAX_VPS)
		return 0;
	struct engine_thread __arena *t = &domain->thread[v];
	u64 usable = t->cpus & ~domain->hls.offline;
	if (!t->queued_at_ns || t->is_listed || !usable)
		return 0;
	u32 cpu = domain->hls.vp[v].cpu & (HLS_MAX_CPUS - 1);
	if (!((usable >> cpu) & 1))
		cpu = __builtin_ctzll(usable);
	push_urgent(&domain->cpu[cpu], v);
	return domain->cpu[cpu].rescued ? 0 : 1ULL << cpu;
}

/* Takes an urgent thread out of the CPU's list that has its turn, or else out of the other one. Returns its VP. */
static __always_inline u32 next_urgent(struct engine_cpu __arena *c)
{
	u32 urgency = c->urgent_turn & (URGENCIES - 1);
	if (!c->urgent[urgency])
		urgency ^= 1;
	c->urgent_turn = urgency ^ 1;
	return pop_urgent(c, urgency);
}

/* Whether urgent threads wait for the CPU and may have it now: RESCUE_LONGEST_TURN_NS ahead of their rate at most. */
static __always_inline bool are_urgent_due(const struct engine_cpu __arena *c, u64 now)
{
	return c->urgents && now + RESCUE_LONGEST_TURN_NS >= c->urgent_paid_ns;
}

/* Gives an urgent thread that waits for this CPU a moment. Returns whether it did. From dispatch(), under the lock. */
HLS_GLOBAL_FUNC bool insert_urgent(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	if (!are_urgent_due(c, now)) {
		set_timer_no_later(cpu, c->urgent_paid_ns - RESCUE_LONGEST_TURN_NS, now);
		return false;
	}
	for (u32 i = opaque(0); i < URGENT_LOOKS && c->urgents && can_loop; i++) {
		u32 v = next_urgent(c);
		const struct engine_thread __arena *t = &domain->thread[v];
		/* It may have run meanwhile, and no longer be urgent; the VP may be another thread's. */
		if (!is_urgent(t) || !t->queued_at_ns)
			continue;
		if ((t->cpus >> cpu) & 1) {
			begin_moment(cpu, v, URGENT_MOMENT_NS, true, now);
			return true;
		}
		/* It has another affinity by now: one of its new CPUs is to decide, and is kicked as for the core. */
		domain->hls.kick |= list_urgent(v);
	}
	if (c->urgents)
		set_timer_no_later(cpu, now, now);
	return false;
}

/*
 * The thread that this word names is urgent: it has been told to end (`ends`), or holds the lock `blocker` for which
 * others wait; or it was urgent (neither), and waits for a CPU again. The caller has read the word without the lock:
 * since then the thread may have gone, and another thread may have the VP.
 */
HLS_GLOBAL_FUNC u32 hurry(u64 word, u32 ends, u64 blocker)
{
	unsigned long irq;
	u64 due = 0;
	u32 v = vp_number(word);
	if (v >= HLS_MAX_VPS)
		return 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		struct engine_thread __arena *t = &domain->thread[v];
		if (is_still_of(v, word >> VP_NUMBER_BITS)) {
			t->is_dying |= ends;
			if (blocker)
				domain->holds[v] = blocker;
			t->is_holder = (blocker || t->is_holder) && holds(v, domain->holds[v]);
			due = is_urgent(t) ? list_urgent(v) : 0;
		}
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return 0;
}

#endif
