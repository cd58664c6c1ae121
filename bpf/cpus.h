/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPUs that go offline and come back. The kernel reports that a CPU goes only after all readers of RCU have gone on,
 * but takes threads off that CPU before: so the engine also looks for such CPUs itself.
 */
#ifndef HLS_BPF_CPUS_H
#define HLS_BPF_CPUS_H

#include "clock.h"
#include "due.h"

/*
 * Whether a CPU is about to go offline. The kernel pushes all threads off it and no longer calls dispatch() there; it
 * calls cpu_offline() only after a grace period of RCU, which may wait for the very threads that are granted that CPU.
 */
static __always_inline bool is_leaving(u32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	const struct balance_callback *callback = rq ? rq->balance_callback : NULL;
	return callback && callback->func == &balance_push;
}

/* Whether a CPU takes no decisions: it is offline, or leaving, or not quite back. */
static __always_inline bool is_going(u32 cpu)
{
	return ((domain->hls.offline >> (cpu & (HLS_MAX_CPUS - 1))) & 1) || is_leaving(cpu);
}

/*
 * Whether a thread may not leave its CPU for now. A kernel with preemptible RCU disables the migration of the current
 * thread once while this program runs, and that does not count. Kernels without preemptible RCU do not disable it,
 * except for some older ones: there the current thread counts as bound, which costs a migration and is never wrong.
 */
static __always_inline bool is_bound(const struct task_struct *p)
{
	bool by_program = &__rcu_read_lock && p == bpf_get_current_task_btf();
	return p->migration_disabled > by_program;
}

/* Takes the first thread out of a list of the CPU's urgent threads (urgent.h); returns its VP. There must be one. */
static __always_inline u32 pop_urgent(struct engine_cpu __arena *c, u32 urgency)
{
	u32 v = c->urgent[urgency & (URGENCIES - 1)];
	c->urgent[urgency & (URGENCIES - 1)] = domain->thread[v].next_urgent;
	domain->thread[v].is_listed = false;
	return v;
}

/* Empties the CPU's lists of urgent threads. Holders are found again, others are rescued when they starve. */
static __always_inline void forget_urgent(u32 cpu)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu];
	for (u32 i = opaque(0); i < HLS_MAX_VPS && c->urgents && can_loop; i++)
		pop_urgent(c, c->urgent[ENDS] ? ENDS : HOLDS);
}

/*
 * A CPU goes offline, or is back. Once it is offline dispatch() is not called there any more, and the kernel moves its
 * threads to other CPUs, where they are enqueued. Until then some of them run there without a grant. To be called under
 * the lock.
 */
static __always_inline s64 change_cpu(u32 cpu, bool is_back, u64 now)
{
	settle(cpu, now);
	domain->kicked &= ~(1ULL << cpu);
	forget_urgent(cpu);
	return is_back ? hls_online(&domain->hls, cpu, now) : hls_offline(&domain->hls, cpu, now);
}

/*
 * Tells the core of one of the noted CPUs: CPUs that are back come first, since the last CPU cannot go. A CPU that is
 * back decides at once: by now it may run a thread to which no CPU is granted (hls_running). Returns whether the lock
 * could be had.
 */
HLS_GLOBAL_FUNC bool change_noted_cpu(void)
{
	unsigned long irq;
	u64 due = 0;
	s64 error = 0;
	bpf_local_irq_save(&irq);
	bool is_locked = lock();
	if (is_locked) {
		u64 back = domain->cpus_back, cpus = back ? back : domain->cpus_gone;
		if (cpus) {
			u32 cpu = __builtin_ctzll(cpus) & (HLS_MAX_CPUS - 1);
			error = change_cpu(cpu, back, now_ns());
			/* No sooner: may_not_send() looks without the lock. */
			domain->cpus_back &= ~(1ULL << cpu);
			domain->cpus_gone &= ~(1ULL << cpu);
			due = back & (1ULL << cpu);
		}
		due |= to_kick();
		unlock();
	}
	bpf_local_irq_restore(&irq);
	if (error)
		end_run("a CPU came or went that the hierarchy does not have");
	kick(due);
	return is_locked;
}

/* Tells the core of the CPUs that were noted. */
HLS_GLOBAL_FUNC u32 change_noted_cpus(void)
{
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && (domain->cpus_gone | domain->cpus_back) && can_loop; i++)
		if (!change_noted_cpu())
			break;
	return 0;
}

/* Notes that a CPU has gone, or is back. This CPU's timer tells the core of it. */
HLS_GLOBAL_FUNC u32 note_cpu(u32 cpu, u32 is_back)
{
	unsigned long irq;
	if (cpu >= HLS_MAX_CPUS) {
		end_run("a CPU came or went with a number that is too great for the hierarchy");
		return 0;
	}
	bpf_local_irq_save(&irq);
	if (lock()) {
		u64 now = scx_bpf_now(), bit = 1ULL << cpu;
		domain->cpus_gone = is_back ? domain->cpus_gone & ~bit : domain->cpus_gone | bit;
		domain->cpus_back = is_back ? domain->cpus_back | bit : domain->cpus_back & ~bit;
		start_timer(bpf_get_smp_processor_id(), now, now);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	return 0;
}

/* The kernel reports that a CPU is back, in a kernel thread of that CPU; if a CPU goes, it calls hls_cpu_offline(). */
SEC("struct_ops/hls_cpu_online")
int hls_cpu_online(u64 *ctx)
{
	USES(arena);
	note_cpu((u32)ctx[0], true);
	return 0;
}

/* The CPUs that are about to go and that the core still has. */
static __always_inline u64 leaving_cpus(void)
{
	u64 online = domain->hls.cpus & ~domain->hls.offline, leaving = 0;
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && online && can_loop; i++) {
		u32 cpu = __builtin_ctzll(online);
		online &= online - 1;
		if (is_leaving(cpu))
			leaving |= 1ULL << cpu;
	}
	return leaving;
}

/*
 * Looks for CPUs that are about to go and that the kernel has not reported yet. Under the lock: so a CPU that comes
 * back meanwhile is noted later.
 */
HLS_GLOBAL_FUNC u32 look_for_leaving(void)
{
	unsigned long irq;
	bpf_local_irq_save(&irq);
	if (lock()) {
		u64 leaving = leaving_cpus();
		domain->cpus_gone |= leaving;
		domain->cpus_back &= ~leaving;
		unlock();
	}
	bpf_local_irq_restore(&irq);
	return 0;
}

#endif
