/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel threads, which have no VP, go before the hierarchy: otherwise all that waits for their work would wait with
 * them. This is bounded, or a kernel thread that never sleeps would have its CPU for ever: in a row they get
 * KERNEL_BURST_NS of a CPU, in the long run half of it. Beyond that they wait in a queue of the CPU while the hierarchy
 * wants the CPU, for KERNEL_FURTHEST_NS less KERNEL_BURST_NS at most.
 *
 * Each CPU counts the CPU time of its kernel threads, under the lock of its run queue. The word of such a thread in
 * dsq_vtime names no VP; where other threads have a generation, it has the CPU time of the thread when that was last
 * counted. The keeper (run.h) has no VP either; it is not bounded.
 */
#ifndef HLS_BPF_KERNEL_THREADS_H
#define HLS_BPF_KERNEL_THREADS_H

#include "cpus.h"

/* kernel_paid_ns advances by this for each nanosecond of a kernel thread, and may be a burst ahead of the time. */
#define KERNEL_PRICE 2
#define KERNEL_BURST_NS HLS_MS(10)
/* The most by which it may be ahead of the time: CPU time that the hierarchy did not want is not held against them. */
#define KERNEL_FURTHEST_NS (KERNEL_BURST_NS + 2 * SLICE_NS)

/* The queue of the kernel threads that wait for a CPU. */
static __always_inline u64 kernel_queue(u32 cpu)
{
	return cpu;
}

/* Whether kernel threads go before the hierarchy on this CPU now. */
static __always_inline bool is_kernels_turn(u32 cpu, u64 now)
{
	return domain->cpu[cpu & (HLS_MAX_CPUS - 1)].kernel_paid_ns <= now + KERNEL_BURST_NS;
}

/* When kernel threads go before the hierarchy next. */
static __always_inline u64 kernels_turn_at(u32 cpu)
{
	return domain->cpu[cpu & (HLS_MAX_CPUS - 1)].kernel_paid_ns - KERNEL_BURST_NS;
}

/* Whether a thread without a VP goes before the hierarchy now. */
static __always_inline bool goes_first(const struct task_struct *p, u32 cpu)
{
	return !(p->flags & PF_KTHREAD) || is_kernels_turn(cpu, scx_bpf_now());
}

/* The kernel threads of a CPU have had it for length_ns. */
HLS_GLOBAL_FUNC u32 charge_kernel(u32 cpu, u64 length_ns)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u64 now = scx_bpf_now(), paid = c->kernel_paid_ns, furthest = now + KERNEL_FURTHEST_NS;
	paid = (paid > now ? paid : now) + KERNEL_PRICE * length_ns;
	c->kernel_paid_ns = paid < furthest ? paid : furthest;
	return 0;
}

/* From now on the CPU time of p, a thread without a VP, is counted. */
static __always_inline void begin_count(struct task_struct *p)
{
	p->scx.dsq_vtime = p->se.sum_exec_runtime << VP_NUMBER_BITS;
}

/* Counts what p, a thread without a VP, has had of its CPU since the last time. */
static __always_inline void count(struct task_struct *p)
{
	u64 before = p->scx.dsq_vtime;
	begin_count(p);
	charge_kernel(scx_bpf_task_cpu(p), (p->scx.dsq_vtime - before) >> VP_NUMBER_BITS);
}

/* Whether p, a thread without a VP, keeps its CPU when only the hierarchy wants that CPU. From dispatch(). */
static __always_inline bool keeps_cpu(struct task_struct *p, u32 cpu)
{
	count(p);
	return goes_first(p, cpu);
}

/*
 * A thread without a VP is runnable. If another thread has the CPU, that CPU is to look at its queue, or to set its
 * timer for that; if p itself had it, dispatch() has just done so.
 */
static __always_inline void enqueue_kernel(struct task_struct *p, u64 flags)
{
	u32 cpu = scx_bpf_task_cpu(p) & (HLS_MAX_CPUS - 1);
	count(p);
	if (goes_first(p, cpu) || is_leaving(cpu)) {
		insert(p, SCX_DSQ_LOCAL, SLICE_NS, flags | KERNEL(scx_enq_flags, SCX_ENQ_PREEMPT));
		return;
	}
	domain->cpu[cpu].kernel_waits = true;
	insert(p, kernel_queue(cpu), SLICE_NS, flags);
	if (p != bpf_get_current_task_btf())
		kick(1ULL << cpu);
}

/*
 * Puts the kernel thread that has waited longest on this CPU, if it is the turn of kernel threads, or the hierarchy
 * does not want the CPU (`is_free`). Returns whether there was one. Only one at a time: the first may use up the turn,
 * and those behind it would lose the CPU as they begin, and wait behind it again. From dispatch(), without the lock:
 * the kernel takes locks of its own.
 */
HLS_GLOBAL_FUNC bool take_kernel_thread(u32 cpu, u32 is_free)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	if (!is_free && !is_kernels_turn(cpu, scx_bpf_now()))
		return false;
	c->kernel_waits = scx_bpf_dsq_move_to_local(kernel_queue(cpu));
	return c->kernel_waits;
}

/* Makes this CPU look at the queue of its kernel threads again when it is their turn. To be called under the lock. */
static __always_inline void wait_for_kernels_turn(u32 cpu, u64 now)
{
	set_timer_no_later(cpu, kernels_turn_at(cpu), now);
}

/*
 * A thread without a VP has begun to run. If it was put on this CPU during the turn of such threads, and the turn has
 * ended, and the hierarchy wants the CPU, it loses the CPU again.
 */
static __always_inline void run_kernel(const struct task_struct *p, u32 cpu)
{
	if (unlikely(!goes_first(p, cpu)) && granted_on(cpu & (HLS_MAX_CPUS - 1)) && !is_going(cpu))
		scx_bpf_kick_cpu(cpu, KERNEL(scx_kick_flags, SCX_KICK_PREEMPT));
}

/*
 * A CPU goes offline, and dispatch() is not called there any more: all kernel threads that wait for it run there until
 * they can go.
 */
static __always_inline void let_kernel_threads_go(u32 cpu)
{
	struct bpf_iter_scx_dsq waiting;
	struct task_struct *p;
	bpf_iter_scx_dsq_new(&waiting, kernel_queue(cpu), 0);
	while ((p = bpf_iter_scx_dsq_next(&waiting)))
		scx_bpf_dsq_move(&waiting, p, SCX_DSQ_LOCAL_ON | cpu, 0);
	bpf_iter_scx_dsq_destroy(&waiting);
}

/* Makes the queues. From init(). */
static __always_inline int make_kernel_queues(void)
{
	int error = 0;
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && !error && can_loop; cpu++)
		if ((domain->hls.cpus >> cpu) & 1)
			error = scx_bpf_create_dsq(kernel_queue(cpu), -1);
	return error;
}

#endif
