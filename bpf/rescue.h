/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that the hierarchy lets starve may hold what the whole machine waits for, such as a grace period of RCU's,
 * and after half a minute sched_ext would take its threads back. So one that was queued for long gets a CPU for a
 * moment, which is stolen from whoever was granted it. Needs the map `arena`.
 */
#ifndef HLS_BPF_RESCUE_H
#define HLS_BPF_RESCUE_H

#include "due.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_timer);
} rescuer SEC(".maps");

#define STARVED_NS HLS_S(5)
#define RESCUE_NS HLS_MS(5)
/* How often such threads are looked for, and while there are some. */
#define RESCUE_INTERVAL_NS HLS_S(1)
#define RESCUE_SHORT_INTERVAL_NS HLS_MS(100)

/* Has starved threads rescued, one on each CPU. */
static int look_for_starved(void *map, u32 *key, struct cpu_timer *t)
{
	USES(arena);
	(void)map, (void)key;
	u64 now = scx_bpf_now(), cpus = 0, again_ns = RESCUE_INTERVAL_NS;
	for (u32 v = from(1); v <= domain->hls.used_vps && v < HLS_MAX_VPS && can_loop; v++) {
		struct engine_thread ARENA *thread = &domain->thread[v];
		u64 since = thread->queued_at_ns;
		if (!since || now < since + STARVED_NS)
			continue;
		again_ns = RESCUE_SHORT_INTERVAL_NS;
		u64 usable = thread->cpus & domain->hls.cpus & ~domain->hls.offline & ~cpus;
		if (!usable)
			continue;
		u32 cpu = __builtin_ctzll(usable);
		domain->cpu[cpu].rescue = v;
		cpus |= 1ULL << cpu;
	}
	kick(cpus);
	bpf_timer_start(&t->timer, again_ns, 0);
	return 0;
}

/* The starved thread that this CPU is to have now, without a grant. To be called under the lock. */
static SLOW u32 take_starved(u32 cpu, u64 now)
{
	struct engine_cpu ARENA *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u32 v = c->rescue & (HLS_MAX_VPS - 1);
	struct engine_thread ARENA *t = &domain->thread[v];
	c->rescue = 0;
	if (!t->queued_at_ns || !(t->cpus >> cpu & 1))
		return 0;
	t->queued_at_ns = 0;
	c->rescued = v;
	be_called_at(cpu, now + RESCUE_NS, now);
	return v;
}

#endif
