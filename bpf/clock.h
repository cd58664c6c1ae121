/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Time: as the core wants it, and how much of it others have stolen. All of this is to be called under the lock. Needs
 * the map `arena` and thread_of().
 */
#ifndef HLS_BPF_CLOCK_H
#define HLS_BPF_CLOCK_H

#include "lock.h"

/* A time as the core wants it, which must not run backwards from one CPU to another. To be called under the lock. */
static __always_inline u64 not_before_ns(u64 now)
{
	return now > domain->hls.now_ns ? now : domain->hls.now_ns;
}

static __always_inline u64 now_ns(void)
{
	return not_before_ns(scx_bpf_now());
}

/*
 * The run queue of this CPU, in the midst of a decision or of a thread's blocking: the kernel has brought its clock up
 * to date when that began. scx_bpf_now() would read the hardware's again.
 */
static __always_inline const struct rq *this_rq(void)
{
	return bpf_this_cpu_ptr(&runqueues);
}

/* The thread that the CPU is granted to; 0: none. */
static __always_inline u32 granted_on(u32 cpu)
{
	const cpu_t *c = &domain->hls.cpu[cpu];
	return c->depth ? c->path[c->depth - 1].vp : 0;
}

/* How far the CPU time of a thread, which is on no CPU now, lags behind the clock. */
static __always_inline u64 lag_off_cpu(const struct task_struct *p, u64 now)
{
	return now - p->se.sum_exec_runtime;
}

/* The same of the thread that computes here: it does not change meanwhile, but by interrupts. */
static __always_inline u64 lag_on_cpu(const struct task_struct *p, const struct rq *rq)
{
	return p->se.exec_start + (rq->clock - rq->clock_task) - p->se.sum_exec_runtime;
}

/*
 * How long ago somebody was last charged by this CPU's clock. What is charged elsewhere than in a decision there, of a
 * running thread that is moved or bound, is charged by a clock that was not brought up to date.
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

/* The clock does not run backwards: what was stolen before the last charge has been paid. */
static __noinline void steal(u32 cpu, u64 length_ns, u64 now)
{
	domain->hls.now_ns = not_before_ns(now);
	u64 most = since_charge_ns(cpu);
	if (length_ns > most)
		length_ns = most;
	hls_steal(&domain->hls, cpu, length_ns);
	if (domain->records_stolen)
		hls_write_record(&domain->hls, 0, cpu, HLS_REC_STOLEN, length_ns, 0);
}

/*
 * Brings the clock of a CPU up to date before anybody is charged by it: since the CPU was granted to the thread that
 * lags so far now, it has been somebody else's for as long as the lag has grown.
 */
static __always_inline void settle_clock(u32 cpu, u64 lag_ns, u64 now)
{
	s64 length_ns = lag_ns - domain->cpu[cpu].lag_ns;
	if (unlikely(length_ns > 0)) {
		domain->cpu[cpu].lag_ns = lag_ns;
		steal(cpu, length_ns, now);
	}
}

static __noinline void settle_granted(u32 cpu, u32 v, u64 now)
{
	const struct task_struct *p = thread_of(v);
	if (!p || cpu >= HLS_MAX_CPUS)
		return;
	settle_clock(cpu, p == bpf_get_current_task_btf() ? lag_on_cpu(p, this_rq()) : lag_off_cpu(p, now), now);
}

/*
 * The same, whoever has the CPU: the thread, or 0. Its next decision comes as soon as it is given up, unless others get
 * it first.
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
