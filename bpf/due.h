/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a CPU is told that something is due there: a decision by a kick, which preempts; what is due later by the CPU's
 * timer. Needs the map `arena`.
 */
#ifndef HLS_BPF_DUE_H
#define HLS_BPF_DUE_H

#include "lock.h"

struct cpu_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HLS_MAX_CPUS);
	__type(key, u32);
	__type(value, struct cpu_timer);
} timers SEC(".maps");

/* The CPUs that are newly due for a decision, to be told so when the lock is not held any more. */
static __always_inline u64 to_kick(void)
{
	u64 fresh = domain->hls.kick & ~domain->kicked;
	domain->kicked |= fresh;
	return fresh;
}

/*
 * Whether this CPU is about to be off: the last that it does, without interrupts, is to wake who waits for that. Kicks
 * and timers take an interrupt to itself. That would never come, nor any later one when the CPU is back.
 */
static __noinline bool is_going_offline(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	bool is_online = (online->bits[0] >> (cpu & (HLS_MAX_CPUS - 1))) & 1;
	scx_bpf_put_cpumask(online);
	return !is_online;
}

/* Leaves it to whoever looks next on another CPU: user space does so ten times a second. */
static __noinline void put_off_kicks(u64 cpus)
{
	if (!lock())
		return;
	domain->kicked &= ~cpus;
	unlock();
}

static __noinline void kick_all(u64 cpus)
{
	if (unlikely(domain->hls.offline) && is_going_offline()) {
		put_off_kicks(cpus);
		return;
	}
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && cpus && can_loop; i++) {
		u32 cpu = __builtin_ctzll(cpus);
		cpus &= cpus - 1;
		scx_bpf_kick_cpu(cpu, KERNEL(scx_kick_flags, SCX_KICK_PREEMPT));
	}
}

static __always_inline void kick(u64 cpus)
{
	if (unlikely(cpus))
		kick_all(cpus);
}

static __noinline void start_timer(u32 cpu, u64 at, u64 now)
{
	struct cpu_timer *t = bpf_map_lookup_elem(&timers, &cpu);
	if (!t || (unlikely(domain->hls.offline) && is_going_offline()))
		return;
	if (!bpf_timer_start(&t->timer, at > now ? at - now : 0, BPF_F_TIMER_CPU_PIN))
		domain->cpu[cpu & (HLS_MAX_CPUS - 1)].timer_at_ns = at;
}

/* Something is due then: sets this CPU's timer if it would go off later. One that is too early sets itself anew. */
static __always_inline void set_timer_no_later(u32 cpu, u64 at, u64 now)
{
	if (unlikely(at < domain->cpu[cpu].timer_at_ns))
		start_timer(cpu, at, now);
}

/* Sets this CPU's timer for the end of its slice and for what schedulers wait for. */
static __always_inline void set_timer(u32 cpu, u64 now)
{
	u64 at = hls_expires_at(&domain->hls, cpu), first = hls_timer_at(&domain->hls);
	set_timer_no_later(cpu, first < at ? first : at, now);
}

/*
 * The same while somebody else has the CPU than the thread that it is granted to. What is left of the slice may be less
 * than a timer takes: waiting for that again and again, the CPU would do nothing else.
 */
static __always_inline void set_timer_without_slice(u32 cpu, u64 now)
{
	domain->cpu[cpu & (HLS_MAX_CPUS - 1)].slice_waits = true;
	set_timer_no_later(cpu, hls_timer_at(&domain->hls), now);
}

#endif
