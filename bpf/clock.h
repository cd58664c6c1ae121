/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Time as the core wants it, and time that was stolen from the hierarchy. All of this is to be called under the lock.
 *
 * A thread's lag is the clock less the CPU time that the kernel has counted for it (sum_exec_runtime). While the thread
 * has a CPU, both grow alike; while something else has the CPU, the lag grows by that time. So a CPU's stolen time
 * since a thread was granted it is the growth of that thread's lag.
 */
#ifndef HLS_BPF_CLOCK_H
#define HLS_BPF_CLOCK_H

#include "lock.h"

/* `now`, or the core's time if that is later: clocks of CPUs differ, and the core's time must not run backwards. */
static __always_inline u64 not_before_ns(u64 now)
{
	return now > domain->hls.now_ns ? now : domain->hls.now_ns;
}

static __always_inline u64 now_ns(void)
{
	return not_before_ns(scx_bpf_now());
}

/*
 * The run queue of this CPU. For use in dispatch() and quiescent(): there the kernel has just brought the run queue's
 * clock up to date, while scx_bpf_now() would read the hardware's clock again.
 */
static __always_inline const struct rq *this_rq(void)
{
	return bpf_this_cpu_ptr(&runqueues);
}

/* The VP of the thread that the CPU is granted to; 0: none. */
static __always_inline u32 granted_on(u32 cpu)
{
	const cpu_t *c = &domain->hls.cpu[cpu];
	return c->depth ? c->path[c->depth - 1].vp : 0;
}

/* The lag of a thread that is on no CPU. */
static __always_inline u64 lag_off_cpu(const struct task_struct *p, u64 now)
{
	return now - p->se.sum_exec_runtime;
}

/* The lag of this CPU's current thread: the kernel counts the CPU time of that thread only up to exec_start. */
static __always_inline u64 lag_on_cpu(const struct task_struct *p, const struct rq *rq)
{
	return p->se.exec_start + (rq->clock - rq->clock_task) - p->se.sum_exec_runtime;
}

/* The lag of a thread that is on this CPU, or on none. */
static __always_inline u64 lag_of(const struct task_struct *p, u64 now)
{
	return p == bpf_get_current_task_btf() ? lag_on_cpu(p, this_rq()) : lag_off_cpu(p, now);
}

/*
 * How long ago, by this CPU's clock, a VP of its path was last charged. A running thread that is moved, or given
 * another affinity, is charged without settle_clock() before, so that time stolen from it since cannot be taken back.
 */
static __always_inline u64 since_charge_ns(u32 cpu)
{
	const cpu_t *c = &domain->hls.cpu[cpu];
	u64 clock = clock_of(&domain->hls, cpu), least = HLS_NEVER;
	for (u32 i = opaque(0); i < c->depth && i <= HLS_MAX_DEPTH && can_loop; i++) {
		u32 v = c->path[i].vp;
		if (v && clock - domain->hls.vp[v].granted_at < least)
			least = clock - domain->hls.vp[v].granted_at;
	}
	return least;
}

/*
 * length_ns of the CPU were stolen; capped at the time since the last charge, or the CPU's clock would run backwards.
 */
HLS_GLOBAL_FUNC u32 steal(u32 cpu, u64 length_ns, u64 now)
{
	domain->hls.now_ns = not_before_ns(now);
	u64 most = since_charge_ns(cpu);
	if (length_ns > most)
		length_ns = most;
	hls_steal(&domain->hls, cpu, length_ns, domain->hls.now_ns);
	if (domain->records_stolen)
		hls_write_record(&domain->hls, 0, cpu, HLS_REC_STOLEN, length_ns, 0);
	return 0;
}

/*
 * Brings the clock of a CPU up to date before a VP is charged by it: `lag_ns` is the present lag of the thread to which
 * the CPU is granted, and the growth of that lag is stolen time.
 */
static __always_inline void settle_clock(u32 cpu, u64 lag_ns, u64 now)
{
	s64 length_ns = lag_ns - domain->cpu[cpu].lag_ns;
	if (unlikely(length_ns > 0)) {
		domain->cpu[cpu].lag_ns = lag_ns;
		steal(cpu, length_ns, now);
	}
}

/* settle_clock() for a CPU that is granted to the thread of v. */
HLS_GLOBAL_FUNC u32 settle_granted(u32 cpu, u32 v, u64 now)
{
	const struct task_struct *p = thread_of(v);
	if (!p || cpu >= HLS_MAX_CPUS)
		return 0;
	settle_clock(cpu, lag_of(p, now), now);
	return 0;
}

/*
 * settle_clock() for any CPU; returns the VP of the thread that it is granted to, or 0. A CPU that was given up decides
 * at once, unless others get it first: the time until the decision is stolen.
 */
static __always_inline u32 settle(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu];
	u32 v = granted_on(cpu);
	if (v)
		settle_granted(cpu, v, now);
	else if (unlikely(c->free_since_ns && now > c->free_since_ns)) {
		steal(cpu, now - c->free_since_ns, now);
		c->free_since_ns = now;
	}
	return v;
}

#endif
