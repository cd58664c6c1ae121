/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The decision: grants that travel down from the machine to a thread, and revocations of what was granted before.
 *
 * A CPU's path holds the VPs that it is granted to, the root's first. Where the decision is due at some level, the
 * VP there is revoked and its scheduler asked again. If it names the same VP, all below stays as it is and no
 * scheduler there notices. If it names another one, what was below is revoked from the bottom up and the grant goes
 * down to a thread. If it names none, it gives up the CPU, and the level above decides.
 */

/* RUNNING -> READY: off the CPU, charged, back with its scheduler. */
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
	policy_revoke(h, vp->parent, v, used_ns);
}

/*
 * The same for good: the CPU is for others now. What is below the VP may have come to want nothing meanwhile, and
 * on another CPU of its scheduler there may be one that the VP can displace in turn.
 */
static __always_inline void revoke_for_good(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	vp->nr_revokes++;
	hls_emit(h, v, HLS_REC_REVOKE, 0, 0);
	if (vp->child)
		settle_later(h, vp->child);
	if (vp->parent && unlikely(h->scheduler[vp->parent].nr_up > 1))
		look_elsewhere(h, v);
}

/* READY -> RUNNING on `cpu` at `level` of its path, which is `step`. */
static __always_inline void run(hls_t *h, u32 v, step_t *step, u32 cpu, u32 level, u64 clock)
{
	vp_t *vp = in_register(&h->vp[v]);
	vp->state = HLS_RUNNING;
	vp->cpu = cpu;
	vp->level = level;
	vp->granted_at = clock;
	step->vp = v;
}

/* The same by a scheduler, for the slice that its grant hook has set. */
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

/* The grant of a CPU that the VP did not have before. */
static __always_inline void record_grant(hls_t *h, u32 v)
{
	vp_t *vp = in_register(&h->vp[v]);
	vp->nr_grants++;
	emit(h, vp, v, HLS_REC_GRANT);
}

/* Whom s grants the CPU at hand; 0: none of its children. Sets the slice. */
static __always_inline u32 choose(hls_t *h, u32 s, u32 cpu, bool inline_hooks)
{
	h->slice_ns = HLS_NEVER;
	if (!in_register(&h->scheduler[s])->nr_ready)
		return 0;
	h->decisions++;
	return inline_hooks ? policy_grant_inline(h, s, cpu) : policy_grant(h, s, cpu);
}

/* The same at `level` of the CPU's path. */
static __always_inline u32 choose_at(hls_t *h, u32 cpu, u32 level, bool inline_hooks)
{
	return choose(h, h->vp[h->cpu[cpu].path[level - 1].vp].child, cpu, inline_hooks);
}

/* Revokes what is on the path below `level`, from the bottom up. */
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

/* The slice at `level` is set anew: brings the sums below it up to date. */
static __always_inline void update_expiries(cpu_t *c, u32 level)
{
	u64 first = c->path[level].first_expiry;
	for (u32 i = level + 1; i < c->depth && i <= HLS_MAX_DEPTH && can_loop; i++) {
		if (c->path[i].expires_at < first)
			first = c->path[i].expires_at;
		c->path[i].first_expiry = first;
	}
}

/*
 * A join gave the CPU up while its child runs elsewhere, or the child has stopped: what a later request will mean.
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

/* The scheduler below v, a RUNNING VP, has children that only cannot use this CPU: v stays READY and refuses it. */
HLS_GLOBAL_FUNC u32 refuse(hls_t *h __arg_arena, u32 v)
{
	vp_t *vp = &h->vp[v];
	vp->usable &= ~(1ULL << vp->cpu);
	h->scheduler[vp->child].refused = 1;
	note_single(&h->scheduler[vp->child]);
	hls_emit(h, v, HLS_REC_REVOKE, 0, 0);
	revoke(h, v);
	settle_later(h, vp->child);
	look_elsewhere(h, v);
	return 0;
}

/* RUNNING -> WAITING: the scheduler `below` has nothing for the CPU of v; how long it had that. */
static __always_inline u64 give_up(hls_t *h, vp_t *vp, u32 v, scheduler_t *below, u64 clock)
{
	u64 used_ns = charge(vp, clock);
	vp->state = HLS_WAITING;
	below->nr_requested--;
	emit(h, vp, v, HLS_REC_RELEASE);
	return used_ns;
}

/* A scheduler that has some choice has given v up. */
HLS_GLOBAL_FUNC u32 note_loss(hls_t *h __arg_arena, u32 s, u32 v)
{
	const scheduler_t *sched = &h->scheduler[s];
	if (sched->joins)
		note_resumption(h, s, v);
	if (sched->nr_up > 1)
		settle_later(h, s);
	return 0;
}

/* The root scheduler gives up the CPU, which it has nothing for. */
static __always_inline void give_up_root(hls_t *h, u32 cpu)
{
	u32 v = h->cpu[cpu].root_vp, s = h->vp[v].child;
	give_up(h, &h->vp[v], v, &h->scheduler[s], clock_of(h, cpu));
	note_loss(h, s, v);
}

/*
 * The scheduler at `level` has chosen nobody: the CPU goes up, to the first scheduler that has children which want it.
 * The level at which that is to choose; 0: the machine.
 */
static __always_inline u32 give_up_from(hls_t *h, u32 cpu, u32 level)
{
	const cpu_t *c = in_register(&h->cpu[cpu]);
	u64 clock = clock_of(h, cpu);
	const step_t *step = in_register(&c->path[--level]);
	scheduler_t *below = in_register(&h->scheduler[h->vp[step->vp].child]);
	if (unlikely(below->nr_ready && level)) {
		refuse(h, step->vp);
		return level;
	}
	for (level = opaque(level); level && level <= HLS_MAX_DEPTH && can_loop; level--, step--) {
		u32 v = step->vp;
		vp_t *vp = in_register(&h->vp[v]);
		u32 s = vp->parent;
		scheduler_t *sched = in_register(&h->scheduler[s]);
		u64 used_ns = give_up(h, vp, v, below, clock);
		sched->nr_running--;
		policy_release_inline(h, s, v, used_ns);
		if (unlikely(!sched->single && sched->nr_up > 1))
			settle_later(h, s);
		if (unlikely(!below->single))
			note_loss(h, vp->child, v);
		if (sched->nr_ready)
			return level;
		below = sched;
	}
	give_up_root(h, cpu);
	return 0;
}

/* The machine grants a CPU that nobody has to the VP of its root scheduler, if that wants it; whether it does. */
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
 * The scheduler at `level` has chosen: a grant, and on down to a thread; or, of none, that the CPU is given up, and the
 * level above chooses. At level 0 that is the machine.
 */
HLS_GLOBAL_FUNC u32 decide(hls_t *h __arg_arena, u32 cpu, u32 level, u32 chosen)
{
	cpu_t *c = in_register(&h->cpu[cpu]);
	u64 clock = clock_of(h, cpu);
	for (u32 i = opaque(0); i < HLS_MAX_STEPS && can_loop; i++) {
		if (!level) {
			c->depth = 0;
			if (!grant_root(h, cpu))
				return 0;
			level = opaque(1);
			chosen = choose_at(h, cpu, level, false);
		}
		scheduler_t *sched = in_register(&h->scheduler[h->vp[chosen].parent]);
		step_t *step = in_register(&c->path[level]);
		for (; chosen && level <= HLS_MAX_DEPTH && can_loop; level++, step++) {
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
		level = give_up_from(h, cpu, level);
		if (level)
			chosen = choose_at(h, cpu, level, false);
	}
	return 0;
}

/*
 * Revokes the VP at `level` and asks its scheduler again: whom that names. When it is the same VP, the path is as it
 * was; else the decision is to be taken from there on.
 */
HLS_GLOBAL_FUNC u32 reconsider(hls_t *h __arg_arena, u32 cpu, u32 level)
{
	cpu_t *c = &h->cpu[cpu];
	u32 v = c->path[level].vp;
	revoke(h, v);
	u32 next = choose(h, h->vp[v].parent, cpu, false);
	if (next == v) {
		grant(h, &h->scheduler[h->vp[v].parent], v, &c->path[level], cpu, level, clock_of(h, cpu));
		update_expiries(c, level);
		return next;
	}
	settle_later(h, h->vp[v].parent);
	revoke_below(h, cpu, level);
	revoke_for_good(h, v);
	c->resched = 0;
	return next;
}

/* The CPU has been given away: those that claimed it and did not get it seek another. */
static void pass_on_claims(hls_t *h, cpu_t *c)
{
	for (u32 i = opaque(0); i < HLS_MAX_VPS && c->claims && can_loop; i++) {
		u32 v = c->claims;
		c->claims = h->vp[v].seeking_next;
		h->vp[v].flags &= ~HLS_SEEKING;
		add_seeker(h, &h->seeking, v);
	}
}

/* A decision has been taken: looks after those that it has disappointed, and after what was put off. */
static __always_inline void follow_up(hls_t *h, u32 cpu)
{
	if (unlikely(h->cpu[cpu].claims))
		pass_on_claims(h, &h->cpu[cpu]);
	settle_pending(h);
}

/*
 * The decision: what `cpu` runs from now on, as a thread's VP; 0: nothing. Levels that are due are taken from the
 * top; a level where another VP is chosen settles all below it.
 */
HLS_ENTRY u32 hls_schedule(hls_t *h __arg_arena, u32 cpu, u64 now_ns)
{
	cpu_t *c = &h->cpu[cpu];
	h->now_ns = now_ns;
	for (u32 i = opaque(0); i < HLS_MAX_STEPS && c->resched && can_loop; i++) {
		u32 level = __builtin_ctzll(c->resched);
		c->resched &= ~(1ULL << level);
		u32 v = level < c->depth ? c->path[level].vp : 0;
		if (v) {
			u32 next = reconsider(h, cpu, level);
			if (next != v)
				decide(h, cpu, level, next);
		} else if (level < c->depth || !c->depth) {
			c->resched = 0;
			if (c->depth)
				decide(h, cpu, level, choose_at(h, cpu, level, false));
			else
				decide(h, cpu, 0, 0);
		}
		follow_up(h, cpu);
	}
	h->kick &= ~(1ULL << cpu);
	return c->depth ? c->path[c->depth - 1].vp : 0;
}

/*
 * The same, by a shorter way in the usual case: a thread has gone, and its scheduler may have another. For a caller for
 * which that makes a difference.
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
