/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What makes a CPU act: a kick, which preempts its thread, where a decision is due; its timer, for what is due later.
 */
#ifndef HLS_BPF_DUE_H
#define HLS_BPF_DUE_H

#include "lock.h"

/*
 * Whether BPF programs may set timers: not under PREEMPT_RT. User space says so before it loads these programs, so that
 * the verifier skips code that will not run. Without timers, user space makes a timer of the kernel's own go off on
 * each CPU at intervals, a pulse (poll tick), and what is due is done at the first pulse after its time (engine_pulse).
 */
const volatile bool has_timers SEC(".rodata.timers") = true;

struct cpu_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HLS_MAX_CPUS);
	__type(key, u32);
	__type(value, struct cpu_timer);
} timers SEC(".maps");

/* The CPUs where a decision is due that were not kicked yet. The caller kicks them after it has released the lock. */
static __always_inline u64 to_kick(void)
{
	u64 fresh = domain->hls.kick & ~domain->kicked;
	domain->kicked |= fresh;
	return fresh;
}

/*
 * Whether this CPU is about to be off. Its last action, with interrupts off, is to wake the thread that waits for its
 * end. A kick of another CPU, or a timer, would make it send an interrupt to itself, which would never arrive; and no
 * later one would arrive either, even when the CPU is back.
 */
HLS_GLOBAL_FUNC bool is_going_offline(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	bool is_online = (online->bits[0] >> (cpu & (HLS_MAX_CPUS - 1))) & 1;
	scx_bpf_put_cpumask(online);
	return !is_online;
}

/* The same, with a fast path: no CPU goes offline before the kernel has reported it (cpus.h). */
static __always_inline bool may_not_send(void)
{
	return unlikely(domain->hls.offline | domain->cpus_gone) && is_going_offline();
}

/* Leaves these kicks to the next CPU that calls to_kick(): user space makes a CPU do so ten times a second. */
HLS_GLOBAL_FUNC u32 put_off_kicks(u64 cpus)
{
	if (!lock())
		return 0;
	domain->kicked &= ~cpus;
	unlock();
	return 0;
}

HLS_GLOBAL_FUNC u32 kick_all(u64 cpus)
{
	if (may_not_send()) {
		put_off_kicks(cpus);
		return 0;
	}
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && cpus && can_loop; i++) {
		u32 cpu = __builtin_ctzll(cpus);
		cpus &= cpus - 1;
		scx_bpf_kick_cpu(cpu, KERNEL(scx_kick_flags, SCX_KICK_PREEMPT));
	}
	return 0;
}

static __always_inline void kick(u64 cpus)
{
	if (unlikely(cpus))
		kick_all(cpus);
}

HLS_GLOBAL_FUNC u32 start_timer(u32 cpu, u64 at, u64 now)
{
	if (!has_timers) {
		domain->cpu[cpu & (HLS_MAX_CPUS - 1)].timer_at_ns = at;
		return 0;
	}
	struct cpu_timer *t = bpf_map_lookup_elem(&timers, &cpu);
	if (!t || may_not_send())
		return 0;
	if (!bpf_timer_start(&t->timer, at > now ? at - now : 0, BPF_F_TIMER_CPU_PIN))
		domain->cpu[cpu & (HLS_MAX_CPUS - 1)].timer_at_ns = at;
	return 0;
}

/* Sets this CPU's timer to `at`, unless it goes off earlier anyway: then it is set again at that time. */
static __always_inline void set_timer_no_later(u32 cpu, u64 at, u64 now)
{
	if (unlikely(at < domain->cpu[cpu].timer_at_ns))
		start_timer(cpu, at, now);
}

/* Sets this CPU's timer for the end of its slice and for the timers of schedulers. */
static __always_inline void set_timer(u32 cpu, u64 now)
{
	u64 at = hls_expires_at(&domain->hls, cpu), first = hls_timer_at(&domain->hls);
	set_timer_no_later(cpu, first < at ? first : at, now);
}

/*
 * set_timer() while something else than the granted thread has the CPU. The CPU's clock stands still, so the slice does
 * not end; a timer for the rest of the slice, which may be very short, would go off again and again.
 */
static __always_inline void set_timer_without_slice(u32 cpu, u64 now)
{
	domain->cpu[cpu & (HLS_MAX_CPUS - 1)].slice_waits = true;
	set_timer_no_later(cpu, hls_timer_at(&domain->hls), now);
}

#endif
