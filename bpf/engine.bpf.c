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
 * threads that never wait. That is stolen time: the CPU's clock stands still in it (hls_steal).
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
} news SEC(".maps");

struct cpu_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HLS_MAX_CPUS);
	__type(key, u32);
	__type(value, struct cpu_timer);
} timers SEC(".maps");

struct held_task {
	struct task_struct __kptr *task;
};

/* The thread of each VP, to be found again when it is chosen. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HLS_MAX_VPS);
	__type(key, u32);
	__type(value, struct held_task);
} tasks SEC(".maps");

/* Why the kernel let go of us, for the loader; in a map of its own. */
struct engine_exit {
	s64 code;
	u32 kind; /* 0: it has not */
	u32 unused;
	char reason[128];
	char message[1024];
} left SEC(".data.left");

/* How many records there were when user space was told of them last. */
static u64 nr_records_told;

/* The kernel ends a function's loops after 250 ms; the CPU of the holder, if a virtual one, may be away for longer. */
#define LOCK_SPINS (1 << 30)
#define LOCK_ROUNDS 16

/* Ends the run: sched_ext takes its threads back and tells the loader. */
#define give_up_with(text)                                                 \
	({                                                                 \
		static char message[] = text;                              \
		unsigned long long nothing[1] = {0}; /* may not be none */ \
		scx_bpf_error_bstr(message, nothing, sizeof(nothing));     \
	})

/*
 * How long a thread of the hierarchy runs before its CPU looks again at its own queue: sched_ext does not preempt for
 * what comes there while a decision is being taken, such as a kernel thread that must not wait.
 */
#define SLICE_NS HLS_MS(5)

/* What is seldom needed: kept out of the functions that are always. */
#define SLOW __attribute__((noinline))

static inline bool try_lock(void)
{
	return !__sync_val_compare_and_swap(&domain->lock, FREE, HELD);
}

/* Waits for the lock for a while; a function of its own, so that its time is not that of the loops of its caller. */
HLS_ONCE u32 spin(void)
{
	USES(arena);
	for (u32 i = from(0); i < LOCK_SPINS && can_loop; i++)
		if (domain->lock == FREE && try_lock())
			return true;
	return false;
}

/* Nobody has the lock from now on: the hierarchy stays as it is, for user space to look at. */
static inline void seal(void)
{
	__sync_lock_test_and_set(&domain->lock, SEALED);
}

static SLOW bool wait_for_lock(void)
{
	for (u32 i = 0; i < LOCK_ROUNDS && domain->lock != SEALED; i++)
		if (spin())
			return true;
	if (domain->lock != SEALED) {
		seal();
		give_up_with("the lock of the hierarchy cannot be had");
	}
	return false;
}

static inline bool lock(void)
{
	return likely(try_lock()) || wait_for_lock();
}

static inline void unlock(void)
{
	__sync_lock_test_and_set(&domain->lock, FREE);
}

/* A time as the core wants it, which must not run backwards from one CPU to another. To be called under the lock. */
static inline u64 not_before_ns(u64 now)
{
	return now > domain->hls.now_ns ? now : domain->hls.now_ns;
}

static inline u64 now_ns(void)
{
	return not_before_ns(scx_bpf_now());
}

/*
 * When the kernel began the decision that it is in the midst of: it has brought the clock of this CPU's run queue up to
 * date then. scx_bpf_now() would read the hardware's again.
 */
static inline u64 pass_ns(void)
{
	const struct rq *rq = bpf_this_cpu_ptr(&runqueues);
	return rq->clock;
}

static inline u32 vp_of(const struct task_struct *p)
{
	return p->scx.dsq_vtime;
}

/* The CPUs that are newly due for a decision, to be told so when the lock is not held any more. */
static inline u64 to_kick(void)
{
	u64 fresh = domain->hls.kick & ~domain->kicked;
	domain->kicked |= fresh;
	return fresh;
}

static SLOW void kick_all(u64 cpus)
{
	for (u32 i = from(0); i < HLS_MAX_CPUS && cpus && can_loop; i++) {
		u32 cpu = __builtin_ctzll(cpus);
		cpus &= cpus - 1;
		scx_bpf_kick_cpu(cpu, KERNEL(scx_kick_flags, SCX_KICK_PREEMPT));
	}
}

static inline void kick(u64 cpus)
{
	if (unlikely(cpus))
		kick_all(cpus);
}

/* Whether another quarter of the records has been written. To be called under the lock. */
static inline bool are_many_records(void)
{
	if (likely(domain->hls.nr_records - nr_records_told < HLS_MAX_RECORDS / 4))
		return false;
	nr_records_told = domain->hls.nr_records;
	return true;
}

static SLOW void tell_of_records(void)
{
	struct news n = {.kind = NEWS_RECORDS};
	bpf_ringbuf_output(&news, &n, sizeof(n), 0);
}

static inline void steal(u32 cpu, u64 length_ns)
{
	hls_steal(&domain->hls, cpu, length_ns);
	domain->cpu[cpu].untold_ns += length_ns;
}

static SLOW void record_stolen(u32 cpu, u64 now)
{
	struct engine_cpu ARENA *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	domain->hls.now_ns = now;
	if (domain->tell)
		hls_write_record(&domain->hls, 0, cpu, HLS_REC_STOLEN, c->untold_ns, 0);
	c->untold_ns = 0;
}

/* Records what was stolen since the last time. To be called under the lock, before the CPU is given to another. */
static inline void tell_stolen(u32 cpu, u64 now)
{
	if (unlikely(domain->cpu[cpu].untold_ns))
		record_stolen(cpu, now);
}

static SLOW void look_for_stolen(u32 cpu, u64 now)
{
	struct engine_cpu ARENA *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	c->settled_at_ns = now;
	if (c->off_since_ns) {
		if (now > c->off_since_ns)
			steal(cpu, now - c->off_since_ns);
		c->off_since_ns = now;
	}
	if (cpu != bpf_get_smp_processor_id())
		return;
	const struct rq *rq = bpf_this_cpu_ptr(&runqueues);
	u64 irq = rq->clock - rq->clock_task;
	if (irq != c->irq_seen_ns) {
		if (!c->off_since_ns)
			steal(cpu, irq - c->irq_seen_ns);
		c->irq_seen_ns = irq;
	}
}

/*
 * Brings the clock of a CPU up to date before anybody is charged by it: less the time for which the thread that was
 * granted it was not on it, less that of interrupts.
 */
static inline void settle_clock(u32 cpu, u64 now)
{
	if (domain->cpu[cpu].settled_at_ns != now)
		look_for_stolen(cpu, now);
}

static SLOW void start_timer(u32 cpu, u64 at, u64 now)
{
	struct cpu_timer *t = bpf_map_lookup_elem(&timers, &cpu);
	if (!t)
		return;
	domain->cpu[cpu & (HLS_MAX_CPUS - 1)].timer_at_ns = at;
	bpf_timer_start(&t->timer, at > now ? at - now : 0, BPF_F_TIMER_CPU_PIN);
}

/* Something is due then: sets this CPU's timer if it would go off later. One that is too early sets itself anew. */
static inline void be_called_at(u32 cpu, u64 at, u64 now)
{
	if (unlikely(at < domain->cpu[cpu].timer_at_ns))
		start_timer(cpu, at, now);
}

/* Sets this CPU's timer for the end of its slice and for what schedulers wait for. */
static inline void set_timer(u32 cpu, u64 now)
{
	u64 at = hls_expires_at(&domain->hls, cpu), first = hls_timer_at(&domain->hls);
	be_called_at(cpu, first < at ? first : at, now);
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
		settle_clock(cpu, now);
		tell_stolen(cpu, now);
		domain->cpu[cpu].timer_at_ns = HLS_NEVER;
		domain->cpu[cpu].wakeups++;
		hls_timers(&domain->hls, now);
		hls_expire(&domain->hls, cpu, now);
		due = to_kick();
		if (!((domain->hls.kick >> cpu) & 1))
			set_timer(cpu, now);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return 0;
}

/* Tells the core when the CPUs that a thread may use are others than it knows of. */
static inline void follow_affinity(u32 v, const struct task_struct *p, u64 now)
{
	struct engine_thread ARENA *t = &domain->thread[v];
	u64 cpus = p->cpus_ptr->bits[0];
	/* The program that runs here keeps the current thread where it is; that does not count. */
	bool bound = p->migration_disabled > (p == bpf_get_current_task_btf());
	if (bound)
		cpus = 1ULL << domain->hls.vp[v].cpu;
	cpus &= domain->hls.cpus;
	if (cpus == t->cpus || !cpus)
		return;
	t->cpus = cpus;
	hls_set_affinity(&domain->hls, v, cpus, now);
}

SEC("struct_ops/hls_select_cpu")
int hls_select_cpu(u64 *ctx)
{
	return (int)ctx[1];
}

/* A thread is runnable and has no CPU: it woke up, or was put off its CPU. */
SEC("struct_ops/hls_enqueue")
int hls_enqueue(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1], due = 0;
	u32 v = vp_of(p);
	if (!v) {
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_INF, flags | KERNEL(scx_enq_flags, SCX_ENQ_PREEMPT));
		return 0;
	}
	if (!lock())
		return 0;
	u64 now = now_ns();
	follow_affinity(v, p, now);
	vp_t *vp = &domain->hls.vp[v];
	if (vp->state == HLS_WAITING)
		request(&domain->hls, v, now);
	bool granted = vp->state == HLS_RUNNING;
	u32 cpu = vp->cpu;
	domain->thread[v].queued = !granted;
	due = to_kick();
	/* A request ends no slice, and begins none. */
	be_called_at(bpf_get_smp_processor_id(), hls_timer_at(&domain->hls), now);
	unlock();
	if (granted)
		insert(p, SCX_DSQ_LOCAL_ON | cpu, SLICE_NS, flags);
	kick(due);
	return 0;
}

/* The decision for a CPU whose thread has blocked or has been kicked off. */
SEC("struct_ops/hls_dispatch")
int hls_dispatch(u64 *ctx)
{
	USES(arena);
	u32 cpu = (u32)ctx[0];
	struct task_struct *prev = (void *)ctx[1];
	u64 due;
	u32 next = 0;
	bool goes_on = false;
	/*
	 * A thread that never waits was kicked for a decision that is not about it: it goes on, and the decision is
	 * taken when it has gone. Put off the CPU it would wait behind whoever is chosen.
	 */
	if (prev && !vp_of(prev) && (prev->scx.flags & SCX_TASK_QUEUED)) {
		scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
		return 0;
	}
	if (cpu >= HLS_MAX_CPUS || !lock())
		return 0;
	u64 now = not_before_ns(cpu == bpf_get_smp_processor_id() ? pass_ns() : scx_bpf_now());
	settle_clock(cpu, now);
	tell_stolen(cpu, now);
	hls_expire(&domain->hls, cpu, now);
	u32 v = schedule(&domain->hls, cpu, now);
	domain->kicked &= ~(1ULL << cpu);
	if (v && prev && vp_of(prev) == v && !domain->thread[v].queued) {
		goes_on = true;
		domain->cpu[cpu].off_since_ns = 0;
	} else if (v) {
		domain->cpu[cpu].off_since_ns = now;
		if (domain->thread[v].queued)
			next = v;
		domain->thread[v].queued = 0;
	} else {
		domain->cpu[cpu].off_since_ns = 0;
	}
	due = to_kick();
	set_timer(cpu, now);
	bool many = are_many_records();
	unlock();
	if (unlikely(many))
		tell_of_records();
	if (goes_on)
		scx_bpf_task_set_slice(prev, SLICE_NS);
	struct held_task *held = next ? bpf_map_lookup_elem(&tasks, &next) : NULL;
	struct task_struct *task = held ? held->task : NULL;
	if (task)
		insert(task, SCX_DSQ_LOCAL, SLICE_NS, 0);
	kick(due);
	return 0;
}

/*
 * A thread is on its CPU, for the first time or again. What is ours of a CPU is written by whoever holds the lock of
 * its run queue, as we do here; so the common case needs no other.
 */
SEC("struct_ops/hls_running")
int hls_running(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p), cpu = bpf_get_smp_processor_id();
	if (!v || cpu >= HLS_MAX_CPUS)
		return 0;
	vp_t *vp = &domain->hls.vp[v];
	u64 due = domain->hls.kick & 1ULL << cpu;
	if (likely(vp->state == HLS_RUNNING && vp->cpu == cpu)) {
		settle_clock(cpu, pass_ns());
		domain->cpu[cpu].off_since_ns = 0;
	} else if (lock()) {
		/* The kernel restored a thread whose properties were changed, or overruled us. */
		if (vp->state == HLS_WAITING)
			hls_request(&domain->hls, v, now_ns());
		due = to_kick() | 1ULL << cpu;
		unlock();
	}
	kick(due);
	return 0;
}

/* A thread is off its CPU. If it did not block, and keeps what it was granted, others have taken the CPU from it. */
SEC("struct_ops/hls_stopping")
int hls_stopping(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	bool runnable = ctx[1];
	u32 v = vp_of(p), cpu = bpf_get_smp_processor_id();
	if (!runnable || !v || cpu >= HLS_MAX_CPUS)
		return 0;
	vp_t *vp = &domain->hls.vp[v];
	if (vp->state == HLS_RUNNING && vp->cpu == cpu) {
		u64 now = scx_bpf_now();
		settle_clock(cpu, now);
		domain->cpu[cpu].off_since_ns = now;
	}
	return 0;
}

/* A thread is not runnable any more, or is about to be changed. */
SEC("struct_ops/hls_quiescent")
int hls_quiescent(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p), cpu = bpf_get_smp_processor_id();
	if (!v || !lock())
		return 0;
	u64 now = now_ns();
	vp_t *vp = &domain->hls.vp[v];
	if (vp->state == HLS_RUNNING) {
		u32 on = vp->cpu & (HLS_MAX_CPUS - 1);
		settle_clock(on, now);
		tell_stolen(on, now);
		/* The next decision comes at this very time, unless others get the CPU first. */
		domain->cpu[on].off_since_ns = now;
	}
	domain->thread[v].queued = 0;
	release(&domain->hls, v, now);
	/* A thread that blocks is on its way to dispatch() already. */
	if (p == bpf_get_current_task_btf())
		domain->kicked |= 1ULL << cpu;
	u64 due = to_kick();
	unlock();
	kick(due);
	return 0;
}

SEC("struct_ops/hls_yielded")
int hls_yielded(u64 *ctx)
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

static inline void tell(struct task_struct *p, u32 kind, u32 v)
{
	struct news n = {.kind = kind, .vp = v, .pid = p->pid, .tgid = p->tgid};
	bpf_ringbuf_output(&news, &n, sizeof(n), 0);
}

/* Holds the thread of a VP. */
static inline void hold(u32 v, struct task_struct *p)
{
	struct held_task *held = bpf_map_lookup_elem(&tasks, &v);
	struct task_struct *task = held ? bpf_task_acquire(p) : NULL;
	if (!task)
		return;
	task = bpf_kptr_xchg(&held->task, task);
	if (task)
		bpf_task_release(task);
}

static inline void let_go(u32 v)
{
	struct held_task *held = bpf_map_lookup_elem(&tasks, &v);
	struct task_struct *task = held ? bpf_kptr_xchg(&held->task, NULL) : NULL;
	if (task)
		bpf_task_release(task);
}

/* A thread comes: it is forked, or was there when the engine was attached. */
SEC("struct_ops.s/hls_init_task")
int hls_init_task(u64 *ctx)
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
	u64 cpus = p->cpus_ptr->bits[0];
	s64 v = 0;
	bpf_local_irq_save(&irq);
	if (lock()) {
		v = hls_attach(&domain->hls, domain->root, 0, &domain->params);
		if (v > 0) {
			struct engine_thread ARENA *t = &domain->thread[v];
			t->since = p->start_boottime;
			t->pid = p->pid;
			t->tgid = p->tgid;
			t->queued = 0;
			t->cpus = cpus & domain->hls.cpus;
			if (t->cpus && t->cpus != domain->hls.cpus)
				hls_set_affinity(&domain->hls, v, t->cpus, now_ns());
		}
		unlock();
	}
	bpf_local_irq_restore(&irq);
	if (v <= 0) {
		tell(p, NEWS_THREAD, 0);
		return -11; /* EAGAIN, as for any other limit on threads */
	}
	p->scx.dsq_vtime = v;
	hold(v, p);
	tell(p, NEWS_THREAD, v);
	return 0;
}

SEC("struct_ops/hls_exit_task")
int hls_exit_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p);
	if (!v || !lock())
		return 0;
	domain->thread[v].pid = 0;
	hls_detach(&domain->hls, v, now_ns());
	u64 due = to_kick();
	unlock();
	p->scx.dsq_vtime = 0;
	let_go(v);
	kick(due);
	tell(p, NEWS_GONE, v);
	return 0;
}

SEC("struct_ops/hls_set_cpumask")
int hls_set_cpumask(u64 *ctx)
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
 * A thread, or a process by its first thread, is in another cgroup. sched_ext would tell of cgroups with the controller
 * `cpu` alone.
 */
SEC("tp_btf/cgroup_attach_task")
int hls_moved(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[2];
	tell(p, NEWS_MOVED, vp_of(p));
	return 0;
}

/* A thread has a new name: by exec, or of its own will. */
SEC("tp_btf/task_rename")
int hls_renamed(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = vp_of(p);
	if (v)
		tell(p, NEWS_RENAMED, v);
	return 0;
}

SEC("struct_ops.s/hls_init")
int hls_init(void *ctx)
{
	USES(arena);
	(void)ctx;
	for (u32 cpu = from(0); cpu < HLS_MAX_CPUS && can_loop; cpu++) {
		u32 key = cpu;
		struct cpu_timer *t = bpf_map_lookup_elem(&timers, &key);
		if (!t)
			return -1;
		domain->cpu[cpu].timer_at_ns = HLS_NEVER;
		bpf_timer_init(&t->timer, &timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&t->timer, on_timer);
	}
	return 0;
}

SEC("struct_ops/hls_exit")
int hls_exit(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];
	left.code = info->exit_code;
	bpf_probe_read_kernel_str(left.reason, sizeof(left.reason), info->reason);
	bpf_probe_read_kernel_str(left.message, sizeof(left.message), info->msg);
	left.kind = info->kind;
	return 0;
}

/* What user space calls: room for the domain, with what it is to know of it, and one call of the core. */
struct set_up {
	u64 hls_at, hls_bytes;
};

SEC("syscall")
int set_up(struct set_up *told)
{
	told->hls_at = __builtin_offsetof(struct engine_domain, hls);
	told->hls_bytes = sizeof(struct hls);
	return bpf_arena_alloc_pages(&arena, (void ARENA *)DOMAIN_AT, DOMAIN_PAGES, -1, 0) ? 0 : -12;
}

/* Whether the thread that a call is about, if it is about one, still has that VP. */
static inline bool is_of(const call_t *call)
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
		set_timer(bpf_get_smp_processor_id() & (HLS_MAX_CPUS - 1), domain->call.now_ns);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
	return (int)result;
}

/* A look at the invariants, which hold where no decision is due. */
struct check {
	u64 late; /* CPUs that idle although one is: for a moment only */
};

static inline u64 idle_of(u64 cpus)
{
	u64 idle = 0;
	bpf_rcu_read_lock();
	for (u32 i = from(0); i < HLS_MAX_CPUS && cpus && can_loop; i++) {
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
		give_up_with("an invariant of the hierarchy is broken");
	found->late = idle_of(due);
	return (int)result;
}

SEC(".struct_ops.link")
struct sched_ext_ops hls_ops = {
    .select_cpu = (void *)hls_select_cpu,
    .enqueue = (void *)hls_enqueue,
    .dispatch = (void *)hls_dispatch,
    .running = (void *)hls_running,
    .stopping = (void *)hls_stopping,
    .quiescent = (void *)hls_quiescent,
    .yield = (void *)hls_yielded,
    .set_cpumask = (void *)hls_set_cpumask,
    .init_task = (void *)hls_init_task,
    .exit_task = (void *)hls_exit_task,
    .init = (void *)hls_init,
    .exit = (void *)hls_exit,
    .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
    .timeout_ms = 30000,
    .name = "hls",
};
