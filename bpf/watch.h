/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One timer watches over waiting threads: it looks for threads that starve (rescue.h) once a second, or more often
 * while there are some; and, while a thread stalls for a lock, for what holds it up (holders.h).
 */
#ifndef HLS_BPF_WATCH_H
#define HLS_BPF_WATCH_H

#include "urgent.h"

/* To look at all threads takes 1 / WATCH_PART of a CPU at most, unless a look takes very long. */
#define WATCH_PART 50

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_timer);
} watcher SEC(".maps");

/* What holds up a thread that stalls for a lock. */
enum stall {
	NO_STALL, /* nothing: it no longer stalls */
	BY_OWNER, /* the owner of the lock, or itself: it is about to get the lock; or it has not stalled for long */
	BY_READERS /* readers; the lock does not say which */
};

/*
 * Looks at what holds up the thread of v, which has stalled for a lock. The owner is urgent if it waits for a CPU. So
 * is the thread itself, if it was woken to get the lock and waits for a CPU. Returns an enum stall.
 */
HLS_GLOBAL_FUNC u32 look_at_stalled(u32 v, u64 now)
{
	const struct task_struct *p = thread_of(v);
	u64 blocker = p ? lock_before(p) : 0;
	if (v >= HLS_MAX_VPS)
		return NO_STALL;
	if (!blocker) {
		end_stall(v);
		return NO_STALL;
	}
	if (now < domain->stalled_at_ns[v] + STALL_NS)
		return BY_OWNER;
	u32 holder = domain->thread[v].queued_at_ns ? v : vp_at(owner_of(blocker));
	const struct engine_thread __arena *t = &domain->thread[holder];
	if (!holder || !t->queued_at_ns)
		return has_readers(blocker) ? BY_READERS : BY_OWNER;
	if (!t->is_listed)
		hurry(vp_word(holder, t->generation), false, blocker);
	return BY_OWNER;
}

/* Whether the thread of v may read what a lock protects: it has waited for a CPU for a while, and was in the kernel. */
static __always_inline bool may_read(u32 v, u64 now)
{
	struct task_struct *p = thread_of(v);
	u64 since = domain->thread[v].queued_at_ns;
	return since && now >= since + STALL_NS && !domain->next_starved[v] && p && is_in_kernel(p);
}

/*
 * Gives the next thread that may be a reader a moment: a twentieth of STALL_NS, the least time between two looks. Does
 * so only while no CPU rescues a thread, since all moments have the same length.
 */
HLS_GLOBAL_FUNC u32 rescue_reader(u64 now)
{
	u64 due = 0, online = domain->hls.cpus & ~domain->hls.offline;
	u32 vps = domain->hls.used_vps, v = domain->reader;
	if (in_rescue(&due))
		return 0;
	for (u32 i = opaque(0); i < vps && i < HLS_MAX_VPS && can_loop; i++) {
		v = v < vps && v < HLS_MAX_VPS - 1 ? v + 1 : 1;
		u64 usable = domain->thread[v].cpus & online;
		if (!usable || !may_read(v, now))
			continue;
		u32 cpu = __builtin_ctzll(usable) & (HLS_MAX_CPUS - 1);
		domain->reader = v;
		domain->rescue_moment_ns = STALL_NS / MOMENT_PART;
		share_turn(cpu, v);
		begin_turn(1ULL << cpu);
		kick(1ULL << cpu);
		return 0;
	}
	return 0;
}

/*
 * Looks at all threads that stall for a lock. A thread that stalls from now on makes a CPU's timer begin a watch:
 * `is_watched` is cleared under the lock, so that no stall is missed between the two.
 */
HLS_GLOBAL_FUNC u32 look_for_holders(void)
{
	unsigned long irq;
	u64 now = scx_bpf_now();
	u32 vps = domain->hls.used_vps, worst = opaque(NO_STALL);
	bpf_local_irq_save(&irq);
	if (lock()) {
		domain->is_watched = false;
		unlock();
	}
	bpf_local_irq_restore(&irq);
	for (u32 v = opaque(1); v <= vps && v < HLS_MAX_VPS && can_loop; v++)
		if (unlikely(domain->stalled_at_ns[v])) {
			u32 stall = look_at_stalled(v, now);
			worst = stall > worst ? stall : worst;
		}
	if (worst == BY_READERS)
		rescue_reader(now);
	if (worst != NO_STALL)
		domain->is_watched = true;
	u64 after = scx_bpf_now(), rest_ns = WATCH_PART * (after - now);
	if (rest_ns < STALL_NS)
		rest_ns = STALL_NS;
	domain->watch_from_ns = after + (rest_ns < RESCUE_INTERVAL_NS ? rest_ns : RESCUE_INTERVAL_NS);
	return 0;
}

/* When the watcher looks next. */
static __always_inline u64 next_look_at(void)
{
	u64 rescue_at_ns = domain->rescue_at_ns, watch_from_ns = domain->watch_from_ns;
	return domain->is_watched && watch_from_ns < rescue_at_ns ? watch_from_ns : rescue_at_ns;
}

/* Makes the looks that are due. */
HLS_GLOBAL_FUNC u32 look_around(u64 now)
{
	if (now >= domain->rescue_at_ns) {
		look_for_leaving();
		do_what_was_left();
		domain->rescue_at_ns = now + rescue_starved();
	}
	if (domain->is_watched && now >= domain->watch_from_ns)
		look_for_holders();
	return 0;
}

/* Makes the watcher look at this time, or, without timers, a pulse. */
static __always_inline void look_again(struct cpu_timer *t, u64 at)
{
	u64 now = scx_bpf_now();
	if (has_timers)
		bpf_timer_start(&t->timer, at > now ? at - now : 0, 0);
	else
		domain->look_at_ns = at;
}

static int on_watch(void *map, u32 *key, struct cpu_timer *t)
{
	USES(arena);
	(void)map, (void)key;
	look_around(scx_bpf_now());
	u64 at = next_look_at();
	look_again(t, at);
	/* A watch may have begun meanwhile, and have set the timer before that. */
	if (next_look_at() < at)
		look_again(t, next_look_at());
	return 0;
}

/* Without timers, each pulse calls this. If it is time, the one CPU that succeeds in the exchange looks. */
static __always_inline void look_on_pulse(u64 now)
{
	u64 at = domain->look_at_ns;
	if (now < at || __sync_val_compare_and_swap(&domain->look_at_ns, at, now + RESCUE_INTERVAL_NS) != at)
		return;
	look_around(now);
	at = next_look_at();
	if (at < domain->look_at_ns)
		domain->look_at_ns = at;
}

/* Threads stall for a lock, and no watch is on: starts one, as soon as allowed. From a timer, without the lock. */
HLS_GLOBAL_FUNC u32 begin_watch(void)
{
	u32 only = 0;
	struct cpu_timer *t = bpf_map_lookup_elem(&watcher, &only);
	if (may_not_send() || !t)
		return 0;
	/* In this order: a thread that stalls after a look has begun meanwhile needs a watch of its own. */
	domain->wants_watch = false;
	domain->is_watched = true;
	look_again(t, next_look_at());
	return 0;
}

/*
 * Gives a thread that goes before the granted one this CPU for a moment. Returns whether it did. If another thread has
 * the CPU for a moment, that moment ends. From dispatch(), under the lock.
 */
HLS_GLOBAL_FUNC bool insert_first(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	if (c->rescued)
		end_moment(cpu, now);
	return (c->urgents && insert_urgent(cpu, now)) || (c->rescue && insert_starved(cpu, now));
}

#endif
