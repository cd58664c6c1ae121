/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel engine: the core behind sched_ext's operations.
 *
 * Every thread that sched_ext schedules has a VP. The VP's index lies in p->scx.dsq_vtime, which sched_ext leaves to
 * the scheduler. Index 0 marks threads that never wait for a grant: kernel threads, and threads of the process that
 * keeps the run. A wake-up is a request, blocking a release. Each CPU decides in dispatch() by hls_schedule(); a CPU
 * where a decision is due is kicked, and so preempted. The chosen thread runs until its CPU is kicked.
 *
 * While the hierarchy has granted a CPU to a thread, others may use that CPU: interrupts, real-time and deadline
 * threads, threads that never wait for a grant. This is stolen time: the CPU's clock stands still meanwhile
 * (hls_steal). The kernel does not report it; it is the time that is missing in the kernel's account of the thread
 * (clock.h).
 *
 * Locks: see lock.h. A thread that the core has chosen goes into the dispatch buffer of the CPU under the lock: the
 * kernel notes there the thread's current stay in the queue, and drops the entry if the thread has left meanwhile, or
 * has come back with another affinity.
 */
#include "../core/core.c"
#include "maps.h"

char _license[] SEC("license") = "GPL";

#include "clock.h"
#include "cpus.h"
#include "kernel_threads.h"
#include "rescue.h"
#include "ends.h"
#include "watch.h"
#include "jumps.h"
#include "timers.h"
#include "threads.h"
#include "calls.h"
#include "probe.h"

/* How many records there were when user space was last woken for them. */
static u64 nr_records_announced;

/* Whether a quarter of all records were written since user space was woken for them. To be called under the lock. */
static __always_inline bool are_many_records(void)
{
	if (likely(domain->hls.nr_records - nr_records_announced < HLS_MAX_RECORDS / 4))
		return false;
	nr_records_announced = domain->hls.nr_records;
	return true;
}

/*
 * Gives the core the thread's affinity, if the core has another one, or none because the thread had left our class
 * (leave_class). The caller requests the thread's VP next: to request it here would take stack that later calls need.
 */
static __always_inline void follow_affinity(u32 v, const struct task_struct *p, u64 now)
{
	struct engine_thread __arena *t = &domain->thread[v];
	u64 cpus = p->cpus_ptr->bits[0];
	if (is_bound(p))
		cpus = 1ULL << (scx_bpf_task_cpu(p) & (HLS_MAX_CPUS - 1));
	cpus &= domain->hls.cpus;
	if (cpus == t->cpus || !cpus)
		return;
	t->cpus = cpus;
	begin_change(&domain->hls, v, now);
	hls_release(&domain->hls, v, now);
	bind(&domain->hls, v, cpus);
}

/*
 * Chooses a CPU for a thread that wakes up. For its own threads the hierarchy chooses later; threads that never wait
 * for a grant get an idle CPU, if there is one, so that they do not gather where they began.
 */
SEC("struct_ops/hls_select_cpu")
int hls_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	int cpu = (int)ctx[1];
	bool is_idle = false;
	if (vp_of(p))
		return cpu;
	return scx_bpf_select_cpu_dfl(p, cpu, ctx[2], &is_idle);
}

/* A thread is runnable and has no CPU: it woke up, or lost its CPU. */
SEC("struct_ops/engine_enqueue")
int engine_enqueue(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1], due = 0;
	u32 v = vp_of(p);
	if (!v) {
		enqueue_kernel(p, flags);
		return 0;
	}
	if (!lock())
		return 0;
	u64 now = now_ns();
	follow_affinity(v, p, now);
	const vp_t *vp = in_register(&domain->hls.vp[v]);
	request_thread(&domain->hls, v, now, true);
	u32 cpu = vp->cpu;
	if (vp->state == HLS_RUNNING && cpu != bpf_get_smp_processor_id() && unlikely(is_leaving(cpu)))
		hls_offline(&domain->hls, cpu, now);
	bool granted = vp->state == HLS_RUNNING;
	domain->thread[v].queued_at_ns = granted ? 0 : now;
	if (unlikely(vp->flags & HLS_STALLED) && flags & KERNEL(scx_enq_flags, SCX_ENQ_WAKEUP))
		due = hand_lock_on(v, granted, now);
	due |= to_kick();
	/* A request changes no slice: only schedulers' timers may be due earlier now. */
	set_timer_no_later(bpf_get_smp_processor_id(), hls_timer_at(&domain->hls), now);
	unlock();
	if (granted)
		insert(p, SCX_DSQ_LOCAL_ON | cpu, SLICE_NS, flags);
	kick(due);
	/* vp_of() again: to keep `v` until here would take stack that the calls above need. */
	if (unlikely(is_urgent(&domain->thread[vp_of(p)])))
		hurry(p->scx.dsq_vtime, false, 0);
	return 0;
}

/* The decision for a CPU after its thread has blocked, or lost the CPU. */
SEC("struct_ops/engine_dispatch")
int engine_dispatch(u64 *ctx)
{
	USES(arena);
	u32 cpu = (u32)ctx[0];
	struct task_struct *prev = (void *)ctx[1];
	u64 due;
	bool goes_on = false;
	/*
	 * A kick preempted a thread that never waits for a grant: that thread goes on, and the decision is taken when
	 * it has gone. If it left the CPU now, it would wait behind the chosen thread.
	 */
	bool is_kernels = prev && !vp_of(prev) && (prev->scx.flags & SCX_TASK_QUEUED);
	if (is_kernels && keeps_cpu(prev, cpu)) {
		scx_bpf_task_set_slice(prev, SLICE_NS);
		return 0;
	}
	if (cpu >= HLS_MAX_CPUS)
		return 0;
	bool is_first = unlikely(domain->cpu[cpu].kernel_waits) && take_kernel_thread(cpu, false);
	if (!lock())
		return 0;
	u64 clock = this_rq()->clock, now = not_before_ns(clock);
	u32 before = settle(cpu, clock);
	hls_expire(&domain->hls, cpu, now);
	u32 v = schedule_fast(&domain->hls, cpu, now);
	domain->kicked &= ~(1ULL << cpu);
	domain->cpu[cpu].free_since_ns = 0;
	/* A rescued or urgent thread goes before the granted one, which would keep the CPU if it got another slice. */
	if (unlikely(domain->cpu[cpu].rescues | domain->cpu[cpu].urgents))
		is_first |= insert_first(cpu, now);
	if (v) {
		struct task_struct *task = thread_of(v);
		bool is_queued = domain->thread[v].queued_at_ns;
		goes_on = !is_first && !is_queued && prev && vp_of(prev) == v;
		domain->thread[v].queued_at_ns = 0;
		if (task && v != before)
			domain->cpu[cpu].lag_ns = lag_off_cpu(task, clock);
		if (task && is_queued)
			insert(task, SCX_DSQ_LOCAL, SLICE_NS, 0);
	}
	due = to_kick();
	set_timer(cpu, now);
	if (unlikely(is_kernels || domain->cpu[cpu].kernel_waits))
		wait_for_kernels_turn(cpu, now);
	bool many = are_many_records();
	unlock();
	if (unlikely(many))
		announce();
	if (unlikely(!v && !is_first)) {
		bool others = domain->cpu[cpu].kernel_waits && take_kernel_thread(cpu, true);
		goes_on = is_kernels && !others;
	}
	if (goes_on)
		scx_bpf_task_set_slice(prev, SLICE_NS);
	kick(due);
	return 0;
}

/* The thread that the CPU is granted to is back on it: the CPU's clock goes on, and its timer waits for the slice. */
HLS_GLOBAL_FUNC u32 resume_slice(u32 cpu)
{
	if (cpu >= HLS_MAX_CPUS || !lock())
		return 0;
	u64 clock = this_rq()->clock;
	settle(cpu, clock);
	domain->cpu[cpu].slice_waits = false;
	set_timer(cpu, not_before_ns(clock));
	unlock();
	return 0;
}

/*
 * A thread is on a CPU, for the first time or again. The CPU decides at once if it is not granted to that thread, if
 * others wait to be rescued, or if a decision is due for which the kernel has not called: the kernel drops a kick of a
 * CPU that a real-time thread has. On a CPU that is going offline, and no longer decides, threads run until they can be
 * pushed off it.
 */
SEC("struct_ops/hls_running")
int hls_running(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p), cpu = bpf_get_smp_processor_id();
	if (!v) {
		run_kernel(p, cpu);
		return 0;
	}
	const vp_t *vp = &domain->hls.vp[v];
	const struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	bool is_due = vp->state != HLS_RUNNING || vp->cpu != cpu || ((domain->hls.kick >> cpu) & 1) || c->rescue ||
		      (unlikely(c->urgents) && are_urgent_due(c, scx_bpf_now()));
	if (unlikely(is_due)) {
		if (v != c->rescued && !is_going(cpu))
			scx_bpf_kick_cpu(cpu, KERNEL(scx_kick_flags, SCX_KICK_PREEMPT));
	} else if (unlikely(c->slice_waits)) {
		resume_slice(cpu);
	}
	return 0;
}

/*
 * Whether the CPU that runs this program is granted to v, so that the leaving thread of v brings it to dispatch()
 * without a kick. A starved thread has a CPU without a grant, and the granted thread waits in the CPU's queue: the
 * kernel takes it from there without dispatch(), so only a kick makes that CPU decide.
 */
static __always_inline bool leaves_granted(const vp_t *vp, u32 cpu)
{
	return likely(vp->state == HLS_RUNNING && vp->cpu == cpu);
}

/* The kernel's states of a sleep. Idle kernel threads sleep in the state TASK_IDLE, which is both. */
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_NOLOAD 0x400

/*
 * Whether the thread, which blocks, stalls: no signal ends its sleep (ps shows it as D). Threads that wait for a page,
 * a disk or a lock of the kernel sleep like this.
 */
static __always_inline bool stalls(const struct task_struct *p)
{
	return (p->__state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE;
}

/*
 * The thread of v no longer wants a CPU. `lag_ns`: how far its CPU time lags behind the clock; `is_stalled`: it sleeps
 * against its will.
 */
static __always_inline void stop(u32 v, u64 lag_ns, u64 clock, bool blocks, bool is_stalled)
{
	if (!lock())
		return;
	u64 now = not_before_ns(clock);
	const vp_t *vp = in_register(&domain->hls.vp[v]);
	u32 here = bpf_get_smp_processor_id();
	bool gives_up = blocks && leaves_granted(vp, here);
	domain->hls.now_ns = now;
	if (vp->state == HLS_RUNNING) {
		u32 cpu = vp->cpu & (HLS_MAX_CPUS - 1);
		settle_clock(cpu, lag_ns, clock);
		domain->cpu[cpu].free_since_ns = clock;
	}
	domain->thread[v].queued_at_ns = 0;
	release_thread(&domain->hls, v, now, blocks);
	if (unlikely(is_stalled))
		begin_stall(v, here, now);
	if (likely(gives_up))
		domain->kicked |= 1ULL << (here & (HLS_MAX_CPUS - 1));
	u64 due = to_kick();
	if (unlikely(v == domain->cpu[here & (HLS_MAX_CPUS - 1)].rescued))
		due |= end_moment(here, clock);
	unlock();
	kick(due);
}

/* The kernel takes the thread of v out of its queue for a moment, to change its properties or its run queue. */
HLS_GLOBAL_FUNC u32 leave_queue(u32 v)
{
	if (!lock())
		return 0;
	domain->thread[v].queued_at_ns = 0;
	unlock();
	return 0;
}

/*
 * A thread is no longer runnable, or the kernel is about to change its properties. A thread that is changed keeps its
 * state with its scheduler, with its CPU or its wait for one: enqueue() follows, and is no wake-up then. If the thread
 * leaves our class, disable() follows.
 */
SEC("struct_ops/engine_quiescent")
int engine_quiescent(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1];
	u32 v = vp_of(p);
	if (!v) {
		count(p);
		return 0;
	}
	const struct rq *rq = this_rq();
	if (likely(flags & KERNEL(scx_deq_flags, SCX_DEQ_SLEEP)))
		stop(v, lag_on_cpu(p, rq), rq->clock, true, stalls(p));
	else if (!scx_bpf_task_running(p))
		leave_queue(v);
	return 0;
}

/*
 * A thread joins our class, for the first time or again. If it has a CPU already, that CPU decides at once: kicks that
 * came while the thread was in another class were dropped, and hls_running() is called on this CPU, not on the
 * thread's.
 */
SEC("struct_ops/hls_enable")
int hls_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 *word = bpf_task_storage_get(&task_vps, p, NULL, 0);
	if (word)
		p->scx.dsq_vtime = *word;
	else
		begin_count(p);
	if (scx_bpf_task_running(p))
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), KERNEL(scx_kick_flags, SCX_KICK_PREEMPT));
	return 0;
}

/* A thread leaves our class, for another one or because it ends. */
SEC("struct_ops/hls_disable")
int hls_disable(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p);
	if (v)
		leave_class(v);
	return 0;
}

SEC("struct_ops/engine_yielded")
int engine_yielded(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p);
	if (!v || !lock())
		return 0;
	u64 now = now_ns();
	u32 here = bpf_get_smp_processor_id();
	if (leaves_granted(&domain->hls.vp[v], here))
		domain->kicked |= 1ULL << (here & (HLS_MAX_CPUS - 1));
	hls_yield(&domain->hls, v, now);
	u64 due = to_kick();
	unlock();
	scx_bpf_task_set_slice(p, 0);
	kick(due);
	return 0;
}

/* A thread has another affinity. If it is queued, enqueue() follows at once and sees the affinity. */
SEC("struct_ops/hls_set_cpumask")
int hls_set_cpumask(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p);
	if (v && (scx_bpf_task_running(p) || !p->on_rq))
		change_affinity(v);
	return 0;
}

/* The kernel reports, in a kernel thread of that CPU, that a CPU goes. */
SEC("struct_ops/hls_cpu_offline")
int hls_cpu_offline(u64 *ctx)
{
	USES(arena);
	u32 cpu = (u32)ctx[0];
	let_kernel_threads_go(cpu);
	note_cpu(cpu, false);
	return 0;
}

SEC("struct_ops.s/engine_init")
int engine_init(void *ctx)
{
	USES(arena);
	(void)ctx;
	const struct cpumask *mask = scx_bpf_get_online_cpumask();
	u64 online = mask->bits[0];
	scx_bpf_put_cpumask(mask);
	if (online != (domain->hls.cpus & ~domain->hls.offline))
		return -19; /* ENODEV: a CPU came or went since user space counted them */
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && can_loop; cpu++)
		domain->cpu[cpu].timer_at_ns = HLS_NEVER;
	if (make_kernel_queues())
		return -12; /* ENOMEM */
	u32 only = 0;
	struct cpu_timer *t = bpf_map_lookup_elem(&watcher, &only);
	if (!t)
		return -1;
	if (has_timers)
		bpf_timer_start(&t->timer, RESCUE_INTERVAL_NS, 0);
	domain->has_begun = true;
	return 0;
}

/*
 * Called before sched_ext ends the run for an error: seals the domain, so that its state stays as it is. SysRq-D also
 * asks for a dump, but ends nothing.
 */
SEC("struct_ops/hls_dump")
int hls_dump(u64 *ctx)
{
	USES(arena);
	struct scx_dump_ctx *about = (void *)ctx[0];
	if (about->kind != SCX_EXIT_NONE)
		seal();
	return 0;
}

SEC("struct_ops/hls_exit")
int hls_exit(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];
	bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), info->reason);
	bpf_probe_read_kernel_str(exit_info.message, sizeof(exit_info.message), info->msg);
	exit_info.kind = info->kind;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops hls_ops = {
    .select_cpu = (void *)hls_select_cpu,
    .enqueue = (void *)hls_enqueue,
    .dispatch = (void *)hls_dispatch,
    .running = (void *)hls_running,
    .quiescent = (void *)hls_quiescent,
    .yield = (void *)hls_yielded,
    .set_weight = (void *)hls_set_weight,
    .set_cpumask = (void *)hls_set_cpumask,
    .cpu_online = (void *)hls_cpu_online,
    .cpu_offline = (void *)hls_cpu_offline,
    .enable = (void *)hls_enable,
    .disable = (void *)hls_disable,
    .init_task = (void *)hls_init_task,
    .exit_task = (void *)hls_exit_task,
    .init = (void *)hls_init,
    .dump = (void *)hls_dump,
    .exit = (void *)hls_exit,
    .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
    .timeout_ms = 30000,
    .name = "hls",
    .cgroup_init = (void *)hls_cgroup_init,
    .cgroup_exit = (void *)hls_cgroup_exit,
    .cgroup_move = (void *)hls_cgroup_move,
    .cgroup_set_weight = (void *)hls_cgroup_set_weight,
};

/* The programs that are jumped to. Never attached: it tells the kernel to which operation each program belongs. */
SEC(".struct_ops.link")
struct sched_ext_ops engine_ops = {
    .enqueue = (void *)engine_enqueue,
    .dispatch = (void *)engine_dispatch,
    .quiescent = (void *)engine_quiescent,
    .yield = (void *)engine_yielded,
    .init_task = (void *)engine_init_task,
    .exit_task = (void *)engine_exit_task,
    .init = (void *)engine_init,
    .name = "engine",
};
