/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures how late the timers of this machine go off: user space has a timer set, and reads from the arena how late it
 * was. Before the engine is attached.
 */
#ifndef HLS_BPF_PROBE_H
#define HLS_BPF_PROBE_H

#include "due.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_timer);
} prober SEC(".maps");

#define PROBE_DELAY_NS HLS_US(100)

static int on_probe(void *map, u32 *key, struct cpu_timer *t)
{
	USES(arena);
	(void)map, (void)key, (void)t;
	/* Timers use the kernel's monotonic clock. By the clock of decisions, read here, a timer may be early. */
	u64 now = scx_bpf_now();
	domain->probe_late_ns = now > domain->probe_at_ns ? now - domain->probe_at_ns + 1 : 1;
	return 0;
}

SEC("syscall")
int arm_probe(void *ctx)
{
	USES(arena);
	(void)ctx;
	u32 only = 0;
	struct cpu_timer *t = has_timers ? bpf_map_lookup_elem(&prober, &only) : NULL;
	if (!t)
		return -1;
	/* The second time the timer is there already. */
	bpf_timer_init(&t->timer, &prober, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&t->timer, on_probe);
	domain->probe_late_ns = 0;
	domain->probe_at_ns = scx_bpf_now() + PROBE_DELAY_NS;
	return (int)bpf_timer_start(&t->timer, PROBE_DELAY_NS, BPF_F_TIMER_CPU_PIN);
}

#endif
