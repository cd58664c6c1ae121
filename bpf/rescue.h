/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that the hierarchy lets starve may hold what the whole machine waits for, such as a grace period of RCU's,
 * and after half a minute sched_ext would take its threads back. So one that was queued for long gets a CPU for a
 * moment, which is stolen from whoever was granted it. They take turns, the faster the more there are, and the shorter
 * are their moments: a twentieth of a CPU is all that is stolen. Needs the map `arena`.
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
/* How often such threads are looked for; and while there are some, so that all have had their turn in a round. */
#define RESCUE_INTERVAL_NS HLS_S(1)
#define RESCUE_ROUND_NS HLS_S(10)
#define RESCUE_LONGEST_TURN_NS HLS_MS(100)
#define RESCUE_SHORTEST_TURN_NS HLS_MS(5)
/* The part of a turn that the thread has. */
#define RESCUE_PART 20

/* Whose turn was the last, and how long it is. */
static u32 rescued_last;
static u64 rescue_turn_ns;

static __always_inline u64 turn_of(u32 starved)
{
	u64 turn_ns = RESCUE_ROUND_NS / starved;
	if (turn_ns > RESCUE_LONGEST_TURN_NS)
		return RESCUE_LONGEST_TURN_NS;
	return turn_ns < RESCUE_SHORTEST_TURN_NS ? RESCUE_SHORTEST_TURN_NS : turn_ns;
}

/* The CPUs that are to have a starved thread, and those that have one. */
static __always_inline u64 in_rescue(u64 *to_kick)
{
	u64 busy = 0;
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && can_loop; cpu++) {
		*to_kick |= (u64) !!domain->cpu[cpu].rescue << cpu;
		busy |= (u64) !!domain->cpu[cpu].rescued << cpu;
	}
	return busy | *to_kick;
}

/* Has starved threads rescued, one on each CPU. */
static int look_for_starved(void *map, u32 *key, struct cpu_timer *t)
{
	USES(arena);
	(void)map, (void)key;
	u64 now = scx_bpf_now(), due = 0, free = domain->hls.cpus & ~domain->hls.offline & ~in_rescue(&due);
	u32 v = rescued_last, starved = opaque(0), vps = domain->hls.used_vps;
	for (u32 i = opaque(0); i < vps && i < HLS_MAX_VPS && can_loop; i++) {
		v = v < vps ? v + 1 : opaque(1);
		struct engine_thread __arena *thread = &domain->thread[v];
		u64 since = thread->queued_at_ns;
		if (!since || now < since + STARVED_NS)
			continue;
		starved++;
		u64 usable = thread->cpus & free;
		if (!usable)
			continue;
		u32 cpu = __builtin_ctzll(usable);
		domain->cpu[cpu].rescue = v;
		free &= ~(1ULL << cpu);
		due |= 1ULL << cpu;
		rescued_last = v;
	}
	rescue_turn_ns = starved ? turn_of(starved) : RESCUE_LONGEST_TURN_NS;
	kick(due);
	bpf_timer_start(&t->timer, starved ? rescue_turn_ns : RESCUE_INTERVAL_NS, 0);
	return 0;
}

/* The starved thread that this CPU is to have now, without a grant. To be called under the lock. */
static __noinline u32 take_starved(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u32 v = c->rescue;
	struct engine_thread __arena *t = &domain->thread[v];
	c->rescue = 0;
	if (!t->queued_at_ns || !(t->cpus >> cpu & 1))
		return 0;
	t->queued_at_ns = 0;
	c->rescued = v;
	c->rescued_until_ns = now + rescue_turn_ns / RESCUE_PART;
	set_timer_no_later(cpu, c->rescued_until_ns, now);
	return v;
}

/* The timer of a CPU that a starved thread has, or had, went off: the CPU, if it is to be taken from that now. */
static __noinline u64 end_rescue(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	if (now < c->rescued_until_ns) {
		set_timer_no_later(cpu, c->rescued_until_ns, now);
		return 0;
	}
	c->rescued = 0;
	return 1ULL << cpu;
}

#endif
