/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Time: the timers of schedulers, the ends of slices, and time that a CPU loses to others. The platform asks when
 * something is due next and calls then. Nothing here gives or takes a CPU, except when the fallback replaces the policy
 * of a faulty scheduler: that also waits for the next look at the timers.
 */

/*
 * Calls the timer hook of s, which is due, until it names no further VP, or has named HLS_MAX_BATCH: then the rest is
 * due at once. Returns how many VPs other schedulers may name in this batch, which was `left` before.
 */
static __always_inline u32 call_timer(hls_t *h, u32 s, u32 left)
{
	u64 at_ns = h->scheduler[s].timer_at;
	hls_set_timer(h, s, HLS_NEVER);
	hls_charge_timer(h, s, at_ns);
	h->scheduler[s].called_at = h->now_ns;
	for (u32 n = opaque(0); n < HLS_MAX_BATCH && can_loop; n++) {
		u32 v = policy_timer(h, s);
		settle_later(h, s); /* the hook may have throttled children */
		if (!v)
			return h->scheduler[s].timer_at > h->now_ns ? left : 0;
		if (h->vp[v].state == HLS_READY && !(h->vp[v].flags & HLS_THROTTLED))
			request_any(h, v);
		if (left)
			left--;
	}
	hls_set_timer(h, s, h->now_ns);
	h->scheduler[s].asked_at = h->now_ns;
	return 0;
}

/*
 * Calls the timer hooks that are due, until they have named HLS_MAX_BATCH VPs, or one has more to do: the rest stays
 * due, so that the platform calls again, and CPUs can decide in between.
 */
HLS_GLOBAL_FUNC u32 call_timers(hls_t *h __arg_arena)
{
	u32 left = opaque(HLS_MAX_BATCH);
	for (u32 i = opaque(0); i < HLS_MAX_BATCH && left && h->timers && can_loop; i++) {
		u32 s = h->timers;
		if (h->scheduler[s].timer_at > h->now_ns)
			break;
		left = call_timer(h, s, left);
	}
	return 0;
}

/* Calls the timer hooks that are due. A call may be late; an early one does nothing. */
HLS_ENTRY u64 hls_timers(hls_t *h __arg_arena, u64 now_ns)
{
	h->now_ns = now_ns;
	if (unlikely(h->has_faulty))
		replace_faulty_policies(h);
	call_timers(h);
	settle_pending(h);
	return h->kick;
}

/* When hls_timers() is due next; HLS_NEVER: not before another event. */
u64 hls_timer_at(hls_t *h __arg_arena)
{
	if (unlikely(h->has_faulty))
		return h->now_ns;
	return h->timers ? h->scheduler[h->timers].timer_at : HLS_NEVER;
}

/* Marks the levels of the CPU's path where a slice is over. */
HLS_GLOBAL_FUNC u32 mark_expired(hls_t *h __arg_arena, u32 cpu)
{
	const cpu_t *c = &h->cpu[cpu];
	u64 clock = clock_of(h, cpu);
	for (u32 i = opaque(1); i < c->depth && i <= HLS_MAX_DEPTH && can_loop; i++) {
		if (c->path[i].expires_at > clock)
			continue;
		hls_mark(h, cpu, i);
		u32 s = h->vp[c->path[i].vp].parent;
		h->scheduler[s].called_at = h->now_ns;
		hls_credit_timer(h, s);
	}
	return 0;
}

/* A slice may be over on `cpu`: marks the levels where one is. */
u64 hls_expire(hls_t *h __arg_arena, u32 cpu, u64 now_ns)
{
	const cpu_t *c = &h->cpu[cpu];
	h->now_ns = now_ns;
	if (unlikely(c->depth && c->path[c->depth - 1].first_expiry <= now_ns - c->stolen_ns))
		mark_expired(h, cpu);
	return h->kick;
}

/* When the first slice on `cpu` is over, if no more time is stolen until then; HLS_NEVER: no VP there has a slice. */
u64 hls_expires_at(hls_t *h __arg_arena, u32 cpu)
{
	const cpu_t *c = &h->cpu[cpu];
	u64 first = c->depth ? c->path[c->depth - 1].first_expiry : HLS_NEVER;
	return first < HLS_NEVER - c->stolen_ns ? first + c->stolen_ns : HLS_NEVER;
}

/*
 * Interrupts or the host had `cpu` for length_ns up to now: no VP is charged for that time. length_ns is at most
 * the time since a VP of the CPU was last charged, so that the CPU's clock never runs backwards.
 */
u64 hls_steal(hls_t *h __arg_arena, u32 cpu, u64 length_ns, u64 now_ns)
{
	cpu_t *c = &h->cpu[cpu];
	h->now_ns = now_ns;
	c->stolen_ns += length_ns;
	if (!length_ns)
		return h->kick;
	if (now_ns - length_ns > c->stolen_to_ns)
		c->stolen_from_ns = now_ns - length_ns;
	c->stolen_to_ns = now_ns;
	return h->kick;
}
