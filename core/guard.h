/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What stands between the core and a policy that was loaded: its author is trusted to mean well, not to have made no
 * mistake. Each of its hooks has so many steps; the time is as it was; who is chosen is looked at. A scheduler whose
 * policy does what it must not is accused: its hooks are not called any more, and when timers are next looked after, at
 * once, it is taken out (replace.c). All this is about mistakes. A policy that writes where it has no business is kept
 * out of the kernel's memory by the verifier, but not out of the domain's.
 */
#ifndef HLS_GUARD_H
#define HLS_GUARD_H

#include "policy.h"

/* V(number, NAME, "what the policy did"). The numbers are part of the tape format. */
#define HLS_VIOLATIONS(V)                                                                                        \
	V(1, CHOSE_WRONG, "its grant hook chose a VP that is not a ready child of its which can use the CPU")    \
	V(2, CHOSE_NONE, "its grant hook chose nobody while a ready child could use the CPU")                    \
	V(3, TOO_LONG, "a hook of it took more steps than it may")                                               \
	V(4, TOO_OFTEN, "it had itself called more often than every 10 us, or than the machine can bear")        \
	V(5, CHANGED_TIME, "a hook of it changed the time")                                                      \
	V(6, INVARIANTS, "its own invariants did not hold")                                                      \
	V(7, WRONG_TARGET, "a hook of it throttled, unthrottled, rechecked or set a timer for what it must not") \
	V(8, OUT_OF_ORDER, "it is strict, and a ready child waited beside a running one that it preempts")       \
	V(9, REFUSED, "its register hook refused a child that it had accepted before")

#define HLS_VIOLATION_NUMBER(number, name, doc) HLS_VIOLATION_##name = number,
enum hls_violation { HLS_NO_VIOLATION, HLS_VIOLATIONS(HLS_VIOLATION_NUMBER) };

/* Steps of a policy's own loops in one call of a hook; a look at its invariants looks at as many of its VPs. */
#define HLS_HOOK_STEPS 4096

/*
 * What a policy makes happen by itself may come in a burst of so many, but not go on faster than this on any CPU; nor
 * faster than the machine can bear (hls_set_pace()).
 */
#define HLS_LEAST_PACE HLS_US(10)
#define HLS_MOST_PACE HLS_MS(1)
#define HLS_BURST 100

/* Takes one of the steps that the hook at hand has left, if there is one; for can_loop in loaded policies. */
static __always_inline bool hls_may_step(hls_t *h)
{
	if (!h->steps)
		return false;
	h->steps--;
	return can_loop;
}
#define checked_port_can_loop() hls_may_step(h)

/* Whether a scheduler is to be taken out. The offence of one that was is not forgotten. */
static __always_inline bool hls_is_faulty(const scheduler_t *sched)
{
#ifdef HLS_LOADED
	return unlikely(sched->violation) && sched->policy >= HLS_FIRST_LOADED;
#else
	(void)sched; /* A build without such policies does not even look. */
	return false;
#endif
}

/* Only the first offence of a scheduler counts. */
static __always_inline void hls_report_violation(hls_t *h, u32 s, u32 violation)
{
	scheduler_t *sched = &h->scheduler[s];
	if (sched->violation)
		return;
	sched->violation = violation;
	sched->violating_hook = h->hook;
	sched->violation_about = h->hook_about;
	h->has_faulty = true;
}

/* Before a hook of s about a VP or a CPU, and behind it; whether it is to be called at all. */
static __always_inline bool hls_begin_hook(hls_t *h, u32 s, u32 hook, u32 about)
{
	h->hook = hook;
	h->hook_scheduler = s;
	h->hook_about = about;
	h->steps = HLS_HOOK_STEPS;
	h->hook_at_ns = h->now_ns;
	return !h->scheduler[s].violation;
}

static __always_inline void hls_end_hook(hls_t *h, u32 s)
{
	if (unlikely(h->now_ns != h->hook_at_ns)) {
		h->now_ns = h->hook_at_ns;
		hls_report_violation(h, s, HLS_VIOLATION_CHANGED_TIME);
	}
	if (unlikely(!h->steps))
		hls_report_violation(h, s, HLS_VIOLATION_TOO_LONG);
}

/* What a call of a policy's own will costs. */
static __always_inline u64 hls_pace_ns(const hls_t *h)
{
	return h->pace_ns ? h->pace_ns : HLS_LEAST_PACE;
}

/*
 * s, whose policy was loaded, is called of its own will: it had asked for that at `asked_at`, to be in `asked_ns`. Each
 * such call costs a pace, and is paid by the time that was asked for, and by that since the call before in which
 * nothing was. Not by what the call comes late: calls that take all of a slow machine would pay for themselves.
 */
static __always_inline u64 hls_charge_call(hls_t *h, u32 s, u64 owed_ns, u64 asked_at, u64 asked_ns)
{
	u64 called_at = in_register(&h->scheduler[s])->called_at, pace_ns = hls_pace_ns(h);
	u64 paid_ns = ((s64)asked_ns > 0 ? asked_ns : 0) + (asked_at > called_at ? asked_at - called_at : 0);
	owed_ns = pace_ns + (owed_ns > paid_ns ? owed_ns - paid_ns : 0);
	if (unlikely(owed_ns > HLS_BURST * pace_ns))
		hls_report_violation(h, s, HLS_VIOLATION_TOO_OFTEN);
	return owed_ns;
}

/* The grant hook of s has set a slice. */
static __always_inline void hls_charge_slice(hls_t *h, u32 s)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	sched->owed_for_slices_ns = hls_charge_call(h, s, sched->owed_for_slices_ns, h->now_ns, h->slice_ns);
}

/* The timer of s, which was due at `at_ns`, is to call it. */
static __always_inline void hls_charge_timer(hls_t *h, u32 s, u64 at_ns)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	if (sched->policy < HLS_FIRST_LOADED)
		return;
	h->hook = HLS_HOOK_timer;
	h->hook_about = 0;
	u64 asked_at = sched->asked_at;
	sched->owed_for_timer_ns = hls_charge_call(h, s, sched->owed_for_timer_ns, asked_at, at_ns - asked_at);
}

/* A thread tells s something, which may set its timer: that is not of its own will, and pays for a call. */
static __always_inline void hls_credit_message(hls_t *h, u32 s)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	u64 owed_ns = sched->owed_for_timer_ns, pace_ns = hls_pace_ns(h);
	sched->owed_for_timer_ns = owed_ns > pace_ns ? owed_ns - pace_ns : 0;
}

/* The timer hook of s has named HLS_MAX_BATCH of its children, and another one. Each can be named once at a time. */
static __always_inline void hls_check_batch(hls_t *h, u32 s)
{
	const scheduler_t *sched = &h->scheduler[s];
	if (sched->policy >= HLS_FIRST_LOADED && sched->nr_children <= HLS_MAX_BATCH)
		hls_report_violation(h, s, HLS_VIOLATION_TOO_OFTEN);
}

/* Whether v may be granted `cpu` by s. */
static __always_inline bool hls_is_grantable(const hls_t *h, u32 s, u32 v, u32 cpu)
{
	if (v >= HLS_MAX_VPS)
		return false;
	const vp_t *vp = in_register(&h->vp[v]);
	return vp->parent == s && vp->state == HLS_READY && (vp->flags & HLS_USED) &&
	       !(vp->flags & HLS_THROTTLED) && hls_usable(vp, cpu);
}

/* Whether a child of s waits that could have `cpu`. */
HLS_GLOBAL_FUNC bool hls_has_grantable(hls_t *h __arg_arena, u32 s, u32 cpu)
{
	u32 v = h->scheduler[s].first_child;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		if (hls_is_grantable(h, s, v, cpu))
			return true;
		v = h->vp[v].sib_next;
	}
	return false;
}

/* What the grant hook of s has chosen, if that is what it may. */
static __always_inline u32 hls_checked_answer_of_grant(hls_t *h, u32 s, u32 cpu, u32 v)
{
	if (likely(v && hls_is_grantable(h, s, v, cpu))) {
		if (h->slice_ns != HLS_NEVER)
			hls_charge_slice(h, s);
		return unlikely(h->scheduler[s].violation) ? 0 : v;
	}
	if (v)
		hls_report_violation(h, s, HLS_VIOLATION_CHOSE_WRONG);
	else if (hls_has_grantable(h, s, cpu))
		hls_report_violation(h, s, HLS_VIOLATION_CHOSE_NONE);
	return 0;
}

/* The same of a timer hook, whose VP asks for a CPU. */
static __always_inline u32 hls_checked_answer_of_timer(hls_t *h, u32 s, u32 about, u32 v)
{
	(void)about;
	if (v && (v >= HLS_MAX_VPS || h->vp[v].parent != s))
		hls_report_violation(h, s, HLS_VIOLATION_CHOSE_WRONG);
	return h->scheduler[s].violation ? 0 : v;
}

/* What a hook said against a VP, as the negative number that it must be. */
static __always_inline s64 hls_checked_answer_of_register_vp(hls_t *h, u32 s, u32 v, s64 answer)
{
	(void)h, (void)s, (void)v;
	return answer > 0 ? -HLS_E_PARAM : answer;
}

static __always_inline bool hls_checked_answer_of_check_invariants(hls_t *h, u32 s, u32 about, bool hold)
{
	(void)about;
	if (!hold)
		hls_report_violation(h, s, HLS_VIOLATION_INVARIANTS);
	return true;
}

/* Any answer to these will do. */
static __always_inline bool hls_checked_answer_of_preempts(hls_t *h, u32 s, u32 ready, bool answer)
{
	(void)h, (void)s, (void)ready;
	return answer;
}

static __always_inline s64 hls_checked_answer_of_message(hls_t *h, u32 s, u32 v, s64 answer)
{
	(void)h, (void)s, (void)v;
	return answer;
}

/* Says that a scheduler has VPs to request (or to withdraw); settle_pending() looks after it. */
static __always_inline void add_pending(hls_t *h, u32 s)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	if (sched->in_pending)
		return;
	sched->in_pending = 1;
	sched->pending_next = h->pending;
	h->pending = s;
}

/*
 * What hooks call, as those of loaded policies do: for a child of the scheduler at hand, in the state for it. With
 * anything else the counts of the core would be wrong from then on.
 */
static __always_inline void hls_report_wrong_target(hls_t *h)
{
	hls_report_violation(h, h->hook_scheduler, HLS_VIOLATION_WRONG_TARGET);
}

static __always_inline bool hls_is_child(const hls_t *h, u32 v, u8 state)
{
	return v < HLS_MAX_VPS && h->vp[v].parent == h->hook_scheduler && h->vp[v].state == state &&
	       h->hook < HLS_FIRST_LOOKING_HOOK;
}

/* It may be another child than the hook is about: then fewer want a CPU than have asked for one. */
static __always_inline void checked_hls_throttle(hls_t *h, u32 v)
{
	if (likely(hls_is_child(h, v, HLS_READY) && !(h->vp[v].flags & HLS_THROTTLED))) {
		hls_throttle(h, v);
		add_pending(h, h->hook_scheduler);
	} else {
		hls_report_wrong_target(h);
	}
}

static __always_inline void checked_hls_unthrottle(hls_t *h, u32 v)
{
	if (likely(hls_is_child(h, v, HLS_READY) && (h->vp[v].flags & HLS_THROTTLED)))
		hls_unthrottle(h, v);
	else
		hls_report_wrong_target(h);
}

static __always_inline void checked_hls_recheck(hls_t *h, u32 v)
{
	if (likely(hls_is_child(h, v, HLS_RUNNING)))
		hls_recheck(h, v);
	else
		hls_report_wrong_target(h);
}

/* A time before that of the first clock is over; as a key it would come before all others, and hold them up. */
static __always_inline void checked_hls_set_timer(hls_t *h, u32 s, u64 at_ns)
{
	if (unlikely(s != h->hook_scheduler)) {
		hls_report_wrong_target(h);
		return;
	}
	h->scheduler[s].asked_at = h->now_ns;
	hls_set_timer(h, s, (s64)at_ns < 0 && at_ns != HLS_NEVER ? h->now_ns : at_ns);
}

#endif
