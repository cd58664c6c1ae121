/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that come and go: the VP of each, from its first to its last moment, and what user space is to look at. What
 * is true of a thread stands in the arena; the ring only wakes user space, so that nothing is lost, however much
 * happens before user space looks. Needs the maps `arena`, `doorbell`, `tasks` and `task_vps`.
 */
#ifndef HLS_BPF_THREADS_H
#define HLS_BPF_THREADS_H

#include "due.h"

/* The last VPs are for threads of root, so that nobody can keep root from forking. */
#define VPS_FOR_ROOT 1024
#define MAX_USER_THREADS (HLS_MAX_VPS - HLS_MAX_SCHEDULERS - VPS_FOR_ROOT)

/* Wakes user space, unless it was woken already. Never under the lock. */
static __noinline void announce(void)
{
	u32 nothing = 0;
	/* An exchange, so that user space, which looks after it has taken this back, sees what was noted before. */
	if (__sync_lock_test_and_set(&domain->is_announced, true))
		return;
	if (bpf_ringbuf_output(&doorbell, &nothing, sizeof(nothing), 0))
		domain->is_announced = false;
}

/* Notes for user space that something has happened to the thread of v. */
static __always_inline void note_change(u32 v, u32 change)
{
	if (v >= HLS_MAX_VPS)
		return;
	__sync_fetch_and_or(&domain->thread[v].changes, change);
	__sync_fetch_and_or(&domain->changed[v / 64], 1ULL << (v % 64));
}

/* The VP of a thread, of whatever class the thread is now; 0: it has none. */
static __always_inline u32 kept_vp(struct task_struct *p)
{
	u64 *word = bpf_task_storage_get(&task_vps, p, NULL, 0);
	return word ? vp_number(*word) : 0;
}

/* Takes a reference to the thread of a VP, for thread_of(). */
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

/* Drops the reference to the thread of a VP. */
static __always_inline void drop_task(u32 v)
{
	struct kept_task *held = bpf_map_lookup_elem(&tasks, &v);
	struct task_struct *task = held ? bpf_kptr_xchg(&held->task, NULL) : NULL;
	if (task)
		bpf_task_release(task);
}

/* Whether there is a VP for a further thread of p's user. To be called under the lock. */
static __always_inline bool has_room(const struct task_struct *p)
{
	return domain->nr_threads < MAX_USER_THREADS || !p->real_cred->euid.val;
}

/* Weights are those of the fair class. What sched_ext tells of them, 1 for nice 19 and 2 for nice 17, is too coarse. */
#define NICE_0_WEIGHT 1024
#define IDLE_WEIGHT 3
#define IDLE_POLICY 5 /* SCHED_IDLE */
#define NICE_0_PRIO 120
#define MAX_NICE_STEPS 20
#define MAX_SHARE 131072

/* The weight of a thread: with each nice value 1.25 times less. */
static __always_inline u32 weight_of(const struct task_struct *p)
{
	s64 nice = (s64)p->static_prio - NICE_0_PRIO;
	u64 weight = NICE_0_WEIGHT << 16;
	if (p->policy == IDLE_POLICY)
		return IDLE_WEIGHT;
	for (u32 i = opaque(0); i < MAX_NICE_STEPS && nice && can_loop; i++) {
		weight = nice > 0 ? weight * 4 / 5 : weight * 5 / 4;
		nice += nice > 0 ? -1 : 1;
	}
	return (weight + (1 << 15)) >> 16;
}

/* The share below the root scheduler of a thread of this weight. */
static __always_inline u64 share_of(u32 weight)
{
	u32 number = (domain->share_param - 1) & (HLS_PARAMS - 1);
	u64 share = domain->params.value[number] * weight / NICE_0_WEIGHT;
	if (share > MAX_SHARE)
		return MAX_SHARE;
	return share ? share : 1;
}

/*
 * Gives p a VP below the root scheduler, or below the one for `hls` itself; the VP's word, or 0: there is none. To be
 * called under the lock.
 */
static __always_inline u64 attach_thread(const struct task_struct *p, u64 cpus)
{
	bool is_own = (u32)p->tgid == domain->service_tgid;
	u32 scheduler = is_own ? domain->service : domain->root;
	params_t *params = is_own ? &domain->service_params : &domain->params;
	s64 v = has_room(p) ? hls_attach(&domain->hls, scheduler, 0, params) : 0;
	if (v <= 0) {
		domain->nr_refused++;
		domain->refused_tgid = p->tgid;
		return 0;
	}
	struct engine_thread __arena *t = &domain->thread[v];
	domain->nr_threads++;
	t->generation = t->generation + 1 ? t->generation + 1 : 1;
	t->pid = p->pid;
	t->tgid = p->tgid;
	t->queued_at_ns = 0;
	t->weight = NICE_0_WEIGHT; /* enable() tells of another one */
	t->cpus = cpus & domain->hls.cpus;
	if (t->cpus && t->cpus != domain->hls.cpus)
		hls_set_affinity(&domain->hls, v, t->cpus, now_ns());
	return vp_word(v, t->generation);
}

/* A thread comes: it is forked, or was there when the engine was attached. It gets a VP below the root scheduler. */
SEC("struct_ops.s/engine_init_task")
int engine_init_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	unsigned long irq;
	p->scx.dsq_vtime = 0;
	/*
	 * Kernel threads never wait for a grant, whether they are bound to a CPU yet or not: whoever waits for a kernel
	 * thread's work waits with it, and the machine comes to a halt when the threads of RCU starve.
	 */
	if ((p->flags & PF_KTHREAD) || (u32)p->tgid == domain->keeper_tgid)
		return 0;
	u64 *word = bpf_task_storage_get(&task_vps, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 cpus = p->cpus_ptr->bits[0], given = 0;
	bpf_local_irq_save(&irq);
	if (word && lock()) {
		given = attach_thread(p, cpus);
		unlock();
	}
	bpf_local_irq_restore(&irq);
	/* The run is ending: until sched_ext has taken the threads back, they must be able to fork. */
	if (domain->sealed)
		return 0;
	if (!word || !given) {
		announce();
		return -11; /* EAGAIN, as for any other limit on threads */
	}
	*word = given;
	keep_task(vp_number(given), p);
	note_change(vp_number(given), CHANGED_THREAD);
	announce();
	return 0;
}

SEC("struct_ops/engine_exit_task")
int engine_exit_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 *word = bpf_task_storage_get(&task_vps, p, NULL, 0);
	u32 v = word ? vp_number(*word) : 0;
	if (!v)
		return 0;
	/* Once the VP is free, a fork on another CPU may take it: first drop what leads from the VP to this thread. */
	drop_task(v);
	*word = 0;
	if (!lock())
		return 0;
	domain->thread[v].pid = domain->thread[v].tgid = 0;
	domain->nr_threads--;
	hls_detach(&domain->hls, v, now_ns());
	u64 due = to_kick();
	unlock();
	kick(due);
	note_change(v, CHANGED_THREAD);
	announce();
	return 0;
}

/*
 * A thread has another nice value, or is enabled with one. It is the thread's share where nobody placed it, below the
 * root scheduler, and changes nothing elsewhere.
 */
SEC("struct_ops/engine_set_weight")
int engine_set_weight(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 weight = weight_of(p), v = kept_vp(p);
	if (!v || v >= HLS_MAX_VPS || domain->thread[v].weight == weight || !lock())
		return 0;
	domain->thread[v].weight = weight;
	if (domain->share_param && domain->hls.vp[v].parent == domain->root)
		hls_set_param(&domain->hls, v, domain->share_param - 1, share_of(weight), now_ns());
	u64 due = to_kick();
	unlock();
	kick(due);
	return 0;
}

/*
 * A thread has moved to another cgroup, or a whole process, of which `p` is the first thread. A tracepoint, since
 * sched_ext reports moves only between cgroups that have the controller `cpu`.
 */
SEC("tp_btf/cgroup_attach_task")
int hls_moved(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[2];
	u32 v = kept_vp(p);
	if (v)
		note_change(v, CHANGED_CGROUP);
	else if (!(p->flags & PF_KTHREAD))
		__sync_fetch_and_add(&domain->nr_moves_unnamed, 1);
	announce();
	return 0;
}

/* A thread is about to get a new name: by exec, or by prctl. */
SEC("tp_btf/task_rename")
int hls_renamed(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 comm[2] = {};
	u32 v = kept_vp(p);
	if (!v || v >= HLS_MAX_VPS)
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), (const char *)ctx[1]);
	u64 __arena *name = (u64 __arena *)domain->thread[v].comm;
	name[0] = comm[0];
	name[1] = comm[1];
	note_change(v, CHANGED_NAME);
	announce();
	return 0;
}

#endif
