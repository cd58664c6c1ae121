/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Errands: what an operation leaves to this CPU's timer, which goes off as soon as interrupts are on. So operations that
 * are seldom called, of which the kernel has many, do without the core, and the verifier does not walk through the core
 * for each of them. An errand is about a thread; whoever does it looks at the state of that moment.
 *
 * Needs the map `arena`, thread_of(), and the maps of weights.h.
 */
#ifndef HLS_BPF_ERRANDS_H
#define HLS_BPF_ERRANDS_H

#include "clock.h"
#include "due.h"

enum errand {
	ERRAND_LEAVE = 1, /* the thread has left our class, and wants no CPU of it */
	ERRAND_GO = 2,    /* the thread has gone: its VP is to be detached */
	ERRAND_BIND = 4,  /* the running thread has another affinity */
};

/* So many errands are done in a row; then other work comes first. */
#define ERRANDS_IN_A_ROW 16

/* Leaves an errand about the thread of v to this CPU's timer. To be called under the lock. */
HLS_GLOBAL_FUNC u32 leave_errand(u32 v, u32 errand)
{
	u64 now = scx_bpf_now();
	if (v >= HLS_MAX_VPS)
		return 0;
	struct engine_thread __arena *t = &domain->thread[v];
	if (!t->errands) {
		domain->next_errand[v] = domain->first_errand;
		domain->first_errand = v;
	}
	t->errands |= errand;
	start_timer(bpf_get_smp_processor_id(), now, now);
	return 0;
}

/* leave_errand() where the lock is not held. */
HLS_GLOBAL_FUNC u32 leave_errand_unlocked(u32 v, u32 errand)
{
	unsigned long irq;
	bpf_local_irq_save(&irq);
	if (lock()) {
		leave_errand(v, errand);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	return 0;
}

#endif
