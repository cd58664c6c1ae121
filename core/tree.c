/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Building and changing the hierarchy: CPUs, schedulers, VPs. It is built from the top: a scheduler is attached below
 * its parents before it gets children, so that no cycle can arise.
 */

static void clear(u64 __arena *words, u32 bytes)
{
	for (u32 i = opaque(0); i < bytes / sizeof(u64) && can_loop; i++)
		words[i] = 0;
}

static u32 take_scheduler(hls_t *h)
{
	u32 s = h->free_scheduler;
	if (s)
		h->free_scheduler = h->scheduler[s].pending_next;
	else if (h->used_schedulers + 1 < HLS_MAX_SCHEDULERS)
		s = ++h->used_schedulers;
	return s;
}

static u32 take_vp(hls_t *h)
{
	u32 v = h->free_vp;
	if (v)
		h->free_vp = h->vp[v].up_next;
	else if (h->used_vps + 1 < HLS_MAX_VPS)
		v = ++h->used_vps;
	return v;
}

static bool scheduler_exists(hls_t *h, u32 s)
{
	return s && s < HLS_MAX_SCHEDULERS && h->scheduler[s].policy;
}

static bool vp_exists(hls_t *h, u32 v)
{
	return v && v < HLS_MAX_VPS && (h->vp[v].flags & HLS_USED);
}

/* Adds a CPU to the domain, before there are VPs: which of them are pinned depends on the CPUs that there are. */
HLS_ENTRY s64 hls_add_cpu(hls_t *h __arg_arena, u32 cpu)
{
	if (cpu >= HLS_MAX_CPUS)
		return -HLS_E_NOT_FOUND;
	if (h->used_vps && !((h->cpus >> cpu) & 1))
		return -HLS_E_BUSY;
	h->cpus |= 1ULL << cpu;
	return 0;
}

static bool cpu_exists(hls_t *h, u32 cpu)
{
	return cpu < HLS_MAX_CPUS && ((h->cpus >> cpu) & 1);
}

/* Creates a scheduler of a policy, and returns its index. It is in no hierarchy yet. */
HLS_ENTRY s64 hls_create_scheduler(hls_t *h __arg_arena, u32 policy, const params_t *params __arg_arena)
{
	if (!policy_most_children(policy))
		return -HLS_E_NOT_FOUND;
	for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++)
		if (!policy_param_in_range(policy, i, params->value[i]))
			return -HLS_E_PARAM;
	u32 s = take_scheduler(h);
	if (!s)
		return -HLS_E_FULL;
	scheduler_t *sched = &h->scheduler[s];
	clear((u64 __arena *)sched, sizeof(*sched));
	sched->policy = policy;
	sched->level = 1;
	sched->joins = policy_joins(policy);
	sched->hears = policy_hears(policy);
	sched->slows = policy_slows(policy);
	sched->timer_at = HLS_NEVER;
	for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++)
		sched->param[i] = params->value[i];
	if (policy_has_pages(policy))
		take_pages(h, s);
	policy_init(h, s);
	return s;
}

/* Whether s is the root scheduler of a CPU that is offline, and will hold that CPU's root VP again. */
static bool is_root_of_offline(hls_t *h, u32 s)
{
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && can_loop; cpu++)
		if (hls_is_offline(h, cpu) && h->vp[h->cpu[cpu].root_vp].child == s)
			return true;
	return false;
}

/* Destroys a scheduler that has no children and is held by no parent. */
HLS_ENTRY s64 hls_destroy_scheduler(hls_t *h __arg_arena, u32 s)
{
	if (!scheduler_exists(h, s))
		return -HLS_E_NOT_FOUND;
	scheduler_t *sched = &h->scheduler[s];
	if (sched->nr_children || sched->nr_up || is_root_of_offline(h, s))
		return -HLS_E_BUSY;
	policy_deinit(h, s);
	hls_set_timer(h, s, HLS_NEVER);
	give_pages_back(h, s);
	sched->policy = 0;
	sched->pending_next = h->free_scheduler;
	h->free_scheduler = s;
	return 0;
}

/* The scheduler s pays for what threads below it have without a grant (debts.c), unless a scheduler above s does. */
HLS_ENTRY s64 hls_let_pay(hls_t *h __arg_arena, u32 s)
{
	if (!scheduler_exists(h, s))
		return -HLS_E_NOT_FOUND;
	h->scheduler[s].pays = true;
	return 0;
}

/* Adds a VP to those that its child scheduler holds of its parents. */
static void add_up(hls_t *h, u32 v)
{
	scheduler_t *below = &h->scheduler[h->vp[v].child];
	h->vp[v].up_next = below->first_up;
	below->first_up = v;
	below->nr_up++;
	note_single(below);
	if (below->nr_up == 2)
		wanting_begin(h, h->vp[v].child);
}

/* Removes a VP from the VPs that its child scheduler holds; no effect if it is not among them. */
static void remove_up(hls_t *h, u32 v)
{
	scheduler_t *below = &h->scheduler[h->vp[v].child];
	u32 __arena *link = &below->first_up;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && *link && can_loop; i++) {
		if (*link == v) {
			*link = h->vp[v].up_next;
			below->nr_up--;
			note_single(below);
			return;
		}
		link = &h->vp[*link].up_next;
	}
}

/* Makes a VP, WAITING and held by the child scheduler if there is one; 0: there is no free entry. */
static u32 new_vp(hls_t *h, u32 parent, u32 child, const params_t *params)
{
	u32 v = take_vp(h);
	if (!v)
		return 0;
	vp_t *vp = &h->vp[v];
	clear((u64 __arena *)vp, sizeof(*vp));
	vp->flags = HLS_USED;
	vp->parent = parent;
	vp->child = child;
	vp->usable = HLS_NEVER;
	for (u32 i = 0; i < HLS_VP_PARAMS && params; i++)
		vp->param[i] = params->value[i];
	if (child)
		add_up(h, v);
	return v;
}

static void set_pinned(hls_t *h, vp_t *vp, bool pinned)
{
	if (pinned == ((vp->flags & HLS_PINNED) != 0))
		return;
	vp->flags ^= HLS_PINNED;
	h->nr_pinned += pinned ? 1 : -1;
}

/* Removes a VP from the claims of the CPU that it claims. */
static void drop_claim(hls_t *h, u32 v)
{
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && (h->vp[v].flags & HLS_SEEKING) && can_loop; cpu++) {
		u32 __arena *link = &h->cpu[cpu].claims;
		for (u32 i = opaque(0); i < HLS_MAX_VPS && *link && can_loop; i++) {
			if (*link == v) {
				*link = h->vp[v].seeking_next;
				h->vp[v].flags &= ~HLS_SEEKING;
				return;
			}
			link = &h->vp[*link].seeking_next;
		}
	}
}

static void free_vp(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	if (vp->child)
		remove_up(h, v);
	else
		set_pinned(h, vp, false);
	drop_claim(h, v);
	vp->flags = 0;
	vp->up_next = h->free_vp;
	h->free_vp = v;
}

/*
 * Makes s the root scheduler of `cpu`: the machine grants s the whole CPU whenever s requests it. Returns the root
 * VP.
 */
HLS_ENTRY s64 hls_attach_root(hls_t *h __arg_arena, u32 s, u32 cpu)
{
	if (!scheduler_exists(h, s) || !cpu_exists(h, cpu) || hls_is_offline(h, cpu))
		return -HLS_E_NOT_FOUND;
	if (h->cpu[cpu].root_vp)
		return -HLS_E_BUSY;
	u32 v = new_vp(h, 0, s, NULL);
	if (!v)
		return -HLS_E_FULL;
	h->vp[v].cpu = cpu;
	h->cpu[cpu].root_vp = v;
	return v;
}

/* All VPs of the CPU's path lose it, and the root scheduler no longer holds its root VP. */
HLS_RARE_FUNC u32 take_cpu_away(hls_t *h __arg_arena, u32 cpu)
{
	cpu_t *c = &h->cpu[cpu];
	u32 root = c->root_vp;
	revoke_below(h, cpu, 0);
	if (h->vp[root].state == HLS_RUNNING)
		give_up_root(h, cpu);
	else if (h->vp[root].state == HLS_READY)
		withdraw(h, root);
	c->depth = 0;
	c->resched = 0;
	h->kick &= ~(1ULL << cpu);
	if (root)
		remove_up(h, root);
	return 0;
}

/*
 * A CPU goes offline: all VPs of its path lose it, and the root scheduler no longer holds its root VP. The last CPU
 * cannot go. No effect if it is offline already.
 */
HLS_ENTRY s64 hls_offline(hls_t *h __arg_arena, u32 cpu, u64 now_ns)
{
	if (!cpu_exists(h, cpu))
		return -HLS_E_NOT_FOUND;
	if (hls_is_offline(h, cpu))
		return 0;
	u64 offline = h->offline | 1ULL << cpu;
	if (offline == h->cpus)
		return -HLS_E_BUSY;
	h->now_ns = now_ns;
	h->offline = offline;
	hls_write_record(h, 0, cpu, HLS_REC_OFFLINE, 0, 0);
	take_cpu_away(h, cpu);
	follow_up(h, cpu);
	return 0;
}

/*
 * A CPU is back: the root scheduler holds its root VP again, and requests it if a child of it wants a CPU. No effect if
 * it is online.
 */
HLS_ENTRY s64 hls_online(hls_t *h __arg_arena, u32 cpu, u64 now_ns)
{
	if (!cpu_exists(h, cpu))
		return -HLS_E_NOT_FOUND;
	if (!hls_is_offline(h, cpu))
		return 0;
	u32 root = h->cpu[cpu].root_vp;
	h->now_ns = now_ns;
	h->offline &= ~(1ULL << cpu);
	hls_write_record(h, 0, cpu, HLS_REC_ONLINE, 0, 0);
	if (root) {
		add_up(h, root);
		settle_later(h, h->vp[root].child);
	}
	settle_pending(h);
	return 0;
}

/* Adds v, which its parent's policy has registered, to the children of its parent. */
static void link_child(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	scheduler_t *sched = &h->scheduler[vp->parent];
	vp->sib_prev = 0;
	vp->sib_next = sched->first_child;
	if (sched->first_child)
		h->vp[sched->first_child].sib_prev = v;
	sched->first_child = v;
	sched->nr_children++;
	wanting_register(h, v);
}

/* Registers v with the policy of `parent` and makes it a child there; an error: the policy's reason against v. */
static s64 register_vp(hls_t *h, u32 parent, u32 v)
{
	h->vp[v].parent = parent;
	s64 error = policy_register_vp(h, parent, v);
	if (!error)
		link_child(h, v);
	return error;
}

/*
 * Makes v a child again of the scheduler that had it. A loaded policy that refuses now is faulty; v comes back
 * anyway.
 */
static void register_back(hls_t *h, u32 parent, u32 v)
{
	h->vp[v].parent = parent;
	if (policy_register_vp(h, parent, v) && h->scheduler[parent].policy >= HLS_FIRST_LOADED)
		hls_report_violation(h, parent, HLS_VIOLATION_REFUSED);
	link_child(h, v);
}

static void unregister_vp(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	scheduler_t *sched = &h->scheduler[vp->parent];
	policy_unregister_vp(h, vp->parent, v);
	if (unlikely(h->queue_node[v].height))
		hls_take_back(h, v);
	if (vp->sib_prev)
		h->vp[vp->sib_prev].sib_next = vp->sib_next;
	else
		sched->first_child = vp->sib_next;
	if (vp->sib_next)
		h->vp[vp->sib_next].sib_prev = vp->sib_prev;
	sched->nr_children--;
}

/* 0 if `parent` may get a child with these parameters; else why not. */
static s64 may_register(hls_t *h, u32 parent, const params_t *params)
{
	scheduler_t *sched = &h->scheduler[parent];
	if (sched->nr_children >= policy_most_children(sched->policy))
		return -HLS_E_CHILDREN;
	for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++)
		if (!policy_vp_param_in_range(sched->policy, i, params->value[i]))
			return -HLS_E_PARAM;
	return 0;
}

/*
 * Attaches a scheduler, or with child 0 a new thread, below `parent`; returns the VP, which is WAITING. A scheduler
 * may be attached below one parent several times (once for each CPU that it may hold at once), a join below several
 * parents. now_ns may be 0 while the hierarchy is built: then it happens at the time of the last call.
 */
HLS_ENTRY s64 hls_attach(hls_t *h __arg_arena, u32 parent, u32 child, const params_t *params __arg_arena,
			 u64 now_ns)
{
	if (now_ns)
		h->now_ns = now_ns;
	if (!scheduler_exists(h, parent) || (child && !scheduler_exists(h, child)))
		return -HLS_E_NOT_FOUND;
	u32 level = h->scheduler[parent].level + 1;
	if (child && (child == parent || level > HLS_MAX_DEPTH))
		return -HLS_E_DEPTH;
	if (child && h->scheduler[child].nr_children)
		return -HLS_E_BUSY;
	s64 error = may_register(h, parent, params);
	if (error)
		return error;
	u32 v = new_vp(h, parent, child, params);
	if (!v)
		return -HLS_E_FULL;
	error = register_vp(h, parent, v);
	if (error) {
		free_vp(h, v);
		return error;
	}
	if (child && h->scheduler[child].level < level)
		h->scheduler[child].level = level;
	return v;
}

/* hls_detach() of a VP that is WAITING. */
HLS_GLOBAL_FUNC u32 detach_waiting(hls_t *h __arg_arena, u32 v)
{
	const vp_t *vp = &h->vp[v];
	if (vp->parent)
		unregister_vp(h, v);
	else
		h->cpu[vp->cpu].root_vp = 0;
	free_vp(h, v);
	return 0;
}

/* Removes a VP from the hierarchy and frees it. A scheduler below it must have no children. */
HLS_ENTRY s64 hls_detach(hls_t *h __arg_arena, u32 v, u64 now_ns)
{
	if (!vp_exists(h, v))
		return -HLS_E_NOT_FOUND;
	vp_t *vp = &h->vp[v];
	if (vp->child && h->scheduler[vp->child].nr_children)
		return -HLS_E_BUSY;
	release_thread(h, v, now_ns, false);
	detach_waiting(h, v);
	return 0;
}

/*
 * Registers the WAITING VP v anew, below another parent or with other parameters. When the policy there refuses v, all
 * is as it was before. Below the same parent v keeps its words: what the policy knows of it, such as its budget.
 */
HLS_GLOBAL_FUNC s64 reregister(hls_t *h __arg_arena, u32 v, u32 parent, const params_t *params __arg_arena)
{
	vp_t *vp = &h->vp[v];
	u64 param[HLS_VP_PARAMS], word[HLS_VP_WORDS];
	u32 old_parent = vp->parent;
	unregister_vp(h, v);
	for (u32 i = 0; i < HLS_VP_PARAMS; i++) {
		param[i] = vp->param[i];
		vp->param[i] = params->value[i];
	}
	for (u32 i = 0; i < HLS_VP_WORDS; i++) {
		word[i] = vp->word[i];
		vp->word[i] = parent == old_parent ? word[i] : 0;
	}
	s64 error = register_vp(h, parent, v);
	if (!error)
		return 0;
	for (u32 i = 0; i < HLS_VP_PARAMS; i++)
		vp->param[i] = param[i];
	for (u32 i = 0; i < HLS_VP_WORDS; i++)
		vp->word[i] = word[i];
	register_back(h, old_parent, v);
	return error;
}

/* Moves a thread's VP, in any state, to another scheduler. On an error nothing has changed. */
HLS_ENTRY s64 hls_move(hls_t *h __arg_arena, u32 v, u32 parent, const params_t *params __arg_arena, u64 now_ns)
{
	if (!vp_exists(h, v) || h->vp[v].child || !scheduler_exists(h, parent))
		return -HLS_E_NOT_FOUND;
	s64 error = may_register(h, parent, params);
	if (error)
		return error;
	bool wants = wants_cpu(&h->vp[v]);
	begin_change(h, v, now_ns);
	release_thread(h, v, now_ns, false);
	error = reregister(h, v, parent, params);
	if (wants)
		request_thread(h, v, now_ns, false);
	return error;
}

/* Changes one parameter of a thread's VP, by registering the VP anew. On an error nothing has changed. */
HLS_ENTRY s64 hls_set_param(hls_t *h __arg_arena, u32 v, u32 param, u64 value, u64 now_ns)
{
	if (!vp_exists(h, v) || h->vp[v].child)
		return -HLS_E_NOT_FOUND;
	u32 parent = h->vp[v].parent;
	if (param >= HLS_VP_PARAMS)
		return -HLS_E_UNKNOWN;
	if (!policy_vp_param_in_range(h->scheduler[parent].policy, param, value))
		return -HLS_E_PARAM;
	for (u32 i = 0; i < HLS_VP_PARAMS; i++)
		h->new_params.value[i] = h->vp[v].param[i];
	h->new_params.value[param & (HLS_VP_PARAMS - 1)] = value;
	bool wants = wants_cpu(&h->vp[v]);
	begin_change(h, v, now_ns);
	release_thread(h, v, now_ns, false);
	s64 error = reregister(h, v, parent, &h->new_params);
	if (wants)
		request_thread(h, v, now_ns, false);
	return error;
}

/*
 * Sends the scheduler above v a message of its policy's list, about v. Returns the policy's answer, or why the message
 * was not passed on to it.
 */
HLS_ENTRY s64 hls_tell(hls_t *h __arg_arena, u32 v, u32 message, const params_t *payload __arg_arena, u64 now_ns)
{
	if (!vp_exists(h, v) || !h->vp[v].parent)
		return -HLS_E_NOT_FOUND;
	u32 s = h->vp[v].parent;
	keep_argument(message);
	keep_argument(payload);
	keep_argument(now_ns);
	for (u32 i = 0; i < HLS_SCHEDULER_PARAMS; i++) {
		s64 fits = policy_field_in_range(h->scheduler[s].policy, message, i, payload->value[i]);
		if (fits < 1)
			return fits ? fits : -HLS_E_PARAM;
	}
	h->now_ns = now_ns;
	hls_credit_timer(h, s);
	s64 answer = policy_message(h, s, v, message, payload);
	settle_later(h, s);
	settle_pending(h);
	return answer;
}

/* Gives a thread's VP an affinity with some CPU of the domain. v is WAITING afterwards: the caller may request it. */
HLS_GLOBAL_FUNC u32 bind(hls_t *h __arg_arena, u32 v, u64 cpus)
{
	h->vp[v].usable = cpus;
	wanting_forget(h, v);
	set_pinned(h, &h->vp[v], (h->cpus & ~cpus) != 0);
	return 0;
}

/* Gives a thread's VP an affinity. */
HLS_ENTRY s64 hls_set_affinity(hls_t *h __arg_arena, u32 v, u64 cpus, u64 now_ns)
{
	if (!vp_exists(h, v) || h->vp[v].child)
		return -HLS_E_NOT_FOUND;
	if (!(cpus & h->cpus))
		return -HLS_E_PARAM;
	bool wants = wants_cpu(&h->vp[v]);
	begin_change(h, v, now_ns);
	release_thread(h, v, now_ns, false);
	bind(h, v, cpus);
	if (wants)
		request_thread(h, v, now_ns, false);
	return 0;
}

/*
 * From now on the changes of a VP's state are recorded, or with `on` 0 no longer. The state of the VP now is recorded
 * first: as a request if it is READY, as a grant if it is RUNNING.
 */
HLS_ENTRY s64 hls_watch(hls_t *h __arg_arena, u32 v, u32 on)
{
	if (!vp_exists(h, v))
		return -HLS_E_NOT_FOUND;
	vp_t *vp = &h->vp[v];
	if (!on) {
		vp->flags &= ~HLS_WATCHED;
		return 0;
	}
	vp->flags |= HLS_WATCHED;
	if (vp->state != HLS_WAITING)
		hls_emit(h, v, vp->state == HLS_RUNNING ? HLS_REC_GRANT : HLS_REC_REQUEST, 0, 0);
	return 0;
}

/* Sets the pace: how often loaded policies may have themselves called, which depends on how fast the machine is. */
HLS_ENTRY s64 hls_set_pace(hls_t *h __arg_arena, u64 pace_ns)
{
	h->pace_ns = pace_ns < HLS_MOST_PACE ? pace_ns : HLS_MOST_PACE;
	if (h->pace_ns < HLS_LEAST_PACE)
		h->pace_ns = HLS_LEAST_PACE;
	return 0;
}
