/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that come and go: the VP of each, from its first to its last moment, and what user space hears of threads.
 * Needs the maps `arena`, `events`, `tasks` and `task_vps`.
 */
#ifndef HLS_BPF_THREADS_H
#define HLS_BPF_THREADS_H

#include "due.h"

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
	/* The run is ending: until sched_ext has taken the threads back, they must be able to fork. */
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
	/* Once the VP is free, a fork on another CPU may take it: first drop what leads from the VP to this thread. */
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

/*
 * A thread has moved to another cgroup, or a whole process, of which `p` is the first thread. A tracepoint, since
 * sched_ext reports moves only between cgroups that have the controller `cpu`.
 */
SEC("tp_btf/cgroup_attach_task")
int hls_moved(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[2];
	send_event(p, EVENT_THREAD_MOVED, vp_of(p));
	return 0;
}

/* A thread is about to get a new name: by exec, or by prctl. */
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

#endif
