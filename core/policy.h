/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The contract for policies: the notifications of HLS (RTSS 2001, Table 3) as C functions.
 *
 * THE RULES for whoever writes a policy
 *
 *  1. A policy is a state machine over its own words (hls_scheduler.word, hls_vp.word) and parameters. It reads the
 *     time from h->now_ns, never blocks, and calls nothing but what this file, heap.h, list.h and levels.h offer.
 *  2. A child VP is WAITING, READY or RUNNING; the infrastructure sets the state, then calls the hook. A READY VP that
 *     may not run now (no budget) is said to be so by hls_throttle(), and may again by hls_unthrottle().
 *  3. A scheduler holds a CPU from the moment that its grant hook returns a VP until that VP is released or revoked. So
 *     the children that are RUNNING are exactly the CPUs that it holds; nr_ready and nr_running say how many.
 *  4. Hooks of one scheduler never run at the same time. The infrastructure's lock is held: no hook may wait.
 *  5. For the BPF verifier, the counter of every loop starts at opaque(0), and the loop's condition has a named bound
 *     and can_loop.
 *  6. preempts and check_invariants only look. A hook throttles, unthrottles and rechecks children of its own scheduler
 *     only, each in the state for it, and unregister_vp leaves its VP in no queue.
 *
 *  hook (Table 3)       called when                             default (hls_no_...)
 *  init, deinit         an instance is created, destroyed       nothing: hls_no_init for both
 *  register_vp          a child is added; may refuse it         accept
 *  unregister_vp        a child goes; it is WAITING             nothing
 *  request              a child became READY                    none: each policy has one
 *  release              a child became WAITING after it was     none
 *                       RUNNING for used_ns
 *  withdraw             a READY child became WAITING (Table 3   none
 *                       calls this a release, too)
 *  grant                the scheduler has a CPU, and children   none
 *                       that are READY and not throttled, and
 *                       must say which gets it (0: none of
 *                       them); may set h->slice_ns, after
 *                       which the child is revoked
 *  revoke               a child is off its CPU after used_ns    none
 *                       and READY again
 *  preempts             whether a READY child should take the   no
 *                       CPU of a RUNNING one at once
 *  timer                hls_set_timer()'s time has come;        nothing, 0
 *                       called again until it returns 0, else
 *                       the VP that may now want a CPU
 *  message              a thread, or someone about its VP,      -HLS_E_UNKNOWN
 *                       tells the scheduler something, in the
 *                       policy's own terms; its answer, if it
 *                       is negative an enum hls_error
 *  check_invariants     whether its own state is sound          yes
 *
 * A parameter of a VP that is changed (hls_message(), Table 3's Msg) needs no code: the policy sees its child withdrawn
 * or released, unregistered with the old parameters, registered with the new ones, and requested again. What else
 * threads may say is in the policy's list of messages. A message may throttle a READY child, have a RUNNING one
 * rechecked, and set the timer; one that makes a throttled child able to run sets the timer to now, which does it.
 */
#ifndef HLS_POLICY_H
#define HLS_POLICY_H

#include "heap.h"
#include "hls.h"
#include "list.h"

/* Units, for parameters and constants. */
#define HLS_US(n) ((u64)(n) * 1000)
#define HLS_MS(n) ((u64)(n) * 1000000)
#define HLS_S(n) ((u64)(n) * 1000000000)
enum hls_unit { HLS_TIME, HLS_COUNT };
#define HLS_REQUIRED (~0ULL) /* in place of a default: the parameter must be given */

/*
 * A policy lists its parameters as P(CONSTANT, "name", unit, default, least, greatest, "what it is"); from the list
 * come the index constants in C, the checks of values, `hls policies`, and the attributes of the hierarchy file.
 */
#define HLS_PARAM_INDEX(constant, name, unit, def, least, greatest, doc) constant,
#define HLS_PARAM_RANGE(constant, name, unit, def, least, greatest, doc) \
	case constant:                                                   \
		return hls_in_range(value, least, greatest);

static __always_inline bool hls_in_range(u64 value, u64 least, u64 greatest)
{
	return value >= least && value <= greatest;
}

/* The messages that a policy takes: M(CONSTANT, FIELDS, "name", "what it is"), FIELDS a list like those above. */
#define HLS_MESSAGE_INDEX(constant, fields, name, doc) constant,

/* What a policy says of itself; a constant NAME_policy. */
struct hls_policy {
	const char *name;   /* in hierarchy files */
	const char *what;   /* in a few words */
	const char *source; /* paper and section */
	/*
	 * Of a policy that is loaded: what it needs of its place, and what it promises there, in the language of
	 * docs/guarantees.md. The calculus has those of the others. NULL: nothing.
	 */
	const char *accepts, *provides;
	u32 state_version; /* of its words: builds with the same one understand each other's */
	u32 most_children; /* 0: any number */
	bool joins;        /* it holds VPs of several parents and requests all of them at once */
	/* No READY child ever waits beside a RUNNING one that it would preempt. */
	bool strict;
	/* Its hooks are short enough to be part of the loops that every switch goes through; for built-in ones. */
	bool near;
};

/* A policy's own state in a scheduler and in a VP. */
#define POLICY_STATE(type, s) ((type __arena *)in_register(&h->scheduler[s])->word)
#define POLICY_VP(type, v) ((type __arena *)in_register(&h->vp[v])->word)
#define POLICY_TEXT(number) #number
#define POLICY_HOLDS(type, what, words)                       \
	_Static_assert(sizeof(type) <= sizeof(u64) * (words), \
		       what " state too large: it has " POLICY_TEXT(words) " words of 8 bytes")
#define POLICY_FITS(sched_type, vp_type)                            \
	POLICY_HOLDS(sched_type, "scheduler", HLS_SCHEDULER_WORDS); \
	POLICY_HOLDS(vp_type, "VP", HLS_VP_WORDS)

/* Whether a READY VP can make use of this CPU. */
static __always_inline bool hls_usable(const vp_t *vp, u32 cpu)
{
	return ((vp->usable >> cpu) & 1) != 0;
}

/* Whether a CPU of the machine is not there now. */
static __always_inline bool hls_is_offline(const hls_t *h, u32 cpu)
{
	return ((h->offline >> cpu) & 1) != 0;
}

/* Leaves a record behind for whoever reads them. */
static __always_inline void hls_write_record(hls_t *h, u32 v, u32 cpu, u32 kind, u64 a, u64 b)
{
	struct hls_record __arena *r = &h->record[h->nr_records % HLS_MAX_RECORDS];
	r->at_ns = h->now_ns;
	r->vp = v;
	r->cpu = cpu;
	r->kind = kind;
	r->a = a;
	r->b = b;
	asm volatile("" ::: "memory"); /* User space may be reading: the record first, then that it is there. */
	h->nr_records++;
}

HLS_GLOBAL_FUNC u32 hls_record_change(hls_t *h __arg_arena, u32 v, u32 kind, u64 a, u64 b)
{
	hls_write_record(h, v, h->vp[v].cpu, kind, a, b);
	return 0;
}

/* Records a change of a VP's state if it is watched. */
static __always_inline void hls_emit(hls_t *h, u32 v, u32 kind, u64 a, u64 b)
{
	if (unlikely(h->vp[v].flags & HLS_WATCHED))
		hls_record_change(h, v, kind, a, b);
}

/* The READY VP v is out of budget. */
static __always_inline void hls_throttle(hls_t *h, u32 v)
{
	h->vp[v].flags |= HLS_THROTTLED;
	h->scheduler[h->vp[v].parent].nr_ready--;
	hls_emit(h, v, HLS_REC_THROTTLE, 0, 0);
}

/* The throttled VP v may run again; a timer hook returns it then. */
static __always_inline void hls_unthrottle(hls_t *h, u32 v)
{
	h->vp[v].flags &= ~HLS_THROTTLED;
	h->scheduler[h->vp[v].parent].nr_ready++;
}

/* Calls the timer hook of s at `at_ns`, or, with HLS_NEVER, not any more. Replaces the time set before. */
static __always_inline void hls_set_timer(hls_t *h, u32 s, u64 at_ns)
{
	scheduler_t *sched = &h->scheduler[s];
	if (sched->timer_at == at_ns)
		return;
	if (sched->timer_at != HLS_NEVER)
		heap_remove(h->timer_node, &h->timers, s);
	sched->timer_at = at_ns;
	if (at_ns != HLS_NEVER)
		heap_push(h->timer_node, &h->timers, s, at_ns, h->seq++);
}

/* CPU `cpu` is to decide anew at `level`. */
static __always_inline void hls_mark(hls_t *h, u32 cpu, u32 level)
{
	h->cpu[cpu].resched |= 1ULL << level;
	h->kick |= 1ULL << cpu;
}

/* The RUNNING VP v is to be charged, revoked and, maybe, granted again at once. */
static __always_inline void hls_recheck(hls_t *h, u32 v)
{
	hls_mark(h, h->vp[v].cpu, h->vp[v].level);
}

/* The first VP of the queue that can use the CPU; 0: none. */
static __always_inline u32 hls_first_usable(hls_t *h, const list_t *list, u32 cpu)
{
	u32 v = list->head;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		if (likely(hls_usable(&h->vp[v], cpu)))
			break;
		v = h->node[v].next;
	}
	return v;
}

HLS_GLOBAL_FUNC u32 hls_search_usable(hls_t *h __arg_arena, u32 root, u32 cpu)
{
	u32 least = 0, v = root;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		if (hls_usable(&h->vp[v], cpu) && (!least || heap_before(&h->node[v], &h->node[least])))
			least = v;
		v = heap_next(h->node, v);
	}
	return least;
}

/* The least VP of the heap that can use the CPU; 0: none. */
static __always_inline u32 hls_least_usable(hls_t *h, u32 root, u32 cpu)
{
	return !root || likely(hls_usable(in_register(&h->vp[root]), cpu)) ? root : hls_search_usable(h, root, cpu);
}

/* Takes used_ns off the rest of a turn; says whether the turn is over: used up, or given up by a yield. */
static __always_inline bool hls_turn_over(hls_t *h, u32 v, u64 __arena *left_ns, u64 used_ns)
{
	bool over = used_ns >= *left_ns || (h->vp[v].flags & HLS_YIELDED);
	h->vp[v].flags &= ~HLS_YIELDED;
	if (!over)
		*left_ns -= used_ns;
	return over;
}

/* floor(a * b / c) without overflow on the way; c > 0 and the result must fit. */
HLS_GLOBAL_FUNC u64 hls_mul_div_floor(u64 a, u64 b, u64 c)
{
	if (likely(!((a | b) >> 32)))
		return a * b / c;
	u64 quotient = 0, rest = 0;
	for (s64 i = opaque(63); i >= 0 && can_loop; i--) {
		/* quotient and rest of (the high bits of a) * b, doubled, plus the next bit's b */
		u64 twice = rest >= c - rest ? rest - (c - rest) : rest + rest;
		quotient = 2 * quotient + (rest >= c - rest);
		rest = twice;
		if ((a >> i) & 1) {
			u64 add = b % c;
			quotient += b / c + (rest >= c - add);
			rest = rest >= c - add ? rest - (c - add) : rest + add;
		}
	}
	return quotient;
}

/* The stated defaults of hooks that a policy does not need. */
static __always_inline void hls_no_init(hls_t *h, u32 s)
{
	(void)h, (void)s;
}

static __always_inline s64 hls_no_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)h, (void)s, (void)v;
	return 0;
}

static __always_inline void hls_no_unregister_vp(hls_t *h, u32 s, u32 v)
{
	(void)h, (void)s, (void)v;
}

static __always_inline bool hls_no_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)h, (void)s, (void)ready, (void)running;
	return false;
}

static __always_inline u32 hls_no_timer(hls_t *h, u32 s)
{
	(void)h, (void)s;
	return 0;
}

static __always_inline s64 hls_no_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	(void)h, (void)s, (void)v, (void)message, (void)payload;
	return -HLS_E_UNKNOWN;
}

static __always_inline bool hls_no_check_invariants(hls_t *h, u32 s)
{
	(void)h, (void)s;
	return true;
}

#endif
