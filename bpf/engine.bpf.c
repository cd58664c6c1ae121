/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel engine: the core behind sched_ext's operations.
 *
 * Every thread that sched_ext schedules has a VP, whose index lies in p->scx.dsq_vtime (which sched_ext leaves to the
 * scheduler); 0 marks those that never wait: kernel threads, and the engine's own process. A wake-up is a request,
 * blocking a release. What they change is decided on each CPU in dispatch() by hls_schedule(); a CPU where a decision
 * is due is kicked, and so preempted. The thread that is chosen goes on until it is kicked.
 *
 * A CPU that the hierarchy has granted to a thread may be taken by others: interrupts, real-time and deadline threads,
 * threads that never wait. That is stolen time: the CPU's clock stands still in it (hls_steal). Nobody tells us of it:
 * it is what the kernel's own account of the thread lacks.
 *
 * Locks: the domain's is taken inside the run queue's, with interrupts off. Nothing is called under it but the core.
 */
#include "../core/core.c"
#include "domain.h"
#include "sched_ext.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DOMAIN_PAGES);
	__ulong(map_extra, DOMAIN_AT);
} arena SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct kept_task {
	struct task_struct __kptr *task;
};

/* The thread of each VP, to be found again when it is chosen. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HLS_MAX_VPS);
	__type(key, u32);
	__type(value, struct kept_task);
} tasks SEC(".maps");

static __always_inline struct task_struct *thread_of(u32 v)
{
	struct kept_task *held = bpf_map_lookup_elem(&tasks, &v);
	return held ? held->task : NULL;
}

/* The VP of each thread, for when sched_ext has forgotten it: it does when a thread leaves our class. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} task_vps SEC(".maps");

/* Why the kernel let go of us, for the loader; in a map of its own. */
struct engine_exit {
	u32 kind; /* 0: it has not */
	char reason[128];
	char message[1024];
} exit_info SEC(".data.exit");

/* How many records there were when user space was told of them last. */
static u64 nr_records_announced;

/*
 * How long a thread runs before its CPU looks again at its own queue: sched_ext does not preempt for what comes there
 * while a decision is being taken, such as a kernel thread that must not wait.
 */
#define SLICE_NS HLS_MS(5)

#include "clock.h"
#include "rescue.h"
#include "jumps.h"

static __always_inline u32 vp_of(const struct task_struct *p)
{
	return p->scx.dsq_vtime;
}

/* Whether another quarter of the records has been written. To be called under the lock. */
static __always_inline bool are_many_records(void)
{
	if (likely(domain->hls.nr_records - nr_records_announced < HLS_MAX_RECORDS / 4))
		return false;
	nr_records_announced = domain->hls.nr_records;
	return true;
}

static __noinline void announce_records(void)
{
	struct event n = {.kind = EVENT_RECORDS};
	bpf_ringbuf_output(&events, &n, sizeof(n), 0);
}

/* A slice is over somewhere, or a scheduler wants to be called. */
static int on_timer(void *map, u32 *key, struct cpu_timer *t)
{
	USES(arena);
	(void)map, (void)t;
	u32 cpu = *key;
	unsigned long irq;
	if (cpu >= HLS_MAX_CPUS)
		return 0;
	bpf_local_irq_save(&irq);
	u64 due = 0;
	if (lock()) {
		u64 now = now_ns();
		u32 v = settle(cpu, now);
		domain->cpu[cpu].timer_at_ns = HLS_NEVER;
		domain->cpu[cpu].wakeups++;
		hls_timers(&domain->hls, now);
		hls_expire(&domain->hls, cpu, now);
		due = to_kick();
		if (unlikely(domain->cpu[cpu].rescued))
			due |= end_rescue(cpu, now);
		if (v && thread_of(v) != bpf_get_current_task_btf())
			set_timer_without_slice(cpu, now);
		else if (!((domain->hls.kick >> cpu) & 1))
			set_timer(cpu, now);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return 0;
}

/*
 * Tells the core when the CPUs that a thread may use are others than it knows of. The thread is to be requested next:
 * to have that done here takes stack that others need.
 */
static __always_inline void follow_affinity(u32 v, const struct task_struct *p, u64 now)
{
	struct engine_thread __arena *t = &domain->thread[v];
	u64 cpus = p->cpus_ptr->bits[0];
	/* The program that runs here keeps the current thread where it is; that does not count. */
	bool bound = p->migration_disabled > (p == bpf_get_current_task_btf());
	if (bound)
		cpus = 1ULL << (scx_bpf_task_cpu(p) & (HLS_MAX_CPUS - 1));
	cpus &= domain->hls.cpus;
	if (cpus == t->cpus || !cpus)
		return;
	t->cpus = cpus;
	bind(&domain->hls, v, cpus, now);
}

SEC("struct_ops/hls_select_cpu")
int hls_select_cpu(u64 *ctx)
{
	return (int)ctx[1];
}

/*
 * Whether a CPU is about to go. The kernel pushes all threads off it, and decides nothing there any more; we are told
 * of it only when readers of RCU have come to their ends, which those may be that are granted that CPU.
 */
static __always_inline bool is_leaving(u32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	return rq && rq->balance_callback && rq->balance_callback == &balance_push_callback;
}

/* A thread is runnable and has no CPU: it woke up, or was put off its CPU. */
SEC("struct_ops/engine_enqueue")
int engine_enqueue(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1], due = 0;
	u32 v = vp_of(p);
	if (!v) {
		insert(p, SCX_DSQ_LOCAL, SLICE_NS, flags | KERNEL(scx_enq_flags, SCX_ENQ_PREEMPT));
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
	due = to_kick();
	/* A request ends no slice, and begins none. */
	set_timer_no_later(bpf_get_smp_processor_id(), hls_timer_at(&domain->hls), now);
	unlock();
	if (granted)
		insert(p, SCX_DSQ_LOCAL_ON | cpu, SLICE_NS, flags);
	kick(due);
	return 0;
}

static __always_inline void insert_thread_of(u32 v)
{
	struct task_struct *task = thread_of(v);
	if (task)
		insert(task, SCX_DSQ_LOCAL, SLICE_NS, 0);
}

/* The decision for a CPU whose thread has blocked or has been kicked off. */
SEC("struct_ops/engine_dispatch")
int engine_dispatch(u64 *ctx)
{
	USES(arena);
	u32 cpu = (u32)ctx[0];
	struct task_struct *prev = (void *)ctx[1];
	u64 due;
	u32 starved = 0;
	bool goes_on = false;
	/*
	 * A thread that never waits was kicked for a decision that is not about it: it goes on, and the decision is
	 * taken when it has gone. Put off the CPU it would wait behind whoever is chosen.
	 */
	if (prev && !vp_of(prev) && (prev->scx.flags & SCX_TASK_QUEUED)) {
		scx_bpf_task_set_slice(prev, SLICE_NS);
		return 0;
	}
	if (cpu >= HLS_MAX_CPUS || !lock())
		return 0;
	u64 clock = this_rq()->clock, now = not_before_ns(clock);
	u32 before = settle(cpu, clock);
	hls_expire(&domain->hls, cpu, now);
	u32 v = schedule_fast(&domain->hls, cpu, now);
	domain->kicked &= ~(1ULL << cpu);
	domain->cpu[cpu].free_since_ns = 0;
	struct task_struct *task = NULL;
	if (v) {
		if (prev && vp_of(prev) == v && !domain->thread[v].queued_at_ns)
			goes_on = true;
		task = thread_of(v);
		if (task && v != before)
			domain->cpu[cpu].lag_ns = lag_off_cpu(task, clock);
		if (!domain->thread[v].queued_at_ns)
			task = NULL;
		domain->thread[v].queued_at_ns = 0;
	}
	if (unlikely(domain->cpu[cpu].rescue))
		starved = take_starved(cpu, now);
	due = to_kick();
	set_timer(cpu, now);
	bool many = are_many_records();
	unlock();
	if (unlikely(many))
		announce_records();
	if (unlikely(starved))
		insert_thread_of(starved);
	else if (goes_on)
		scx_bpf_task_set_slice(prev, SLICE_NS);
	if (task)
		insert(task, SCX_DSQ_LOCAL, SLICE_NS, 0);
	kick(due);
	return 0;
}

/* The clock of a CPU goes on. */
static __noinline void resume_slice(u32 cpu)
{
	if (cpu >= HLS_MAX_CPUS || !lock())
		return;
	u64 clock = this_rq()->clock;
	settle(cpu, clock);
	domain->cpu[cpu].slice_waits = false;
	set_timer(cpu, not_before_ns(clock));
	unlock();
}

/*
 * A thread is on its CPU, for the first time or again. Where the kernel has overruled us, or there was no asking us
 * when a decision was due, the CPU is to decide now.
 */
SEC("struct_ops/hls_running")
int hls_running(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p), cpu = bpf_get_smp_processor_id();
	if (!v)
		return 0;
	const vp_t *vp = &domain->hls.vp[v];
	const struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	bool is_due = vp->state != HLS_RUNNING || vp->cpu != cpu || ((domain->hls.kick >> cpu) & 1);
	if (unlikely(is_due)) {
		if (v != c->rescued)
			scx_bpf_kick_cpu(cpu, KERNEL(scx_kick_flags, SCX_KICK_PREEMPT));
	} else if (unlikely(c->slice_waits)) {
		resume_slice(cpu);
	}
	return 0;
}

/* A thread wants no CPU any more. `lag_ns`: how far its CPU time lags behind the clock. */
static __always_inline void stop(u32 v, u64 lag_ns, u64 clock, bool blocks)
{
	if (!lock())
		return;
	u64 now = not_before_ns(clock);
	const vp_t *vp = in_register(&domain->hls.vp[v]);
	domain->hls.now_ns = now;
	if (vp->state == HLS_RUNNING) {
		u32 cpu = vp->cpu & (HLS_MAX_CPUS - 1);
		settle_clock(cpu, lag_ns, clock);
		domain->cpu[cpu].free_since_ns = clock;
	}
	domain->thread[v].queued_at_ns = 0;
	release_thread(&domain->hls, v, now, blocks);
	/* A thread that blocks is on its way to dispatch() already. */
	if (likely(blocks))
		domain->kicked |= 1ULL << (bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1));
	u64 due = to_kick();
	unlock();
	kick(due);
}

/* The same of a thread that does not compute here, as far as we know. */
static __noinline void stop_elsewhere(u32 v, struct task_struct *p)
{
	u64 now = scx_bpf_now();
	stop(v, lag_off_cpu(p, now), now, false);
}

/*
 * A thread is not runnable any more, or is about to be changed. One that is changed while it runs keeps its CPU, unless
 * it leaves us: then we hear of that, too.
 */
SEC("struct_ops/engine_quiescent")
int engine_quiescent(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1];
	u32 v = vp_of(p);
	if (!v)
		return 0;
	const struct rq *rq = this_rq();
	if (likely(flags & KERNEL(scx_deq_flags, SCX_DEQ_SLEEP)))
		stop(v, lag_on_cpu(p, rq), rq->clock, true);
	else if (!scx_bpf_task_running(p))
		stop_elsewhere(v, p);
	return 0;
}

/* A thread comes to us, for the first time or back. */
SEC("struct_ops/hls_enable")
int hls_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 *task_vp = bpf_task_storage_get(&task_vps, p, NULL, 0);
	if (task_vp)
		p->scx.dsq_vtime = *task_vp;
	return 0;
}

/* A thread leaves us, for another class or for good. */
SEC("struct_ops/engine_disable")
int engine_disable(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p);
	if (v)
		stop_elsewhere(v, p);
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
	hls_yield(&domain->hls, v, now);
	domain->kicked |= 1ULL << (bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1));
	u64 due = to_kick();
	unlock();
	scx_bpf_task_set_slice(p, 0);
	kick(due);
	return 0;
}

static __always_inline void send_event_with_name(struct task_struct *p, u32 kind, u32 v, const char *comm)
{
	struct event n = {.kind = kind, .vp = v, .pid = p->pid, .tgid = p->tgid};
	if (comm)
		bpf_probe_read_kernel_str(n.comm, sizeof(n.comm), comm);
	bpf_ringbuf_output(&events, &n, sizeof(n), 0);
}

static __always_inline void send_event(struct task_struct *p, u32 kind, u32 v)
{
	send_event_with_name(p, kind, v, NULL);
}

/* Holds the thread of a VP. */
static __always_inline void keep_task(u32 v, struct task_struct *p)
{
	struct kept_task *held = bpf_map_lookup_elem(&tasks, &v);
	struct task_struct *task = held ? bpf_task_acquire(p) : NULL;
	if (!task)
		return;
	task = bpf_kptr_xchg(&held->task, task);
	if (task)
		bpf_task_release(task);
}

static __always_inline void drop_task(u32 v)
{
	struct kept_task *held = bpf_map_lookup_elem(&tasks, &v);
	struct task_struct *task = held ? bpf_kptr_xchg(&held->task, NULL) : NULL;
	if (task)
		bpf_task_release(task);
}

/* A thread comes: it is forked, or was there when the engine was attached. */
SEC("struct_ops.s/engine_init_task")
int engine_init_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	unsigned long irq;
	p->scx.dsq_vtime = 0;
	/*
	 * Not only those that are bound to a CPU, which some are when they have come: what waits for one waits for all
	 * that it serves, and the machine ends when RCU's starves.
	 */
	if ((p->flags & PF_KTHREAD) || (u32)p->tgid == domain->own_tgid)
		return 0;
	u32 *task_vp = bpf_task_storage_get(&task_vps, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 cpus = p->cpus_ptr->bits[0];
	s64 v = 0;
	bpf_local_irq_save(&irq);
	if (task_vp && lock()) {
		v = hls_attach(&domain->hls, domain->root, 0, &domain->params);
		if (v > 0) {
			struct engine_thread __arena *t = &domain->thread[v];
			t->since = p->start_boottime;
			t->pid = p->pid;
			t->tgid = p->tgid;
			t->queued_at_ns = 0;
			t->cpus = cpus & domain->hls.cpus;
			if (t->cpus && t->cpus != domain->hls.cpus)
				hls_set_affinity(&domain->hls, v, t->cpus, now_ns());
		}
		unlock();
	}
	bpf_local_irq_restore(&irq);
	/* Threads are being taken back: they must be able to fork meanwhile. */
	if (domain->lock == SEALED)
		return 0;
	if (!task_vp || v <= 0) {
		send_event(p, EVENT_THREAD_NEW, 0);
		return -11; /* EAGAIN, as for any other limit on threads */
	}
	*task_vp = v;
	keep_task(v, p);
	send_event(p, EVENT_THREAD_NEW, v);
	return 0;
}

SEC("struct_ops/engine_exit_task")
int engine_exit_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 *task_vp = bpf_task_storage_get(&task_vps, p, NULL, 0), v = task_vp ? *task_vp : 0;
	if (!v)
		return 0;
	/* Once the VP is free, a fork on another CPU may take it: what finds this thread by its VP goes before. */
	drop_task(v);
	send_event(p, EVENT_THREAD_GONE, v);
	if (!lock())
		return 0;
	domain->thread[v].pid = 0;
	hls_detach(&domain->hls, v, now_ns());
	u64 due = to_kick();
	unlock();
	kick(due);
	return 0;
}

SEC("struct_ops/engine_set_cpumask")
int engine_set_cpumask(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	const struct cpumask *mask = (void *)ctx[1];
	u32 v = vp_of(p);
	if (!v || !lock())
		return 0;
	u64 cpus = mask->bits[0] & domain->hls.cpus, due = 0;
	if (cpus && cpus != domain->thread[v].cpus) {
		domain->thread[v].cpus = cpus;
		hls_set_affinity(&domain->hls, v, cpus, now_ns());
		due = to_kick();
	}
	unlock();
	kick(due);
	return 0;
}

/*
 * A CPU goes, or is back; told by a thread of that CPU's own. When it goes, dispatch() is not called there any more,
 * and the kernel moves its threads to other CPUs, where they are enqueued. Until then some run there without a grant.
 */
static __always_inline void change_cpu(u32 cpu, bool is_back)
{
	unsigned long irq;
	u64 due = 0;
	s64 error = 0;
	if (cpu >= HLS_MAX_CPUS)
		return;
	bpf_local_irq_save(&irq);
	if (lock()) {
		u64 now = now_ns();
		settle(cpu, now);
		domain->kicked &= ~(1ULL << cpu);
		error = is_back ? hls_online(&domain->hls, cpu, now) : hls_offline(&domain->hls, cpu, now);
		due = to_kick();
		unlock();
	}
	bpf_local_irq_restore(&irq);
	if (error)
		end_run("a CPU came or went that the hierarchy does not have");
	kick(due);
}

SEC("struct_ops/engine_cpu_online")
int engine_cpu_online(u64 *ctx)
{
	USES(arena);
	change_cpu((u32)ctx[0], true);
	return 0;
}

SEC("struct_ops/engine_cpu_offline")
int engine_cpu_offline(u64 *ctx)
{
	USES(arena);
	change_cpu((u32)ctx[0], false);
	return 0;
}

/*
 * A thread, or a process by its first thread, is in another cgroup. sched_ext would tell of cgroups with the controller
 * `cpu` alone.
 */
SEC("tp_btf/cgroup_attach_task")
int hls_moved(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[2];
	send_event(p, EVENT_THREAD_MOVED, vp_of(p));
	return 0;
}

/* A thread is given a new name: by exec, or of its own will. It does not have it yet. */
SEC("tp_btf/task_rename")
int hls_renamed(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p);
	if (v)
		send_event_with_name(p, EVENT_THREAD_RENAMED, v, (const char *)ctx[1]);
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
	if (online & ~domain->hls.cpus)
		return -19; /* ENODEV: one came since user space has counted them */
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && can_loop; cpu++) {
		u32 key = cpu;
		struct cpu_timer *t = bpf_map_lookup_elem(&timers, &key);
		if (!t)
			return -1;
		domain->cpu[cpu].timer_at_ns = HLS_NEVER;
		bpf_timer_init(&t->timer, &timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&t->timer, on_timer);
		if (((domain->hls.cpus & ~online) >> cpu) & 1)
			hls_offline(&domain->hls, cpu, now_ns());
	}
	u32 only = 0;
	struct cpu_timer *t = bpf_map_lookup_elem(&rescuer, &only);
	if (!t)
		return -1;
	bpf_timer_init(&t->timer, &rescuer, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&t->timer, look_for_starved);
	bpf_timer_start(&t->timer, RESCUE_INTERVAL_NS, 0);
	domain->has_begun = true;
	return 0;
}

/* Before threads are taken back for an error: what went wrong stays as it is. SysRq-D wants to know as well. */
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

/* What user space calls: room for the domain, with what it is to know of it, and one call of the core. */
struct set_up {
	u64 hls_at, hls_bytes;
};

SEC("syscall")
int set_up(struct set_up *where)
{
	where->hls_at = __builtin_offsetof(struct engine_domain, hls);
	where->hls_bytes = sizeof(struct hls);
	return bpf_arena_alloc_pages(&arena, (void __arena *)DOMAIN_AT, DOMAIN_PAGES, -1, 0) ? 0 : -12;
}

/* Whether the thread that a call is about, if it is about one, still has that VP. */
static __always_inline bool is_of(const call_t *call)
{
	return !call->tid || (call->a < HLS_MAX_VPS && domain->thread[call->a].pid == call->tid);
}

SEC("syscall")
int make_call(void *ctx)
{
	USES(arena);
	(void)ctx;
	unsigned long irq;
	s64 result = -1;
	u64 due = 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		domain->call.now_ns = domain->hls.now_ns = now_ns();
		result = is_of(&domain->call) ? hls_make_call(&domain->hls, &domain->call) : -HLS_E_NOT_FOUND;
		due = to_kick();
		set_timer_without_slice(bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1), domain->call.now_ns);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return (int)result;
}

/* A thread may talk to its scheduler as often as that for long, and in bursts of so many messages. */
#define MESSAGE_INTERVAL_NS HLS_US(10)
#define MESSAGE_BURST 100

/* Whether a thread has talked too much: talk holds up the others' decisions. */
static __always_inline bool posts_too_often(u32 v, u64 now)
{
	struct engine_thread __arena *t = &domain->thread[v];
	u64 from_ns = t->may_post_at > now ? t->may_post_at : now;
	if (from_ns > now + MESSAGE_BURST * MESSAGE_INTERVAL_NS)
		return true;
	t->may_post_at = from_ns + MESSAGE_INTERVAL_NS;
	return false;
}

/*
 * The calling thread tells its scheduler something (Vassal's MessageToScheduler). Whoever has this program may run it:
 * it is about the caller alone. What comes of it for the caller is decided when it leaves the kernel.
 */
SEC("syscall")
int engine_post(struct message *ctx)
{
	USES(arena);
	u32 v = vp_of(bpf_get_current_task_btf());
	unsigned long irq;
	u64 due = 0, now = now_ns();
	ctx->answer = -HLS_E_NOT_FOUND;
	if (!v || v >= HLS_MAX_VPS)
		return 0;
	ctx->answer = -HLS_E_BUSY;
	if (posts_too_often(v, now))
		return 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		u32 cpu = bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1);
		now = now_ns();
		for (u32 i = 0; i < HLS_PARAMS; i++)
			domain->message.value[i] = ctx->value[i];
		ctx->answer = hls_tell(&domain->hls, v, ctx->number, &domain->message, now);
		due = to_kick();
		set_timer_no_later(cpu, hls_timer_at(&domain->hls), now);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return 0;
}

/* A look at the invariants, which hold where no decision is due. */
struct check {
	u64 late; /* CPUs that idle although one is: for a moment only */
};

static __always_inline u64 idle_of(u64 cpus)
{
	u64 idle = 0;
	bpf_rcu_read_lock();
	for (u32 i = opaque(0); i < HLS_MAX_CPUS && cpus && can_loop; i++) {
		u32 cpu = __builtin_ctzll(cpus);
		cpus &= cpus - 1;
		const struct task_struct *now = scx_bpf_cpu_curr(cpu);
		if (now && !now->pid)
			idle |= 1ULL << cpu;
	}
	bpf_rcu_read_unlock();
	return idle;
}

SEC("syscall")
int check(struct check *found)
{
	USES(arena);
	unsigned long irq;
	s64 result = -HLS_E_BUSY;
	u64 due = 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		due = domain->hls.kick;
		if (!due)
			result = hls_check(&domain->hls);
		if (result > 0)
			seal();
		else
			unlock();
	}
	bpf_local_irq_restore(&irq);
	if (result > 0)
		end_run("an invariant of the hierarchy is broken");
	found->late = idle_of(due);
	return (int)result;
}

SEC(".struct_ops.link")
struct sched_ext_ops hls_ops = {
    .select_cpu = (void *)hls_select_cpu,
    .enqueue = (void *)hls_enqueue,
    .dispatch = (void *)hls_dispatch,
    .running = (void *)hls_running,
    .quiescent = (void *)hls_quiescent,
    .yield = (void *)hls_yielded,
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
};

/* What is jumped to. It is never attached: it tells the kernel what kind of program each is. */
SEC(".struct_ops.link")
struct sched_ext_ops engine_ops = {
    .enqueue = (void *)engine_enqueue,
    .dispatch = (void *)engine_dispatch,
    .quiescent = (void *)engine_quiescent,
    .yield = (void *)engine_yielded,
    .set_cpumask = (void *)engine_set_cpumask,
    .cpu_online = (void *)engine_cpu_online,
    .cpu_offline = (void *)engine_cpu_offline,
    .disable = (void *)engine_disable,
    .init_task = (void *)engine_init_task,
    .exit_task = (void *)engine_exit_task,
    .init = (void *)engine_init,
    .name = "engine",
};
