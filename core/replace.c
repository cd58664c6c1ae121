/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Gives a scheduler another policy in place: the VPs that the scheduler holds of its parents stay as they are, and so
 * do its children and all schedulers above and beside it. This is done on request (hls_replace), or because the loaded
 * policy is faulty: then the fallback replaces it.
 *
 * No hook of the old policy is called, since it may be the faulty one. RUNNING children are taken off their CPUs, which
 * are to decide anew; then the request hook of the new policy is called for each READY child.
 */

/* RUNNING -> READY: the child v of s. No hook of s is called. */
static void take_off_cpu(hls_t *h, u32 s, u32 v)
{
	vp_t *vp = &h->vp[v];
	revoke_below(h, vp->cpu, vp->level);
	charge(vp, clock_of(h, vp->cpu));
	vp->state = HLS_READY;
	h->scheduler[s].nr_running--;
	h->scheduler[s].nr_ready++;
	if (vp->flags & HLS_PINNED)
		wanting_add_pinned(h, v);
	h->cpu[vp->cpu].path[vp->level].vp = 0;
	revoke_for_good(h, v);
	hls_mark(h, vp->cpu, vp->level);
}

/* Takes the RUNNING children of s off their CPUs. A global function: what follows has the stack for itself. */
HLS_GLOBAL_FUNC u32 take_off_cpus(hls_t *h __arg_arena, u32 s)
{
	for_each_up (h, u, s) {
		const vp_t *up = &h->vp[u];
		u32 level = up->level + 1;
		if (up->state != HLS_RUNNING || level >= h->cpu[up->cpu].depth)
			continue;
		u32 v = h->cpu[up->cpu].path[level].vp;
		if (v)
			take_off_cpu(h, s, v);
	}
	return 0;
}

/* Clears what the old policy kept in the children of s, ends their throttling, and counts those that are READY. */
static void forget_children(hls_t *h, u32 s)
{
	scheduler_t *sched = &h->scheduler[s];
	u32 ready = opaque(0);
	for_each_child (h, v, s) {
		vp_t *vp = &h->vp[v];
		clear((u64 __arena *)vp->word, sizeof(vp->word));
		h->queue_node[v].height = 0;
		if (vp->flags & HLS_THROTTLED) {
			vp->flags &= ~HLS_THROTTLED;
			wanting_add(h, v);
		}
		ready += vp->state == HLS_READY;
	}
	sched->nr_ready = ready;
}

/* Registers the children of s with its new policy, and requests those that are READY. An error: one was refused. */
static s64 register_anew(hls_t *h, u32 s)
{
	for_each_child (h, v, s) {
		s64 error = policy_register_vp(h, s, v);
		if (error)
			return error;
		if (h->vp[v].state == HLS_READY)
			policy_request(h, s, v);
	}
	return 0;
}

/* Gives s a policy; no child of s is RUNNING. An error: the policy refuses one of the children. */
HLS_GLOBAL_FUNC s64 set_policy(hls_t *h __arg_arena, u32 s, u32 policy)
{
	scheduler_t *sched = &h->scheduler[s];
	hls_set_timer(h, s, HLS_NEVER);
	sched->policy = policy;
	sched->hears = policy_hears(policy);
	sched->slows = policy_slows(policy);
	clear((u64 __arena *)sched->word, sizeof(sched->word));
	for (u32 i = 0; i < HLS_NR_TOLD; i++)
		hls_tell_parents(h, s, i, 0);
	if (sched->refused)
		lift_refusals(h, s);
	forget_children(h, s);
	give_pages_back(h, s);
	if (policy_has_pages(policy))
		take_pages(h, s);
	policy_init(h, s);
	s64 error = register_anew(h, s);
	add_pending(h, s);
	return error;
}

/*
 * The scheduler has other pages than before, or none: clears the pages that it has, and its policy fills in what its
 * process is to find there.
 */
HLS_ENTRY s64 hls_renew_pages(hls_t *h __arg_arena, u32 s, u64 now_ns)
{
	if (!scheduler_exists(h, s) || !h->scheduler[s].page)
		return -HLS_E_NOT_FOUND;
	h->now_ns = now_ns;
	clear_pages(h, s);
	policy_paged(h, s);
	settle_pending(h);
	return 0;
}

/* The policy that replaces a faulty one: it needs no parameters, and accepts any children. */
static __always_inline u32 fallback(const scheduler_t *sched)
{
	return sched->joins ? POLICY_JOIN : POLICY_ROUND_ROBIN;
}

#define PRESET(constant, name, unit, preset, ...) \
	case constant:                            \
		return preset;
static __always_inline u64 fallback_param(u32 policy, u32 param)
{
	if (policy == POLICY_ROUND_ROBIN)
		switch (param) {
			ROUND_ROBIN_PARAMS(PRESET)
		}
	return 0;
}
#undef PRESET

static __always_inline void set_fallback(hls_t *h, u32 s)
{
	scheduler_t *sched = &h->scheduler[s];
	u32 policy = fallback(sched);
	take_off_cpus(h, s);
	for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++)
		sched->param[i] = fallback_param(policy, i);
	set_policy(h, s, policy);
}

/* Gives the fallback to all faulty schedulers. Their violations stay recorded, as the reasons. */
static __always_inline void replace_faulty_policies(hls_t *h)
{
	h->has_faulty = false;
	for (u32 s = opaque(1); s <= h->used_schedulers && s < HLS_MAX_SCHEDULERS && can_loop; s++) {
		const scheduler_t *sched = &h->scheduler[s];
		if (!hls_is_faulty(sched))
			continue;
		u64 what = sched->violation | (u64)sched->violating_hook << 8 | (u64)sched->violation_about << 32;
		hls_write_record(h, 0, 0, HLS_REC_FALLBACK, s, what);
		set_fallback(h, s);
	}
}

/* 0 if the policy, with these parameters, can take the children of s; else why not. */
HLS_RARE_FUNC s64 may_replace(hls_t *h __arg_arena, u32 s, u32 policy, const params_t *params __arg_arena)
{
	scheduler_t *sched = &h->scheduler[s];
	if (!policy_most_children(policy))
		return -HLS_E_NOT_FOUND;
	if (sched->nr_children > policy_most_children(policy) || sched->joins != policy_joins(policy))
		return -HLS_E_CHILDREN;
	for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++)
		if (!policy_param_in_range(policy, i, params->value[i]))
			return -HLS_E_PARAM;
	if (policy == fallback(sched))
		return 0; /* The fallback reads no parameters of children; they keep those that they have. */
	for_each_child (h, v, s) {
		for (u32 i = 0; i < HLS_VP_PARAMS; i++)
			if (!policy_vp_param_in_range(policy, i, h->vp[v].param[i]))
				return -HLS_E_PARAM;
	}
	return 0;
}

/*
 * Gives a scheduler another policy, with parameters; its children keep theirs. On an error nothing has changed, except
 * where the new policy's register hook refused a child: then the scheduler has the fallback.
 */
HLS_ENTRY s64 hls_replace(hls_t *h __arg_arena, u32 s, u32 policy, const params_t *params __arg_arena, u64 now_ns)
{
	if (!scheduler_exists(h, s))
		return -HLS_E_NOT_FOUND;
	s64 error = may_replace(h, s, policy, params);
	if (error)
		return error;
	h->now_ns = now_ns;
	h->scheduler[s].violation = 0;
	take_off_cpus(h, s);
	for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++)
		h->scheduler[s].param[i] = params->value[i];
	error = set_policy(h, s, policy);
	if (error)
		set_fallback(h, s);
	settle_pending(h);
	return error;
}
