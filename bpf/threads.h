/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that come and go: gives each a VP for its lifetime, and notes for user space what else happens to it. Needs
 * the maps of weights.h, and `tasks`.
 */
#ifndef HLS_BPF_THREADS_H
#define HLS_BPF_THREADS_H

#include "jumps.h"
#include "weights.h"

/* The last VPs are reserved for threads of root, so that no user can keep root from forking. */
#define VPS_FOR_ROOT 1024
#define MAX_USER_THREADS (HLS_MAX_VPS - HLS_MAX_SCHEDULERS - VPS_FOR_ROOT)

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

/* Whether there is a VP for another thread of p's user. To be called under the lock. */
static __always_inline bool has_room(const struct task_struct *p)
{
	return domain->nr_threads < MAX_USER_THREADS || !p->real_cred->euid.val;
}

/*
 * Attaches a new thread below the root scheduler with the share of its weights, and stores the share in `w`; without
 * the share if the policy does not accept it. Returns the VP, or an error. To be called under the lock.
 */
static __noinline s64 attach_weighed(struct thread_weight *w)
{
	s64 v = -HLS_E_PARAM;
	if (domain->share_param && w) {
		u32 seen = find_share(w);
		for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++)
			domain->new_params.value[i] = domain->params.value[i];
		domain->new_params.value[share_number()] = w->share;
		v = hls_attach(&domain->hls, domain->root, 0, &domain->new_params, now_ns());
		if (v > 0)
			domain->thread[v].weights_seen = seen;
	}
	return v == -HLS_E_PARAM ? hls_attach(&domain->hls, domain->root, 0, &domain->params, now_ns()) : v;
}

/* The thread of the VP v has this name, which the kernel has in its memory. */
static __always_inline void set_name(u32 v, const char *comm)
{
	u64 name[2] = {};
	u64 __arena *to = (u64 __arena *)domain->thread[v].comm;
	bpf_probe_read_kernel_str(name, sizeof(name), comm);
	to[0] = name[0];
	to[1] = name[1];
}

/*
 * Gives p a VP below the root scheduler, or below the scheduler for `hls` itself. Returns the VP's word; 0: no VP is
 * free. To be called under the lock.
 */
static __always_inline u64 attach_thread(const struct task_struct *p, u64 cpus, u64 cgroup)
{
	bool is_own = (u32)p->tgid == domain->service_tgid;
	struct thread_weight weight = {.cgroup = cgroup, .weight = weight_of(p)};
	s64 v = 0;
	if (has_room(p))
		v = is_own ? hls_attach(&domain->hls, domain->service, 0, &domain->service_params, now_ns())
			   : attach_weighed(&weight);
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
	set_name(v, p->comm);
	t->queued_at_ns = 0;
	t->is_dying = false;
	t->is_holder = false;
	domain->stalled_at_ns[v] = domain->holds[v] = 0;
	t->cpus = cpus & domain->hls.cpus;
	if (t->cpus && t->cpus != domain->hls.cpus)
		bind(&domain->hls, v, t->cpus);
	u32 key = v;
	struct thread_weight *w = bpf_map_lookup_elem(&thread_weights, &key);
	if (w)
		*w = weight;
	return vp_word(v, t->generation);
}

/* Whether this kernel thread is an interrupt thread that the hierarchy is to schedule. */
static __always_inline bool is_branded(const struct task_struct *p)
{
	u64 comm[2] = {};
	bpf_probe_read_kernel_str(comm, sizeof(comm), p->comm);
	for (u32 i = opaque(0); i < MAX_BRANDS && can_loop; i++) {
		const struct engine_brand __arena *brand = &domain->brand[i];
		if (!brand->mask[0])
			return false;
		if ((comm[0] & brand->mask[0]) == brand->name[0] && (comm[1] & brand->mask[1]) == brand->name[1])
			return true;
	}
	return false;
}

/* What hls_init_task() leaves for engine_init_task() in the place of the VP's word. */
#define WAITS_FOR_GRANTS 1

/* A new thread that waits for grants, forked or there when the engine was attached: it gets a VP. */
SEC("struct_ops.s/engine_init_task")
int engine_init_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	unsigned long irq;
	bool waits = p->scx.dsq_vtime == WAITS_FOR_GRANTS;
	p->scx.dsq_vtime = 0;
	if (!waits || (u32)p->tgid == domain->keeper_tgid)
		return 0;
	const struct scx_init_task_args *args = (void *)ctx[1];
	u64 *word = bpf_task_storage_get(&task_vps, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	u64 cpus = p->cpus_ptr->bits[0], cgroup = cgroup_of(args), given = 0;
	bpf_local_irq_save(&irq);
	if (word && lock()) {
		given = attach_thread(p, cpus, cgroup);
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

/*
 * A thread comes. Kernel threads never wait for a grant, whether they are bound to a CPU yet or not: all that waits for
 * a kernel thread's work would wait with it, and the machine comes to a halt when the threads of RCU starve. Only
 * kernel threads that work for devices, and that the hierarchy names, wait for grants. This is checked here, where
 * there is stack for it.
 */
CURRENT_PROGRAM(init_task);
SEC("struct_ops.s/hls_init_task")
int hls_init_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	p->scx.dsq_vtime = (p->flags & PF_KTHREAD) && !is_branded(p) ? 0 : WAITS_FOR_GRANTS;
	bpf_tail_call(ctx, &jump_init_task, by_lookup);
	p->scx.dsq_vtime = 0;
	return 0;
}

/* A thread goes. It wants no CPU, unless it has left our class a moment ago. */
SEC("struct_ops/engine_exit_task")
int engine_exit_task(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u64 *word = bpf_task_storage_get(&task_vps, p, NULL, 0);
	u32 v = word ? vp_number(*word) : 0;
	if (!v || v >= HLS_MAX_VPS)
		return 0;
	/* Once the VP is free, a fork on another CPU may take it: first drop what leads from the VP to this thread. */
	drop_task(v);
	*word = 0;
	if (!lock())
		return 0;
	const vp_t *vp = &domain->hls.vp[v];
	domain->thread[v].pid = domain->thread[v].tgid = 0;
	if (vp->state == HLS_WAITING && !domain->thread[v].errands) {
		domain->nr_threads--;
		detach_waiting(&domain->hls, v);
	} else {
		leave_errand(v, ERRAND_GO);
	}
	unlock();
	note_change(v, CHANGED_THREAD);
	announce();
	return 0;
}

/*
 * A thread has moved to another cgroup, or a whole process; `p` is the thread, or the first thread of the process. A
 * tracepoint, since sched_ext reports moves only between cgroups that have the controller `cpu`.
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
	u32 v = kept_vp(p);
	if (!v || v >= HLS_MAX_VPS)
		return 0;
	set_name(v, (const char *)ctx[1]);
	note_change(v, CHANGED_NAME);
	announce();
	return 0;
}

#endif
