/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Errands: what an operation leaves to this CPU's timer, which goes off as soon as interrupts are on. So the many
 * operations that the kernel seldom calls do without the core, and the verifier does not walk through the core for each
 * of them. An errand is about a thread, and is done by the state that the thread has then. A VP is not given back while
 * there is an errand about it, so that an errand never meets another thread.
 *
 * A timer may fail to be started, and without timers a CPU's pulses end with the CPU. So the watcher (watch.h) does
 * what is left, once a second.
 */
#ifndef HLS_BPF_ERRANDS_H
#define HLS_BPF_ERRANDS_H

#include "clock.h"
#include "due.h"

enum errand {
	ERRAND_LEAVE = 1, /* the thread has left our class, and wants no CPU from it */
	ERRAND_GO = 2,    /* the thread has gone: its VP is to be detached */
	ERRAND_BIND = 4,  /* the thread has another affinity */
};

/* The most errands that are done in a row; then other work comes first. */
#define ERRANDS_IN_A_ROW 16

/* Leaves an errand about the thread of v to this CPU's timer, behind all others. To be called under the lock. */
HLS_GLOBAL_FUNC u32 leave_errand(u32 v, u32 errand)
{
	u64 now = scx_bpf_now();
	if (v >= HLS_MAX_VPS)
		return 0;
	struct engine_thread __arena *t = &domain->thread[v];
	/* A VP is in the list as long as it has errands, and so it is there once. */
	if (!t->errands) {
		domain->next_errand[v] = 0;
		if (domain->first_errand)
			domain->next_errand[domain->last_errand] = v;
		else
			domain->first_errand = v;
		domain->last_errand = v;
	}
	t->errands |= errand;
	start_timer(bpf_get_smp_processor_id(), now, now);
	return 0;
}

/* The thread of v has another affinity, and enqueue() does not hear of it now. */
HLS_GLOBAL_FUNC u32 change_affinity(u32 v)
{
	unsigned long irq;
	bpf_local_irq_save(&irq);
	if (lock()) {
		leave_errand(v, ERRAND_BIND);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	return 0;
}

/*
 * The thread of v leaves our class: it gives up its CPU, or its wait for one. Until that is done it has no affinity
 * here. If it comes back before, enqueue() gives it one, and makes it begin anew (follow_affinity): then nothing is
 * left to do. Under the lock, since a call of the core may have a VP wait for a moment.
 */
HLS_GLOBAL_FUNC u32 leave_class(u32 v)
{
	unsigned long irq;
	bpf_local_irq_save(&irq);
	if (v < HLS_MAX_VPS && lock()) {
		const vp_t *vp = &domain->hls.vp[v];
		if (vp->state != HLS_WAITING || vp->suspension) {
			domain->thread[v].cpus = 0;
			leave_errand(v, ERRAND_LEAVE);
		}
		unlock();
	}
	bpf_local_irq_restore(&irq);
	return 0;
}

/* Gives the core the affinity that the thread of v has now. */
static __always_inline void follow_thread(u32 v, u64 now)
{
	struct engine_thread __arena *t = &domain->thread[v];
	const struct task_struct *task = thread_of(v);
	u64 cpus = task ? task->cpus_ptr->bits[0] & domain->hls.cpus : 0;
	if (!cpus || cpus == t->cpus)
		return;
	t->cpus = cpus;
	hls_set_affinity(&domain->hls, v, cpus, now);
}

/* The thread of v no longer wants a CPU. */
static __always_inline void stop_thread(u32 v, u64 now)
{
	const vp_t *vp = &domain->hls.vp[v];
	u32 cpu = vp->cpu & (HLS_MAX_CPUS - 1);
	if (vp->state == HLS_RUNNING) {
		settle_granted(cpu, v, now);
		domain->cpu[cpu].free_since_ns = now;
	}
	domain->thread[v].queued_at_ns = 0;
	hls_release(&domain->hls, v, now);
}

/* Does the errands about the thread of v. To be called under the lock. */
static __always_inline void do_errand(u32 v, u64 now)
{
	if (v >= HLS_MAX_VPS)
		return;
	struct engine_thread __arena *t = &domain->thread[v];
	u32 errands = t->errands;
	bool is_away = (errands & ERRAND_LEAVE) && !t->cpus;
	t->errands = 0;
	if (is_away || (errands & ERRAND_GO))
		stop_thread(v, now);
	if (errands & ERRAND_GO) {
		domain->nr_threads--;
		detach_waiting(&domain->hls, v);
	} else if (!t->queued_at_ns) {
		/* For a queued thread, enqueue() knows the affinity, and whether the thread may migrate (is_bound). */
		follow_thread(v, now);
	}
}

/*
 * Does the first errand, if there still is one. If it is the last of a row, this CPU's timer is to do the errands
 * behind it. Returns whether the lock could be had.
 */
HLS_GLOBAL_FUNC bool do_first_errand(u32 is_last)
{
	unsigned long irq;
	u64 due = 0;
	bpf_local_irq_save(&irq);
	bool is_locked = lock();
	if (is_locked) {
		u64 now = now_ns();
		u32 v = domain->first_errand;
		if (v) {
			domain->first_errand = domain->next_errand[v];
			do_errand(v, now);
		}
		due = to_kick();
		if (is_last && domain->first_errand)
			start_timer(bpf_get_smp_processor_id(), now, now);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return is_locked;
}

/* Does errands, of all CPUs: up to ERRANDS_IN_A_ROW, each under its own hold of the lock. */
HLS_GLOBAL_FUNC u32 do_errands(void)
{
	for (u32 i = opaque(1); i <= ERRANDS_IN_A_ROW && domain->first_errand && can_loop; i++)
		if (!do_first_errand(i == ERRANDS_IN_A_ROW))
			break;
	return 0;
}

#endif
