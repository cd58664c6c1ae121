/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What happens when the timer of a CPU goes off: slices end, timers of schedulers are due, moments are looked at, and
 * errands are done. Where the kernel lets no program set timers, pulses do that work.
 */
#ifndef HLS_BPF_TIMERS_H
#define HLS_BPF_TIMERS_H

#include "ends.h"
#include "kernel_threads.h"
#include "watch.h"

/* Whether the thread of v, to which a CPU is granted, is not the current one of this CPU. */
HLS_GLOBAL_FUNC bool is_away(u32 v)
{
	return v && thread_of(v) != bpf_get_current_task_btf();
}

/*
 * Whether a thread still has this CPU for a moment, and nothing else is due. The clock of the CPU, which stands still
 * meanwhile, is not brought up to date: the timer looks at moments too often for that (moment.h).
 */
HLS_GLOBAL_FUNC bool goes_on_for_moment(u32 cpu)
{
	unsigned long irq;
	u64 due = 0;
	bool goes_on = false;
	bpf_local_irq_save(&irq);
	if (lock()) {
		u64 now = now_ns(), timer_at_ns = hls_timer_at(&domain->hls);
		domain->cpu[cpu].timer_at_ns = HLS_NEVER;
		if (was_cut_short(cpu))
			end_moment(cpu, now);
		else if (domain->cpu[cpu].rescued)
			due = look_at_moment(cpu, now);
		goes_on = domain->cpu[cpu].rescued && now < timer_at_ns &&
			  !(domain->cpu[cpu].kernel_waits && is_kernels_turn(cpu, now));
		if (goes_on)
			set_timer_no_later(cpu, timer_at_ns, now);
		if (unlikely(domain->cpu[cpu].kernel_waits))
			wait_for_kernels_turn(cpu, now);
		domain->cpu[cpu].wakeups += goes_on;
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return goes_on;
}

/* A slice of this CPU is over, or the timer of a scheduler is due. */
HLS_GLOBAL_FUNC u32 act_on_time(u32 cpu)
{
	unsigned long irq;
	bpf_local_irq_save(&irq);
	u64 due = 0;
	if (lock()) {
		u64 now = now_ns();
		u32 v = settle(cpu, now);
		domain->cpu[cpu].timer_at_ns = HLS_NEVER;
		if (unlikely(domain->cpu[cpu].rescued))
			look_later(cpu, now);
		domain->cpu[cpu].wakeups++;
		hls_timers(&domain->hls, now);
		hls_expire(&domain->hls, cpu, now);
		due = to_kick();
		if (unlikely(domain->cpu[cpu].kernel_waits ||
			     (domain->cpu[cpu].urgents && !domain->cpu[cpu].rescued)))
			due |= 1ULL << cpu;
		if (is_away(v))
			set_timer_without_slice(cpu, now);
		else if (!((domain->hls.kick >> cpu) & 1))
			set_timer(cpu, now);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return 0;
}

/* The timer of this CPU has gone off, or a pulse does the timer's work. */
static __always_inline void act_on_timer(u32 cpu)
{
	if (likely(!domain->cpu[cpu].rescued) || !goes_on_for_moment(cpu))
		act_on_time(cpu);
}

static int on_timer(void *map, u32 *key, struct cpu_timer *t)
{
	USES(arena);
	(void)map, (void)t;
	act_on_timer(*key & (HLS_MAX_CPUS - 1));
	do_what_was_left();
	if (unlikely(domain->wants_watch))
		begin_watch();
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int engine_pulse(u64 *ctx)
{
	USES(arena);
	(void)ctx;
	/* A constant: where there are timers, the verifier skips what follows. */
	if (has_timers)
		return 0;
	u32 cpu = bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1);
	u64 now = scx_bpf_now();
	if (!domain->has_begun)
		return 0;
	if (now >= domain->cpu[cpu].timer_at_ns)
		act_on_timer(cpu);
	do_what_was_left();
	if (unlikely(domain->wants_watch))
		begin_watch();
	look_on_pulse(now);
	return 0;
}

/* User space has made this engine the current one: timers call its functions from now on. */
static __always_inline s64 take_over_timers(void)
{
	s64 error = 0;
	if (!has_timers)
		return 0;
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && !error && can_loop; cpu++) {
		u32 key = cpu;
		struct cpu_timer *t = bpf_map_lookup_elem(&timers, &key);
		if (!t)
			return -1;
		/* The first engine of the run makes the timer; for a later one it is there already. */
		bpf_timer_init(&t->timer, &timers, CLOCK_MONOTONIC);
		error = bpf_timer_set_callback(&t->timer, on_timer);
	}
	u32 only = 0;
	struct cpu_timer *t = bpf_map_lookup_elem(&watcher, &only);
	if (!t || error)
		return -1;
	bpf_timer_init(&t->timer, &watcher, CLOCK_MONOTONIC);
	return bpf_timer_set_callback(&t->timer, on_watch);
}

#endif
