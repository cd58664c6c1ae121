/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Weights: the nice value of a thread and the cpu.weight of its cgroups make the share, below the root scheduler, of a
 * thread that was not placed explicitly. The kernel reports each cgroup with the controller `cpu`, each weight and each
 * move. A fork counts at once. A new nice value concerns one thread, a move all threads of a process, and a cgroup's
 * weight may concern all threads of the machine: user space has these weighed anew as it finds time (weigh_anew). A
 * kernel without CONFIG_EXT_GROUP_SCHED reports no cgroups.
 */
#ifndef HLS_BPF_WEIGHTS_H
#define HLS_BPF_WEIGHTS_H

#include "errands.h"
#include "news.h"
#include "shares.h"

/* A cgroup that has the controller. */
struct cgroup_weight {
	u64 parent;   /* the number of the cgroup above */
	u32 weight;   /* the part of its cpu.weight that counts (counted_weight) */
	u32 is_users; /* whether a user may set its weight: it lies in a cgroup that root has left to the user */
};

/*
 * The cgroups that have the controller, by the kernel's number. If there are more than MAX_CGROUPS, threads below those
 * without room here have the shares of their nice values.
 */
#define MAX_CGROUPS 65536
/* The most cgroups of a thread that count, from the innermost on: the walk over them is made under the lock. */
#define MAX_CGROUP_DEPTH 16

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_CGROUPS);
	__type(key, u64);
	__type(value, struct cgroup_weight);
} cgroup_weights SEC(".maps");

/* What makes the share of a thread that was not placed explicitly. */
struct thread_weight {
	u64 cgroup; /* the innermost of its cgroups that have the controller; 0: the kernel does not say */
	u32 weight; /* by its nice value: 1024 for nice 0 */
	u32 share;  /* the share below the root scheduler that follows from both */
};

/* By the number of the thread's VP. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HLS_MAX_VPS);
	__type(key, u32);
	__type(value, struct thread_weight);
} thread_weights SEC(".maps");

#define IDLE_POLICY 5 /* SCHED_IDLE */
#define NICE_0_PRIO 120

/* The weight of a thread by its nice value. */
static __always_inline u32 weight_of(const struct task_struct *p)
{
	return p->policy == IDLE_POLICY ? IDLE_WEIGHT : weight_of_nice((s64)p->static_prio - NICE_0_PRIO);
}

/* The number of a cgroup; 0: there is none. */
static __always_inline u64 cgroup_number(const struct cgroup *cgroup)
{
	return cgroup ? cgroup->kn->id : 0;
}

/* Whether root has left this cgroup to a user. */
static __always_inline bool is_left_to_user(const struct cgroup *cgroup)
{
	const struct kernfs_iattrs *attributes = cgroup->kn->iattr;
	return attributes && attributes->ia_uid.val;
}

/* The part of a weight that counts: a user may lower the weight of cgroups, but not raise it above the default. */
static __always_inline u32 counted_weight(u32 weight, bool is_users)
{
	return is_users && weight > CGROUP_WEIGHT ? CGROUP_WEIGHT : weight;
}

/* The number of the innermost cgroup with the controller of a new thread; 0: the kernel does not say. */
static __always_inline u64 cgroup_of(const struct scx_init_task_args *args)
{
	return HAS_FIELD(args->cgroup) ? cgroup_number(args->cgroup) : 0;
}

/* The share of a thread in this cgroup, which would have `share` outside of it; both with SHARE_BITS. */
HLS_GLOBAL_FUNC u64 share_in_cgroups(u64 share, u64 cgroup)
{
	for (u32 i = opaque(0); i < MAX_CGROUP_DEPTH && cgroup && can_loop; i++) {
		u64 number = cgroup;
		const struct cgroup_weight *found = bpf_map_lookup_elem(&cgroup_weights, &number);
		if (!found)
			break;
		share = share_in_cgroup(share, found->weight);
		cgroup = found->parent;
	}
	return share;
}

/* The number of the parameter `share` of VPs below the root scheduler, where it has one. */
static __always_inline u32 share_number(void)
{
	return (domain->share_param - 1) & (HLS_VP_PARAMS - 1);
}

/*
 * Computes the share that follows from the weights of a thread. Returns the value of `weights_changed` that it takes
 * into account.
 */
static __noinline u32 find_share(struct thread_weight *w)
{
	if (!w)
		return 0;
	/* The exchange changes nothing; it orders the reads of cgroups' weights behind itself. */
	u32 seen = __sync_val_compare_and_swap(&domain->weights_changed, 0, 0);
	u64 share = share_of_weight(domain->params.value[share_number()], w->weight);
	w->share = rounded_share(share_in_cgroups(share, w->cgroup));
	return seen;
}

/*
 * Gives the thread of v the share that follows from its weights, unless it was given another share, or was placed below
 * another scheduler. To be called under the lock.
 */
static __always_inline void weigh(u32 v, struct thread_weight *w)
{
	const struct hls_vp __arena *vp = &domain->hls.vp[v];
	u32 number = share_number();
	u64 before = w->share;
	if (!domain->share_param)
		return;
	domain->thread[v].weights_seen = find_share(w);
	if (w->share != before && vp->parent == domain->root && vp->param[number] == before)
		hls_set_param(&domain->hls, v, number, w->share, now_ns());
}

/* A thread that comes back to the root scheduler without a share of its own gets the share of its weights. */
static __always_inline void weigh_move(call_t *call)
{
	u32 number = share_number(), v = call->a;
	if (call->op != HLS_CALL_MOVE || call->b != domain->root || !domain->share_param ||
	    call->params.value[number] != domain->params.value[number])
		return;
	const struct thread_weight *w = bpf_map_lookup_elem(&thread_weights, &v);
	if (w && w->share)
		call->params.value[number] = w->share;
}

/* A thread has another nice value, or is enabled with one. */
SEC("struct_ops/hls_set_weight")
int hls_set_weight(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 weight = weight_of(p), v = kept_vp(p);
	struct thread_weight *w = bpf_map_lookup_elem(&thread_weights, &v);
	if (!v || !w || w->weight == weight)
		return 0;
	w->weight = weight;
	note_change(v, CHANGED_WEIGHT);
	announce();
	return 0;
}

/* User space asks to weigh the thread anew: it has another nice value or cgroup, or some cgroup has another weight. */
static __always_inline void weigh_anew(u32 v, u32 generation)
{
	struct thread_weight *w = bpf_map_lookup_elem(&thread_weights, &v);
	unsigned long irq;
	u64 due = 0;
	if (!v || !w)
		return;
	bpf_local_irq_save(&irq);
	if (lock()) {
		if (is_still_of(v, generation))
			weigh(v, w);
		due = to_kick();
		unlock();
	}
	bpf_local_irq_restore(&irq);
	kick(due);
}

/* A cgroup has the controller from now on, or had it when the engine is attached. */
SEC("struct_ops/hls_cgroup_init")
int hls_cgroup_init(u64 *ctx)
{
	const struct cgroup *cgroup = (void *)ctx[0];
	const struct scx_cgroup_init_args *args = (void *)ctx[1];
	const struct cgroup_subsys_state *above = cgroup->self.parent;
	u64 number = cgroup_number(cgroup);
	bool is_users = above && above->cgroup && is_left_to_user(above->cgroup);
	struct cgroup_weight added = {.parent = above ? cgroup_number(above->cgroup) : 0,
				      .weight = counted_weight(args->weight, is_users),
				      .is_users = is_users};
	/* Without room it stays unknown. */
	bpf_map_update_elem(&cgroup_weights, &number, &added, 0);
	return 0;
}

/* A cgroup no longer has the controller. Its threads have moved. */
SEC("struct_ops/hls_cgroup_exit")
int hls_cgroup_exit(u64 *ctx)
{
	u64 number = cgroup_number((void *)ctx[0]);
	bpf_map_delete_elem(&cgroup_weights, &number);
	return 0;
}

SEC("struct_ops/hls_cgroup_set_weight")
int hls_cgroup_set_weight(u64 *ctx)
{
	USES(arena);
	u64 number = cgroup_number((void *)ctx[0]);
	struct cgroup_weight *found = bpf_map_lookup_elem(&cgroup_weights, &number);
	if (!found)
		return 0;
	found->weight = counted_weight(ctx[1], found->is_users);
	__sync_fetch_and_add(&domain->weights_changed, 1);
	announce();
	return 0;
}

/* A thread is in another cgroup that has the controller. */
SEC("struct_ops/hls_cgroup_move")
int hls_cgroup_move(u64 *ctx)
{
	USES(arena);
	struct task_struct *p = (void *)ctx[0];
	u32 v = kept_vp(p);
	struct thread_weight *w = bpf_map_lookup_elem(&thread_weights, &v);
	if (!v || !w)
		return 0;
	w->cgroup = cgroup_number((void *)ctx[2]);
	note_change(v, CHANGED_WEIGHT);
	announce();
	return 0;
}

#endif
