/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that the hierarchy lets starve may hold what the whole machine waits for, such as a grace period of RCU, and
 * after half a minute of starvation sched_ext would end the run. So a thread that has waited for long gets a CPU for a
 * moment, which is stolen time for the thread to which that CPU is granted. Starved threads take turns: the more there
 * are, the shorter are turns and moments, so that no more than a twentieth of a CPU is stolen.
 *
 * A thread may be stranded: it waits for CPUs that have all gone, or are about to go, because it is bound to them, or
 * may not migrate just then. Such a CPU takes no decisions, and does not go before the thread has left it. So another
 * CPU puts the thread on it.
 *
 * Needs the map `arena`, thread_of() and insert_thread_of().
 */
#ifndef HLS_BPF_RESCUE_H
#define HLS_BPF_RESCUE_H

#include "cpus.h"
#include "errands.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_timer);
} rescuer SEC(".maps");

#define STARVED_NS HLS_S(5)
/* How often starved threads are looked for; while there are some, a round is the time in which each has a turn. */
#define RESCUE_INTERVAL_NS HLS_S(1)
#define RESCUE_ROUND_NS HLS_S(10)
#define RESCUE_LONGEST_TURN_NS HLS_MS(100)
#define RESCUE_SHORTEST_TURN_NS HLS_MS(5)
/* The thread has the CPU for one such part of its turn. */
#define RESCUE_PART 20

/* A thread that ends has a CPU for so long at a time (ends.h). */
#define DYING_MOMENT_NS HLS_MS(1)

/* The VP of the thread that had the last turn, and how long a turn is. */
static u32 rescued_last;
static u64 rescue_turn_ns;

static __always_inline u64 turn_of(u32 starved)
{
	u64 turn_ns = RESCUE_ROUND_NS / starved;
	if (turn_ns > RESCUE_LONGEST_TURN_NS)
		return RESCUE_LONGEST_TURN_NS;
	return turn_ns < RESCUE_SHORTEST_TURN_NS ? RESCUE_SHORTEST_TURN_NS : turn_ns;
}

/* The CPUs that are to get a starved thread (also to_kick), and those that have one. */
static __always_inline u64 in_rescue(u64 *to_kick)
{
	u64 busy = 0;
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && can_loop; cpu++) {
		*to_kick |= (u64) !!domain->cpu[cpu].rescue << cpu;
		busy |= (u64) !!domain->cpu[cpu].rescued << cpu;
	}
	return busy | *to_kick;
}

/* Whether all CPUs that the thread may use have gone. */
static __always_inline bool is_stranded(const struct engine_thread __arena *t)
{
	return !(t->cpus & ~domain->hls.offline);
}

/* Does what operations have left to a timer: by whichever timer goes off first. */
static __always_inline void do_what_was_left(void)
{
	if (unlikely(domain->first_errand))
		do_errands();
	if (unlikely(domain->cpus_gone | domain->cpus_back))
		change_noted_cpus();
}

/* Looks for starved threads, and has one of them rescued on each CPU; returns when to look again: in so many ns. */
HLS_GLOBAL_FUNC u64 rescue_starved(void)
{
	u64 now = scx_bpf_now(), due = 0, free = domain->hls.cpus & ~domain->hls.offline & ~in_rescue(&due);
	u32 v = rescued_last, starved = opaque(0), vps = domain->hls.used_vps;
	for (u32 i = opaque(0); i < vps && i < HLS_MAX_VPS && can_loop; i++) {
		v = v < vps ? v + 1 : opaque(1);
		struct engine_thread __arena *thread = &domain->thread[v];
		u64 since = thread->queued_at_ns;
		if (!since || (now < since + STARVED_NS && !is_stranded(thread)))
			continue;
		starved++;
		u64 usable = is_stranded(thread) ? free : thread->cpus & free;
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
	return starved ? rescue_turn_ns : RESCUE_INTERVAL_NS;
}

static int look_for_starved(void *map, u32 *key, struct cpu_timer *t)
{
	USES(arena);
	(void)map, (void)key;
	look_for_leaving();
	do_what_was_left();
	bpf_timer_start(&t->timer, rescue_starved(), 0);
	return 0;
}

/* Puts a thread whose CPUs have all gone on the one of them where it is, until the kernel can push it off. */
HLS_GLOBAL_FUNC u32 insert_stranded(u32 v)
{
	struct task_struct *task = thread_of(v);
	if (task)
		insert(task, SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(task), SLICE_NS, 0);
	return 0;
}

/* Gives the thread of v, which may use this CPU, the CPU for a moment. From dispatch(), under the lock. */
static __always_inline void begin_moment(u32 cpu, u32 v, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	struct engine_thread __arena *t = &domain->thread[v];
	c->rescued = v;
	c->rescued_since_ns = now;
	c->rescued_until_ns = now + (t->is_dying ? DYING_MOMENT_NS : rescue_turn_ns / RESCUE_PART);
	t->queued_at_ns = 0;
	set_timer_no_later(cpu, c->rescued_until_ns, now);
	insert_thread_of(v);
}

/*
 * The thread that has the CPU for a moment has it no more. Dying threads pay for it. Returns a mask of that CPU, which
 * is to decide anew. To be called under the lock.
 */
HLS_GLOBAL_FUNC u64 end_moment(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u64 since = c->rescued_since_ns, paid = c->dying_paid_ns > since ? c->dying_paid_ns : since;
	if (domain->thread[c->rescued].is_dying && now > since)
		c->dying_paid_ns = paid + RESCUE_PART * (now - since);
	c->rescued = 0;
	return 1ULL << cpu;
}

/*
 * Rescues the starved thread that this CPU is to rescue, without a grant; whether this CPU has it now. From dispatch(),
 * under the lock.
 */
HLS_GLOBAL_FUNC bool insert_starved(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u32 v = c->rescue;
	struct engine_thread __arena *t = &domain->thread[v];
	c->rescue = 0;
	if (!t->queued_at_ns || !(is_stranded(t) || t->cpus >> cpu & 1))
		return false;
	if (is_stranded(t)) {
		t->queued_at_ns = 0;
		insert_stranded(v);
		return false;
	}
	begin_moment(cpu, v, now);
	return true;
}

/* The timer of a CPU that a thread has for a moment went off: a mask of that CPU if the moment is over, else 0. */
HLS_GLOBAL_FUNC u64 end_rescue(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	if (now < c->rescued_until_ns) {
		set_timer_no_later(cpu, c->rescued_until_ns, now);
		return 0;
	}
	return end_moment(cpu, now);
}

#endif
