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
static inline void revoke(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	u64 used_ns = charge(h, vp);
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
static inline void revoke_for_good(hls_t *h, u32 v)
{
	vp_t *vp = &h->vp[v];
	vp->nr_revokes++;
	hls_emit(h, v, HLS_REC_REVOKE, 0, 0);
	if (vp->child)
		settle_later(h, vp->child);
	if (vp->parent && unlikely(h->scheduler[vp->parent].nr_up > 1))
		look_elsewhere(h, v);
}

/* READY -> RUNNING on `cpu` at `level`; the slice is the grant hook's. */
static inline void grant(hls_t *h, u32 v, u32 cpu, u32 level, u64 slice_ns)
{
	vp_t *vp = &h->vp[v];
	cpu_t *c = &h->cpu[cpu];
	u64 clock = h->now_ns - c->stolen_ns;
	u64 expires_at = slice_ns == HLS_NEVER ? HLS_NEVER : clock + slice_ns;
	vp->state = HLS_RUNNING;
	vp->cpu = cpu;
	vp->level = level;
	vp->granted_at = clock;
	if (level) {
		scheduler_t *sched = &h->scheduler[vp->parent];
		sched->nr_ready--;
		sched->nr_running++;
	}
	c->path[level] = v;
	c->expires_at[level] = expires_at;
	if (level && c->first_expiry[level - 1] < expires_at)
		expires_at = c->first_expiry[level - 1];
	c->first_expiry[level] = expires_at;
}

/* The grant of a CPU that the VP did not have before. */
static inline void tell_grant(hls_t *h, u32 v)
{
	h->vp[v].nr_grants++;
	hls_emit(h, v, HLS_REC_GRANT, 0, 0);
}

/* Whom s grants the CPU at hand; 0: none of its children. Sets the slice. */
static inline u32 choose(hls_t *h, u32 s, u32 cpu)
{
	if (!h->scheduler[s].nr_ready)
		return 0;
	h->slice_ns = HLS_NEVER;
	h->decisions++;
	return policy_grant(h, s, cpu);
}

/* Revokes what is on the path below `level`, from the bottom up. */
static void revoke_below(hls_t *h, cpu_t *c, u32 level)
{
	for (u32 i = from(0); i <= HLS_MAX_DEPTH && c->depth > level + 1 && can_loop; i++) {
		u32 v = c->path[--c->depth];
		if (!v)
			continue;
		revoke(h, v);
		revoke_for_good(h, v);
	}
}

/* The slice at `level` is set anew: brings the sums below it up to date. */
static void update_expiries(cpu_t *c, u32 level)
{
	u64 first = c->first_expiry[level];
	for (u32 i = level + 1; i < c->depth && i <= HLS_MAX_DEPTH && can_loop; i++) {
		if (c->expires_at[i] < first)
			first = c->expires_at[i];
		c->first_expiry[i] = first;
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

/*
 * The scheduler below `v`, a RUNNING VP, has nothing for the CPU. If it has children that only cannot use this one,
 * v stays READY and refuses the CPU; else v is released.
 */
HLS_ONCE u32 give_up(hls_t *h ARENA_ARG, u32 v)
{
	vp_t *vp = &h->vp[v];
	scheduler_t *below = &h->scheduler[vp->child];
	u32 s = vp->parent;
	if (below->nr_ready && s) {
		vp->usable &= ~(1ULL << vp->cpu);
		below->refused = 1;
		hls_emit(h, v, HLS_REC_REVOKE, 0, 0);
		revoke(h, v);
		settle_later(h, vp->child);
		look_elsewhere(h, v);
		return 0;
	}
	u64 used_ns = charge(h, vp);
	vp->state = HLS_WAITING;
	below->nr_requested--;
	hls_emit(h, v, HLS_REC_RELEASE, 0, 0);
	if (s) {
		h->scheduler[s].nr_running--;
		policy_release(h, s, v, used_ns);
		if (h->scheduler[s].nr_up > 1)
			settle_later(h, s);
	}
	if (unlikely(below->joins))
		note_resumption(h, vp->child, v);
	if (below->nr_up > 1)
		settle_later(h, vp->child);
	return 0;
}

/*
 * Lets the scheduler at `level` choose, and those below the one it chose, down to a thread; or gives up, upwards.
 */
HLS_ONCE u32 decide(hls_t *h ARENA_ARG, u32 cpu, u32 level)
{
	cpu_t *c = &h->cpu[cpu];
	for (u32 i = from(0); i < HLS_MAX_STEPS && can_loop; i++) {
		if (!level) {
			u32 root = c->root_vp;
			c->depth = 0;
			if (!root || h->vp[root].state != HLS_READY)
				return 0;
			grant(h, root, cpu, 0, HLS_NEVER);
			tell_grant(h, root);
			level = from(1);
		}
		u32 s = h->vp[c->path[level - 1]].child;
		u32 v = choose(h, s, cpu);
		if (!v) {
			give_up(h, c->path[--level]);
			continue;
		}
		grant(h, v, cpu, level, h->slice_ns);
		tell_grant(h, v);
		level++;
		if (!h->vp[v].child) {
			c->depth = level;
			return 0;
		}
	}
	return 0;
}

/* What comes of the choice at `level`: a grant, on to a thread; or, of none, that the CPU is given up. */
static inline void follow(hls_t *h, u32 cpu, u32 level, u32 chosen)
{
	cpu_t *c = &h->cpu[cpu];
	if (unlikely(!chosen)) {
		give_up(h, c->path[level - 1]);
		decide(h, cpu, level - 1);
		return;
	}
	grant(h, chosen, cpu, level, h->slice_ns);
	tell_grant(h, chosen);
	if (h->vp[chosen].child)
		decide(h, cpu, level + 1);
	else
		c->depth = level + 1;
}

/* Revokes the VP at `level` and asks its scheduler again. When that names the same one, the path is as it was. */
HLS_ONCE u32 renew(hls_t *h ARENA_ARG, u32 cpu, u32 level)
{
	cpu_t *c = &h->cpu[cpu];
	u32 v = c->path[level];
	revoke(h, v);
	u32 next = choose(h, h->vp[v].parent, cpu);
	if (next == v) {
		grant(h, v, cpu, level, h->slice_ns);
		update_expiries(c, level);
		return 0;
	}
	settle_later(h, h->vp[v].parent);
	revoke_below(h, c, level);
	revoke_for_good(h, v);
	c->resched = 0;
	follow(h, cpu, level, next);
	return 0;
}

/* The CPU has been given away: those that claimed it and did not get it seek another. */
static void hear_claims(hls_t *h, cpu_t *c)
{
	for (u32 i = from(0); i < HLS_MAX_VPS && c->claims && can_loop; i++) {
		u32 v = c->claims;
		c->claims = h->vp[v].seeking_next;
		h->vp[v].flags &= ~HLS_SEEKING;
		seek(h, &h->seeking, v);
	}
}

/* Marks the levels of the path whose slice is over. */
HLS_ONCE u32 mark_expired(hls_t *h ARENA_ARG, u32 cpu)
{
	const cpu_t *c = &h->cpu[cpu];
	u64 clock = h->now_ns - c->stolen_ns;
	for (u32 i = from(1); i < c->depth && i <= HLS_MAX_DEPTH && can_loop; i++)
		if (c->expires_at[i] <= clock)
			hls_mark(h, cpu, i);
	return 0;
}

/* A decision has been taken: looks after those that it has disappointed, and after what was put off. */
static inline void follow_up(hls_t *h, u32 cpu)
{
	if (unlikely(h->cpu[cpu].claims))
		hear_claims(h, &h->cpu[cpu]);
	settle_pending(h);
}

/*
 * The decision: what `cpu` runs from now on, as a thread's VP; 0: nothing. Levels that are due are taken from the
 * top; a level where another VP is chosen settles all below it.
 */
HLS_ENTRY u32 hls_schedule(hls_t *h ARENA_ARG, u32 cpu, u64 now_ns)
{
	cpu_t *c = &h->cpu[cpu];
	h->now_ns = now_ns;
	for (u32 i = from(0); i < HLS_MAX_STEPS && c->resched && can_loop; i++) {
		u32 level = __builtin_ctzll(c->resched);
		c->resched &= ~(1ULL << level);
		if (level < c->depth && c->path[level]) {
			renew(h, cpu, level);
		} else if (level < c->depth || !c->depth) {
			c->resched = 0;
			decide(h, cpu, c->depth ? level : 0);
		}
		follow_up(h, cpu);
	}
	h->kick &= ~(1ULL << cpu);
	return c->depth ? c->path[c->depth - 1] : 0;
}

/*
 * The same, by a shorter way in the usual case: a thread has gone, and its scheduler may have another. For a caller for
 * which that makes a difference.
 */
static inline u32 schedule(hls_t *h, u32 cpu, u64 now_ns)
{
	cpu_t *c = &h->cpu[cpu];
	u32 last = c->depth - 1;
	h->now_ns = now_ns;
	if (likely(c->depth > 1 && c->resched == 1ULL << last && !c->path[last])) {
		c->resched = 0;
		follow(h, cpu, last, choose(h, h->vp[c->path[last - 1]].child, cpu));
		follow_up(h, cpu);
	}
	if (unlikely(c->resched))
		return hls_schedule(h, cpu, now_ns);
	h->kick &= ~(1ULL << cpu);
	return c->depth ? c->path[c->depth - 1] : 0;
}

/* A slice may be over on `cpu`: marks the levels where it is. */
u64 hls_expire(hls_t *h ARENA_ARG, u32 cpu, u64 now_ns)
{
	const cpu_t *c = &h->cpu[cpu];
	h->now_ns = now_ns;
	if (unlikely(c->depth && c->first_expiry[c->depth - 1] <= now_ns - c->stolen_ns))
		mark_expired(h, cpu);
	return h->kick;
}

/* When the first slice on `cpu` is over if no more time is stolen; HLS_NEVER: none is. */
u64 hls_expires_at(hls_t *h ARENA_ARG, u32 cpu)
{
	const cpu_t *c = &h->cpu[cpu];
	u64 first = c->depth ? c->first_expiry[c->depth - 1] : HLS_NEVER;
	return first < HLS_NEVER - c->stolen_ns ? first + c->stolen_ns : HLS_NEVER;
}

/* Interrupts or the host had `cpu` for length_ns up to now: nobody is charged for it. */
u64 hls_steal(hls_t *h ARENA_ARG, u32 cpu, u64 length_ns)
{
	h->cpu[cpu].stolen_ns += length_ns;
	return h->kick;
}
