/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The decision: grants that travel down from the machine to a thread, and revocations of what was granted before.
 *
 * A CPU's path holds the VPs that the CPU is granted to, the root scheduler's first. Where a decision is due at a
 * level, the VP there is revoked and its scheduler asked again (the grant hook). If the scheduler chooses the same
 * VP, all below stays as it is and no scheduler there notices. If it chooses another VP, the VPs below are revoked
 * from the bottom up, and the grant goes down to a thread. If it chooses none, it gives up the CPU, and the level
 * above decides.
 */

/* RUNNING -> READY: v is off its CPU and charged, and its scheduler is told. */
static __always_inline void revoke(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	u64 used_ns = charge(vp, clock_of(h, vp->cpu));
	vp->state = HLS_READY;
	if (!vp->parent)
		return;
	scheduler_t *sched = &h->scheduler[vp->parent];
	sched->nr_running--;
	sched->nr_ready++;
	if (unlikely(vp->flags & HLS_PINNED))
		wanting_add_pinned(h, v);
	policy_revoke(h, vp->parent, v, used_ns);
}

/*
 * After revoke(v), if the CPU goes to another VP. The scheduler below v may no longer want a CPU; v may in turn
 * displace a VP on another CPU of the scheduler above; and CPUs that this scheduler refuses may be usable for v by now.
 */
static __always_inline void revoke_for_good(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	vp->nr_revokes++;
	hls_emit(h, v, HLS_REC_REVOKE, 0, 0);
	if (vp->child)
		settle_later(h, vp->child);
	if (vp->parent && unlikely(!h->scheduler[vp->parent].single))
		look_elsewhere(h, v);
}

/* READY -> RUNNING: v is at `level` of the path of `cpu`, in its place `step`. */
static __always_inline void run(hls_t *h, u32 v, step_t *step, u32 cpu, u32 level, u64 clock)
{
	vp_t *vp = in_register(&h->vp[v]);
	vp->state = HLS_RUNNING;
	vp->cpu = cpu;
	vp->level = level;
	vp->granted_at = clock;
	step->vp = v;
}

/* run() by a scheduler, for the slice that its grant hook has set in h->slice_ns. */
static __always_inline void grant(hls_t *h, scheduler_t *sched, u32 v, step_t *step, u32 cpu, u32 level, u64 clock)
{
	u64 slice_ns = h->slice_ns, first_expiry = step[-1].first_expiry;
	sched->nr_ready--;
	sched->nr_running++;
	run(h, v, step, cpu, level, clock);
	if (slice_ns == HLS_NEVER) {
		step->expires_at = HLS_NEVER;
		step->first_expiry = first_expiry;
	} else {
		u64 expires_at = clock + slice_ns;
		step->expires_at = expires_at;
		step->first_expiry = expires_at < first_expiry ? expires_at : first_expiry;
	}
}

/* The VP v, which is watched, or pinned, or owes CPU time, has a CPU that it did not have before. */
HLS_RARE_FUNC u32 note_grant(hls_t *h __arg_arena, u32 v)
{
	hls_emit(h, v, HLS_REC_GRANT, 0, 0);
	if (h->vp[v].flags & HLS_PINNED)
		note_pinned_grant(h, v);
	if (h->vp[v].flags & HLS_OWES)
		pay(h, v);
	return 0;
}

/* Counts and records a grant of a CPU that v did not have before. */
static __always_inline void record_grant(hls_t *h, u32 v)
{
	vp_t *vp = in_register(&h->vp[v]);
	vp->nr_grants++;
	if (unlikely(vp->flags & (HLS_WATCHED | HLS_PINNED | HLS_OWES)))
		note_grant(h, v);
}

/* Asks s which child gets the CPU; 0: none. Sets h->slice_ns. */
static __always_inline u32 choose(hls_t *h, u32 s, u32 cpu, bool inline_hooks)
{
	h->slice_ns = HLS_NEVER;
	if (!in_register(&h->scheduler[s])->nr_ready)
		return 0;
	h->decisions++;
	return inline_hooks ? policy_grant_inline(h, s, cpu) : policy_grant(h, s, cpu);
}

/* Asks the scheduler at `level` of the CPU's path: the child of the VP above that level. */
static __always_inline u32 choose_at(hls_t *h, u32 cpu, u32 level, bool inline_hooks)
{
	return choose(h, h->vp[h->cpu[cpu].path[level - 1].vp].child, cpu, inline_hooks);
}

/* Revokes the VPs of the path below `level`, from the bottom up. */
HLS_GLOBAL_FUNC u32 revoke_below(hls_t *h __arg_arena, u32 cpu, u32 level)
{
	cpu_t *c = &h->cpu[cpu];
	for (u32 i = opaque(0); i <= HLS_MAX_DEPTH && c->depth > level + 1 && can_loop; i++) {
		u32 v = c->path[--c->depth].vp;
		if (!v)
			continue;
		revoke(h, v);
		revoke_for_good(h, v);
	}
	return 0;
}

/*
 * The join s gave up a CPU that it had by the VP `declined`. If its child runs by another VP, the next request of
 * `declined` goes on where this one ended. If the child has stopped, the next request of any VP of s is a new
 * beginning.
 */
static void note_resumption(hls_t *h, u32 s, u32 declined)
{
	if (h->scheduler[s].nr_running) {
		h->vp[declined].flags |= HLS_RESUMED;
		return;
	}
	for_each_up (h, u, s)
		h->vp[u].flags &= ~HLS_RESUMED;
}

/*
 * The scheduler below the RUNNING v has READY children, none of which can use this CPU: v stays READY and refuses it.
 */
HLS_GLOBAL_FUNC u32 refuse(hls_t *h __arg_arena, u32 v)
{
	vp_t *vp = &h->vp[v];
	pin_scheduler(h, v);
	hls_emit(h, v, HLS_REC_REVOKE, 0, 0);
	revoke(h, v);
	settle_later(h, vp->child);
	look_elsewhere(h, v);
	return 0;
}

/* RUNNING -> WAITING: the scheduler `below` has no use for the CPU of v. Returns how long v had it. */
static __always_inline u64 give_up(hls_t *h, vp_t *vp, u32 v, scheduler_t *below, u64 clock)
{
	u64 used_ns = charge(vp, clock);
	vp->state = HLS_WAITING;
	below->nr_requested--;
	emit(h, vp, v, HLS_REC_RELEASE);
	return used_ns;
}

/* The scheduler s, which is not `single`, has given up its VP v. */
HLS_GLOBAL_FUNC u32 note_loss(hls_t *h __arg_arena, u32 s, u32 v)
{
	const scheduler_t *sched = &h->scheduler[s];
	if (sched->joins)
		note_resumption(h, s, v);
	if (sched->nr_up > 1)
		settle_later(h, s);
	return 0;
}

/* The root scheduler gives up the CPU, for which it has no use. */
HLS_GLOBAL_FUNC u32 give_up_root(hls_t *h __arg_arena, u32 cpu)
{
	u32 v = h->cpu[cpu].root_vp, s = h->vp[v].child;
	give_up(h, &h->vp[v], v, &h->scheduler[s], clock_of(h, cpu));
	note_loss(h, s, v);
	return 0;
}

/*
 * The scheduler at `level` has chosen no child: the CPU goes up to the first scheduler that has READY children. Returns
 * the level at which that scheduler is to choose; 0: the CPU went up to the machine.
 */
static __always_inline u32 give_up_from(hls_t *h, u32 cpu, u32 level)
{
	const cpu_t *c = in_register(&h->cpu[cpu]);
	u64 clock = clock_of(h, cpu);
	const step_t *step = in_register(&c->path[--level]);
	scheduler_t *below = in_register(&h->scheduler[h->vp[step->vp].child]);
	if (unlikely(below->nr_ready && level)) {
		refuse(h, step->vp);
		return opaque(level);
	}
	for (level = opaque(level); level && port_in_bounds(level <= HLS_MAX_DEPTH) && can_loop; level--, step--) {
		u32 v = step->vp;
		vp_t *vp = in_register(&h->vp[v]);
		u32 s = vp->parent;
		scheduler_t *sched = in_register(&h->scheduler[s]);
		u64 used_ns = give_up(h, vp, v, below, clock);
		sched->nr_running--;
		policy_release_inline(h, s, v, used_ns, false);
		if (unlikely(!sched->single && sched->nr_up > 1))
			note_end_of_wanting(h, s, v);
		if (unlikely(!below->single))
			note_loss(h, vp->child, v);
		if (sched->nr_ready)
			return level;
		below = sched;
	}
	give_up_root(h, cpu);
	return 0;
}

/* The machine grants a free CPU to the VP of the root scheduler if that is READY; returns whether it is. */
static __always_inline bool grant_root(hls_t *h, u32 cpu)
{
	u32 root = h->cpu[cpu].root_vp;
	if (!root || h->vp[root].state != HLS_READY)
		return false;
	step_t *step = &h->cpu[cpu].path[0];
	step->expires_at = step->first_expiry = HLS_NEVER;
	run(h, root, step, cpu, 0, clock_of(h, cpu));
	record_grant(h, root);
	return true;
}

/*
 * The scheduler at `level` has chosen a child: it is granted the CPU, and so on down to a thread. Returns 0, or the
 * level at which a scheduler has chosen none.
 */
static __always_inline u32 grant_down(hls_t *h, u32 cpu, u32 level, u32 chosen)
{
	cpu_t *c = in_register(&h->cpu[cpu]);
	u64 clock = clock_of(h, cpu);
	scheduler_t *sched = in_register(&h->scheduler[h->vp[chosen].parent]);
	step_t *step = in_register(&c->path[level]);
	for (; chosen && port_in_bounds(level <= HLS_MAX_DEPTH) && can_loop; level++, step++) {
		grant(h, sched, chosen, step, cpu, level, clock);
		record_grant(h, chosen);
		u32 s = in_register(&h->vp[chosen])->child;
		if (!s) {
			c->depth = level + 1;
			return 0;
		}
		sched = in_register(&h->scheduler[s]);
		chosen = choose(h, s, cpu, true);
	}
	return level;
}

/*
 * Grants the CPU from `level` downwards, if a child is chosen. If a scheduler has chosen none (0), the CPU is given up,
 * and a level above chooses; level 0 is the machine.
 */
HLS_GLOBAL_FUNC u32 decide(hls_t *h __arg_arena, u32 cpu, u32 level, u32 chosen)
{
	for (u32 i = opaque(0); i < HLS_MAX_STEPS && can_loop; i++) {
		if (chosen) {
			level = grant_down(h, cpu, level, chosen);
			if (!level)
				return 0;
		}
		if (level)
			level = give_up_from(h, cpu, level);
		if (!level) {
			h->cpu[cpu].depth = 0;
			if (!grant_root(h, cpu))
				return 0;
			level = opaque(1);
		}
		chosen = choose_at(h, cpu, level, true);
	}
	return 0;
}

/*
 * Revokes the VP at `level` and asks its scheduler again. Returns the VP that the scheduler chooses, 0: none. If it is
 * the same VP, the path is as it was; otherwise the path ends above `level`, and the caller goes on with decide().
 */
HLS_GLOBAL_FUNC u32 reconsider(hls_t *h __arg_arena, u32 cpu, u32 level)
{
	cpu_t *c = &h->cpu[cpu];
	u32 v = c->path[level].vp;
	revoke(h, v);
	u32 next = choose(h, h->vp[v].parent, cpu, false);
	if (next == v) {
		grant(h, &h->scheduler[h->vp[v].parent], v, &c->path[level], cpu, level, clock_of(h, cpu));
		if (unlikely(h->vp[v].flags & HLS_PINNED))
			note_pinned_grant(h, v);
		update_expiries(c, level);
		return next;
	}
	settle_later(h, h->vp[v].parent);
	revoke_below(h, cpu, level);
	revoke_for_good(h, v);
	c->resched = 0;
	return next;
}

/* After a decision: passes on the claims of VPs that did not get the CPU, and does what was put off. */
static __always_inline void follow_up(hls_t *h, u32 cpu)
{
	if (unlikely(h->cpu[cpu].claims))
		pass_on_claims(h, &h->cpu[cpu]);
	settle_pending(h);
}

/* A decision of this CPU is due after HLS_MAX_ROUNDS, too: the last choice stands, or is made where there is none. */
static __always_inline void cut_short(hls_t *h, cpu_t *c, u32 cpu)
{
	u32 last = c->depth - 1;
	h->cut_short++;
	if (!c->depth)
		decide(h, cpu, 0, 0);
	else if (!c->path[last].vp)
		decide(h, cpu, last, choose_at(h, cpu, last, false));
	c->resched = 0;
}

/*
 * The decision: returns the VP of the thread that `cpu` runs from now on; 0: none. Decides from the top at each level
 * where a decision is due; if a scheduler chooses another VP than before, all levels below are decided with it.
 *
 * A decision may make another one due, for example where a child claims the CPU that it has lost. A policy that
 * contradicts itself, so that each of two children preempts the other, would go on without end: after HLS_MAX_ROUNDS
 * the last choice stands.
 */
HLS_ENTRY u32 hls_schedule(hls_t *h __arg_arena, u32 cpu, u64 now_ns)
{
	cpu_t *c = &h->cpu[cpu];
	h->now_ns = now_ns;
	for (u32 i = opaque(0); i < HLS_MAX_ROUNDS && c->resched && can_loop; i++) {
		u32 level = __builtin_ctzll(c->resched);
		c->resched &= ~(1ULL << level);
		u32 v = level < c->depth ? c->path[level].vp : 0, chosen = 0;
		bool is_due = level < c->depth || !c->depth;
		if (v) {
			chosen = reconsider(h, cpu, level);
			is_due = chosen != v;
		} else if (is_due) {
			c->resched = 0;
			if (c->depth)
				chosen = choose_at(h, cpu, level, false);
			else
				level = opaque(0);
		}
		if (is_due)
			decide(h, cpu, level, chosen);
		follow_up(h, cpu);
	}
	if (unlikely(c->resched))
		cut_short(h, c, cpu);
	h->kick &= ~(1ULL << cpu);
	return c->depth ? c->path[c->depth - 1].vp : 0;
}

/*
 * hls_schedule() with a fast path for the usual case: the thread that ran has blocked, and its scheduler chooses
 * another one. Inlined hooks make it fast and large: it is for the kernel's dispatch operation.
 */
static __always_inline u32 schedule_fast(hls_t *h, u32 cpu, u64 now_ns)
{
	cpu_t *c = &h->cpu[cpu];
	u32 last = c->depth - 1;
	h->now_ns = now_ns;
	if (likely(c->depth > 1 && c->resched == 1ULL << last && !c->path[last].vp)) {
		c->resched = 0;
		u32 chosen = choose_at(h, cpu, last, true);
		const vp_t *vp = in_register(&h->vp[chosen]);
		if (likely(chosen && !vp->child)) {
			scheduler_t *sched = &h->scheduler[vp->parent];
			grant(h, sched, chosen, &c->path[last], cpu, last, clock_of(h, cpu));
			record_grant(h, chosen);
		} else {
			decide(h, cpu, last, chosen);
		}
		follow_up(h, cpu);
	}
	if (unlikely(c->resched))
		return hls_schedule(h, cpu, now_ns);
	h->kick &= ~(1ULL << cpu);
	return c->depth ? c->path[c->depth - 1].vp : 0;
}
