/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks the invariants of check.h. It looks at all VPs, CPUs and schedulers, so it is for tests, for `--paranoid`, and
 * for the dump of a machine that has gone wrong. To be called when no decision is due (`kick` is 0).
 */
#include "check.h"

static u32 broken(hls_t *h, u32 code, u32 s, u32 v, u32 cpu)
{
	h->fault.code = code;
	h->fault.scheduler = s;
	h->fault.vp = v;
	h->fault.cpu = cpu;
	return code;
}

/* Whether v is pinned exactly when it cannot use every CPU. A READY VP stays pinned when it can use all CPUs again. */
static bool is_pinned_rightly(hls_t *h, u32 v)
{
	const vp_t *vp = &h->vp[v];
	bool pinned = vp->flags & HLS_PINNED;
	if (!vp->child)
		return pinned == ((h->cpus & ~vp->usable) != 0);
	if (!h->scheduler[vp->child].refused && vp->usable != HLS_NEVER)
		return false;
	return pinned == (vp->usable != HLS_NEVER) || (pinned && vp->state == HLS_READY);
}

/* Checks the search trees in which v may lie. The trees of loaded policies do not concern the core. */
HLS_GLOBAL_FUNC u32 check_trees(hls_t *h __arg_arena, u32 v)
{
	const vp_t *vp = &h->vp[v];
	bool is_ours = h->scheduler[vp->parent].policy < HLS_FIRST_LOADED;
	if (!is_pinned_rightly(h, v))
		return broken(h, HLS_BROKEN_PINNED, vp->parent, v, 0);
	if (vp->parent && !wanting_is_sound_for(h, v))
		return broken(h, HLS_BROKEN_WANTING, vp->parent, v, 0);
	if (vp->state == HLS_READY && (vp->flags & HLS_PINNED) && h->wanting_node[v].height &&
	    !tree_is_sound_at(h->wanting_node, v, vp->usable))
		return broken(h, HLS_BROKEN_TREE, vp->parent, v, 0);
	if (is_ours && h->queue_node[v].height && !tree_is_sound_at(h->queue_node, v, vp->usable))
		return broken(h, HLS_BROKEN_TREE, vp->parent, v, 0);
	return 0;
}

HLS_GLOBAL_FUNC u32 check_vp(hls_t *h __arg_arena, u32 v)
{
	vp_t *vp = &h->vp[v];
	if (vp->state > HLS_RUNNING)
		return broken(h, HLS_BROKEN_STATE, vp->parent, v, 0);
	if ((vp->flags & HLS_THROTTLED) && vp->state != HLS_READY)
		return broken(h, HLS_BROKEN_THROTTLED, vp->parent, v, 0);
	if (vp->suspension && (vp->state != HLS_WAITING || vp->child))
		return broken(h, HLS_BROKEN_SUSPENDED, vp->parent, v, 0);
	if (((vp->flags & HLS_OWES) != 0) != (vp->owed_us != 0) || (vp->owed_us && vp->state == HLS_RUNNING))
		return broken(h, HLS_BROKEN_OWES, vp->parent, v, 0);
	u32 code = check_trees(h, v);
	if (code)
		return code;
	if (vp->state != HLS_RUNNING)
		return 0;
	cpu_t *c = &h->cpu[vp->cpu & (HLS_MAX_CPUS - 1)];
	if (vp->level >= c->depth || c->path[vp->level].vp != v)
		return broken(h, HLS_BROKEN_PATH, vp->parent, v, vp->cpu);
	if (!vp->child && !hls_usable(vp, vp->cpu))
		return broken(h, HLS_BROKEN_PATH, vp->parent, v, vp->cpu);
	return 0;
}

/* The path of a CPU goes from the root to a thread; each of its VPs names that CPU, so none is on two paths. */
HLS_GLOBAL_FUNC u32 check_path(hls_t *h __arg_arena, u32 cpu)
{
	cpu_t *c = &h->cpu[cpu];
	for (u32 i = opaque(0); i < c->depth && i <= HLS_MAX_DEPTH && can_loop; i++) {
		u32 v = c->path[i].vp;
		vp_t *vp = &h->vp[v];
		if (vp->state != HLS_RUNNING || vp->cpu != cpu || vp->level != i)
			return broken(h, HLS_BROKEN_ONE_CPU, vp->parent, v, cpu);
		if (i && h->vp[c->path[i - 1].vp].child != vp->parent)
			return broken(h, HLS_BROKEN_PATH, vp->parent, v, cpu);
		if ((i + 1 == c->depth) != (vp->child == 0))
			return broken(h, HLS_BROKEN_PATH, vp->parent, v, cpu);
	}
	return 0;
}

/*
 * Whether v is READY for a CPU that it could use now. A VP held by a join is not, if the join's child runs by another
 * VP: the join would decline the CPU.
 */
static bool in_need(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	if (vp->state != HLS_READY || (vp->flags & HLS_THROTTLED))
		return false;
	return !vp->child || !h->scheduler[vp->child].joins || !h->scheduler[vp->child].nr_running;
}

/* A CPU that is offline is idle and not requested; and no idle CPU has a root scheduler with a READY child for it. */
HLS_GLOBAL_FUNC u32 check_idle(hls_t *h __arg_arena, u32 cpu)
{
	u32 root = h->cpu[cpu].root_vp;
	if (hls_is_offline(h, cpu)) {
		bool is_used = h->cpu[cpu].depth || h->cpu[cpu].resched || h->vp[root].state != HLS_WAITING;
		return is_used ? broken(h, HLS_BROKEN_OFFLINE, 0, root, cpu) : 0;
	}
	if (!root || h->cpu[cpu].depth)
		return 0;
	u32 s = h->vp[root].child;
	for_each_child (h, v, s) {
		vp_t *vp = &h->vp[v];
		/* A faulty scheduler may have left the CPU idle: the fallback will use it. */
		if (in_need(h, v) && hls_usable(vp, cpu) && !hls_is_faulty(&h->scheduler[s]))
			return broken(h, HLS_BROKEN_IDLE, s, v, cpu);
	}
	return 0;
}

/* No RUNNING child of s has a CPU that its READY child v should have taken. */
HLS_GLOBAL_FUNC u32 check_priority(hls_t *h __arg_arena, u32 s, u32 v)
{
	for_each_up (h, u, s) {
		vp_t *up = &h->vp[u];
		if (up->state != HLS_RUNNING)
			continue;
		u32 r = h->cpu[up->cpu].path[up->level + 1].vp;
		if (!r || !hls_usable(&h->vp[v], up->cpu) || !policy_preempts(h, s, v, r))
			continue;
		if (h->scheduler[s].policy < HLS_FIRST_LOADED)
			return broken(h, HLS_BROKEN_PRIORITY, s, v, up->cpu);
		hls_report_violation(h, s, HLS_VIOLATION_OUT_OF_ORDER);
		return 0;
	}
	return 0;
}

HLS_GLOBAL_FUNC u32 check_children(hls_t *h __arg_arena, u32 s)
{
	scheduler_t *sched = &h->scheduler[s];
	u32 ready = opaque(0), running = opaque(0), children = opaque(0), pinned = opaque(0);
	for_each_child (h, v, s) {
		vp_t *vp = &h->vp[v];
		bool able = vp->state == HLS_READY && !(vp->flags & HLS_THROTTLED);
		children++;
		ready += able;
		pinned += able && (vp->flags & HLS_PINNED);
		running += vp->state == HLS_RUNNING;
		u32 code = in_need(h, v) && policy_strict(sched->policy) ? check_priority(h, s, v) : 0;
		if (code)
			return code;
	}
	if (children != sched->nr_children || ready != sched->nr_ready || running != sched->nr_running)
		return broken(h, HLS_BROKEN_COUNTS, s, 0, 0);
	if (pinned != sched->nr_pinned)
		return broken(h, HLS_BROKEN_WANTING, s, 0, 0);
	return 0;
}

HLS_GLOBAL_FUNC u32 check_scheduler(hls_t *h __arg_arena, u32 s)
{
	scheduler_t *sched = &h->scheduler[s];
	u32 requested = opaque(0), held = opaque(0);
	for_each_up (h, u, s) {
		requested += h->vp[u].state != HLS_WAITING;
		held += h->vp[u].state == HLS_RUNNING;
	}
	if (requested != sched->nr_requested || held != sched->nr_running || sched->single != is_single(sched))
		return broken(h, HLS_BROKEN_HELD, s, 0, 0);
	u32 want = nr_wanted(sched);
	bool root = sched->first_up && !h->vp[sched->first_up].parent;
	bool declined = sched->joins && sched->nr_running;
	if (!hls_is_faulty(sched) && (requested > want || (requested < want && !root && !declined)))
		return broken(h, HLS_BROKEN_WANTS, s, 0, 0);
	u32 code = check_children(h, s);
	if (code)
		return code;
	return policy_check_invariants(h, s) ? 0 : broken(h, HLS_BROKEN_POLICY, s, 0, 0);
}

/* The first invariant that does not hold, as enum hls_invariant; 0: all hold. */
HLS_ENTRY u32 hls_check(hls_t *h __arg_arena)
{
	u32 code = 0;
	for (u32 v = opaque(1); v <= h->used_vps && v < HLS_MAX_VPS && !code && can_loop; v++)
		if (h->vp[v].flags & HLS_USED)
			code = check_vp(h, v);
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && !code && can_loop; cpu++) {
		code = check_path(h, cpu);
		if (!code)
			code = check_idle(h, cpu);
	}
	for (u32 s = opaque(1); s <= h->used_schedulers && s < HLS_MAX_SCHEDULERS && !code && can_loop; s++)
		if (h->scheduler[s].policy)
			code = check_scheduler(h, s);
	return code;
}
