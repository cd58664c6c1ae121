/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard between the core and a loaded policy. It assumes that the policy's author means well but makes mistakes.
 * Around each hook of the policy the guard bounds the steps, restores the time, and checks the answer. A scheduler is
 * faulty if its policy violates the contract: none of its hooks is called again, and the next hls_timers(), which is
 * due at once, gives it the fallback (replace.c). The guard does not stop a policy that is built to do harm: the
 * verifier keeps such a policy out of the kernel's memory, and nothing keeps it out of the domain's.
 *
 * In the files of loaded policies, FUNCTION() stands for checked_FUNCTION(), which is here or in guard_queues.h
 * (HLS_GUARD).
 */
#ifndef HLS_GUARD_H
#define HLS_GUARD_H

#include "policy.h"

/* V(number, NAME, "what the policy did"). The numbers are part of the tape format, and never used again. */
#define HLS_VIOLATIONS(V)                                                                                         \
	V(1, CHOSE_WRONG, "its grant hook chose a VP that is not a ready child, or that cannot use the CPU")      \
	V(2, CHOSE_NONE, "its grant hook chose no VP while a ready child could use the CPU")                      \
	V(3, TOO_LONG, "one of its hooks took more steps than it may")                                            \
	V(4, TOO_OFTEN, "it had itself called more often than every 10 us, or than the machine can bear")         \
	V(5, CHANGED_TIME, "one of its hooks changed the time")                                                   \
	V(6, INVARIANTS, "its own invariants did not hold")                                                       \
	V(7, WRONG_TARGET, "one of its hooks throttled, unthrottled, rechecked or set a timer where it must not") \
	V(8, OUT_OF_ORDER, "it is strict, and a ready child waited beside a running one that it preempts")        \
	V(9, REFUSED, "its register hook refused a child that it had accepted before")

#define HLS_VIOLATION_NUMBER(number, name, doc) HLS_VIOLATION_##name = number,
enum hls_violation { HLS_NO_VIOLATION, HLS_VIOLATIONS(HLS_VIOLATION_NUMBER) };

/*
 * The most rounds that the loops of a loaded policy may make in one call of a hook, all together; and in a check of its
 * invariants, which is made in tests, and may be about the greatest possible number of children.
 */
#define HLS_HOOK_STEPS 4096
#define HLS_CHECK_STEPS (4 * HLS_MAX_VPS)

/*
 * A loaded policy has itself called by timers and by slices. It may do so HLS_BURST times in a row, plus the calls that
 * it takes to name each of its children, a batch at a call; in the long run, only once in a pace: HLS_LEAST_PACE, or
 * more if the platform says so, for a slow machine (hls_set_pace()).
 */
#define HLS_LEAST_PACE HLS_US(10)
#define HLS_MOST_PACE HLS_MS(1)
#define HLS_BURST 100

/* Takes one of the steps that the running hook has left; false: none is left. This is can_loop in loaded policies. */
static __always_inline bool hls_may_step(hls_t *h)
{
	if (!h->steps)
		return false;
	h->steps--;
	return can_loop;
}
#define checked_port_can_loop() hls_may_step(h)

/*
 * Whether a scheduler waits for the fallback. One that already has it keeps the violation, as the reason, and is not
 * faulty: its policy is a built-in one.
 */
static __always_inline bool hls_is_faulty(const scheduler_t *sched)
{
#ifdef HLS_LOADED
	return unlikely(sched->violation) && sched->policy >= HLS_FIRST_LOADED;
#else
	(void)sched; /* A build without loaded policies has none that is faulty. */
	return false;
#endif
}

/* Makes s faulty. Only the first violation is kept. */
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

/* Called before a hook of s, about a VP or a CPU; false: s is faulty, and the hook must not be called. */
static __always_inline bool hls_begin_hook(hls_t *h, u32 s, u32 hook, u32 about)
{
	h->hook = hook;
	h->hook_scheduler = s;
	h->hook_about = about;
	h->steps = hook == HLS_HOOK_check_invariants ? HLS_CHECK_STEPS : HLS_HOOK_STEPS;
	h->hook_at_ns = h->now_ns;
	return !h->scheduler[s].violation;
}

/* Called after a hook of s. */
static __always_inline void hls_end_hook(hls_t *h, u32 s)
{
	if (unlikely(h->now_ns != h->hook_at_ns)) {
		h->now_ns = h->hook_at_ns;
		hls_report_violation(h, s, HLS_VIOLATION_CHANGED_TIME);
	}
	if (unlikely(!h->steps))
		hls_report_violation(h, s, HLS_VIOLATION_TOO_LONG);
}

/* What a policy pays for a call that it causes. */
static __always_inline u64 hls_pace_ns(const hls_t *h)
{
	return h->pace_ns ? h->pace_ns : HLS_LEAST_PACE;
}

/*
 * Charges s, which has a loaded policy, for a call that the policy causes: at `asked_at` it asked to be called asked_ns
 * later. The call costs a pace. The time that the policy asked to wait pays for it, and so does the time between its
 * last call and `asked_at`. The time by which the call is late pays nothing: otherwise calls that use up a slow machine
 * would pay for themselves. Returns what s owes now: for owed_ns and this call.
 */
static __always_inline u64 hls_charge_call(hls_t *h, u32 s, u64 owed_ns, u64 asked_at, u64 asked_ns)
{
	const scheduler_t *sched = in_register(&h->scheduler[s]);
	u64 called_at = sched->called_at, pace_ns = hls_pace_ns(h);
	u64 paid_ns = ((s64)asked_ns > 0 ? asked_ns : 0) + (asked_at > called_at ? asked_at - called_at : 0);
	owed_ns = pace_ns + (owed_ns > paid_ns ? owed_ns - paid_ns : 0);
	if (unlikely(owed_ns > (HLS_BURST + sched->nr_children / HLS_MAX_BATCH) * pace_ns))
		hls_report_violation(h, s, HLS_VIOLATION_TOO_OFTEN);
	return owed_ns;
}

/* Charges s for the slice that its grant hook has set. */
static __always_inline void hls_charge_slice(hls_t *h, u32 s)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	sched->owed_for_slices_ns = hls_charge_call(h, s, sched->owed_for_slices_ns, h->now_ns, h->slice_ns);
}

/*
 * Charges s for its timer, which was due at `at_ns` and is about to call it, perhaps for the rest of a batch. The time
 * from its last call until then pays for slices, too: the next one is charged as if only the time since this call had
 * passed.
 */
static __always_inline void hls_charge_timer(hls_t *h, u32 s, u64 at_ns)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	if (sched->policy < HLS_FIRST_LOADED)
		return;
	h->hook = HLS_HOOK_timer;
	h->hook_about = 0;
	u64 asked_at = sched->asked_at, owed_ns = sched->owed_for_slices_ns;
	u64 waited_ns = at_ns > sched->called_at ? at_ns - sched->called_at : 0;
	sched->owed_for_slices_ns = owed_ns > waited_ns ? owed_ns - waited_ns : 0;
	sched->owed_for_timer_ns = hls_charge_call(h, s, sched->owed_for_timer_ns, asked_at, at_ns - asked_at);
}

/*
 * Takes a pace off what s owes for its timer: at a thread's message, which may set the timer, since the policy does not
 * cause that call; and at the end of a slice, which has its own account, since a policy may then have more work than
 * one hook does.
 */
static __always_inline void hls_credit_timer(hls_t *h, u32 s)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	u64 owed_ns = sched->owed_for_timer_ns, pace_ns = hls_pace_ns(h);
	sched->owed_for_timer_ns = owed_ns > pace_ns ? owed_ns - pace_ns : 0;
}

/* Whether s may grant `cpu` to v. */
static __always_inline bool hls_is_grantable(const hls_t *h, u32 s, u32 v, u32 cpu)
{
	if (v >= HLS_MAX_VPS)
		return false;
	const vp_t *vp = in_register(&h->vp[v]);
	return vp->parent == s && vp->state == HLS_READY && (vp->flags & HLS_USED) &&
	       !(vp->flags & HLS_THROTTLED) && hls_usable(vp, cpu);
}

/*
 * hls_checked_answer_of_HOOK(): the answer of a hook of s about a VP or a CPU. If the contract does not allow the
 * answer, returns another one, and makes s faulty (except for register_vp).
 */
static __always_inline u32 hls_checked_answer_of_grant(hls_t *h, u32 s, u32 cpu, u32 v)
{
	if (likely(v && hls_is_grantable(h, s, v, cpu))) {
		if (h->slice_ns != HLS_NEVER)
			hls_charge_slice(h, s);
		return unlikely(h->scheduler[s].violation) ? 0 : v;
	}
	if (v)
		hls_report_violation(h, s, HLS_VIOLATION_CHOSE_WRONG);
	else if (wanting_any(h, s, cpu))
		hls_report_violation(h, s, HLS_VIOLATION_CHOSE_NONE);
	return 0;
}

static __always_inline u32 hls_checked_answer_of_timer(hls_t *h, u32 s, u32 about, u32 v)
{
	(void)about;
	if (v && (v >= HLS_MAX_VPS || h->vp[v].parent != s))
		hls_report_violation(h, s, HLS_VIOLATION_CHOSE_WRONG);
	return h->scheduler[s].violation ? 0 : v;
}

/* An error, the reason against a child, must be negative. */
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

/* Any answer is allowed. */
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

/*
 * The child v leaves its scheduler, but the policy has left v in the search tree of a queue: no other scheduler may
 * find v there.
 */
static __always_inline void hls_take_back(hls_t *h, u32 v)
{
	h->queue_node[v].height = 0;
	if (h->scheduler[h->vp[v].parent].policy >= HLS_FIRST_LOADED)
		hls_report_violation(h, h->vp[v].parent, HLS_VIOLATION_WRONG_TARGET);
}

/* The running hook has called a function of the contract for a VP, scheduler or level that is not its own. */
static __always_inline void hls_report_wrong_target(hls_t *h)
{
	hls_report_violation(h, h->hook_scheduler, HLS_VIOLATION_WRONG_TARGET);
}

/* Whether the running hook may throttle, unthrottle or recheck v: a child of its scheduler, in the state for it. */
static __always_inline bool hls_is_child(const hls_t *h, u32 v, u8 state)
{
	return v < HLS_MAX_VPS && h->vp[v].parent == h->hook_scheduler && h->vp[v].state == state &&
	       !HLS_HOOK_LOOKS(h->hook);
}

static __always_inline void checked_hls_throttle(hls_t *h, u32 v)
{
	if (likely(hls_is_child(h, v, HLS_READY) && !(h->vp[v].flags & HLS_THROTTLED)))
		hls_throttle(h, v);
	else
		hls_report_wrong_target(h);
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

/* A time with the highest bit set counts as past: as a key of the heap it would stay before all others. */
static __always_inline void checked_hls_set_timer(hls_t *h, u32 s, u64 at_ns)
{
	if (unlikely(s != h->hook_scheduler)) {
		hls_report_wrong_target(h);
		return;
	}
	h->scheduler[s].asked_at = h->now_ns;
	hls_set_timer(h, s, (s64)at_ns < 0 && at_ns != HLS_NEVER ? h->now_ns : at_ns);
}

static __always_inline void checked_hls_tell_parents(hls_t *h, u32 s, u32 what, u64 value)
{
	if (likely(s == h->hook_scheduler && what < HLS_NR_TOLD && !HLS_HOOK_LOOKS(h->hook)))
		hls_tell_parents(h, s, what, value);
	else
		hls_report_wrong_target(h);
}

static __always_inline u64 checked_hls_told(hls_t *h, u32 v, u32 what)
{
	if (likely(v < HLS_MAX_VPS && what < HLS_NR_TOLD))
		return hls_told(h, v, what);
	hls_report_wrong_target(h);
	return 0;
}

#endif
