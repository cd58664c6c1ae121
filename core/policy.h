/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The contract between the infrastructure and a policy: the notifications of HLS (RTSS 2001, Table 3) as C functions,
 * the hooks of a policy. A policy is one file with a `static const struct hls_policy NAME_policy` at its end; the
 * members of this struct are the hooks, and an absent hook means what the table below says.
 *
 * THE RULES for authors of policies
 *
 *  1. A policy is a state machine over its own words (hls_scheduler.word, hls_vp.word) and parameters. It reads the
 *     time from h->now_ns, never blocks, and calls nothing but what this file, queue.h, heap.h, list.h, levels.h,
 *     budget.h and virtual_time.h offer.
 *  2. A child VP is WAITING, READY or RUNNING. The infrastructure changes the state first and calls the hook then. A
 *     policy throttles a READY VP that may not run now (it is out of budget) by hls_throttle(), and ends that by
 *     hls_unthrottle().
 *  3. A scheduler holds a CPU from the moment that its grant hook returns a VP until that VP is released or revoked.
 *     So the scheduler holds as many CPUs as it has RUNNING children; nr_ready and nr_running count the children.
 *  4. Two hooks of one scheduler never run at the same time. The infrastructure holds its lock while a hook runs: no
 *     hook may wait.
 *  5. For the BPF verifier, the counter of every loop starts at opaque(0), and the loop's condition has a named bound
 *     and can_loop.
 *  6. preempts and check_invariants change nothing. The other hooks throttle, unthrottle and recheck only children of
 *     their own scheduler that are in the state for it. After unregister_vp, the VP is in no queue.
 *  7. Policies call no hooks of other policies. A scheduler tells about itself (its earliest deadline) by
 *     hls_tell_parents(), as soon as that changes. A policy reads what its child last told by hls_told(): in its
 *     request hook, and in the hook `told`, which the infrastructure calls when the event at hand is dealt with.
 *
 *  hook (Table 3)       called when                               if the policy has none
 *  init, deinit         a scheduler is created, destroyed         nothing happens
 *  register_vp          a child is added; the hook may refuse     the child is accepted
 *                       it by an enum hls_error, negated
 *  unregister_vp        a child goes; it is WAITING               nothing happens
 *  request              a child became READY                      every policy has one
 *  release              a child became WAITING after it was       nothing happens
 *                       RUNNING for used_ns
 *  withdraw             a READY child became WAITING (Table 3     every policy has one
 *                       calls this a release, too)
 *  grant                the scheduler holds a CPU for which it    every policy has one
 *                       is to choose: the hook returns a READY
 *                       child that is not throttled and can use
 *                       the CPU; 0: there is none. It may set
 *                       h->slice_ns, after which the
 *                       infrastructure revokes the child
 *  revoke               a child lost its CPU after used_ns and    every policy has one
 *                       is READY again
 *  preempts             the infrastructure asks whether a READY   no
 *                       child should take the CPU of a RUNNING
 *                       one at once
 *  timer                the time given to hls_set_timer() has     0
 *                       come. Called until it returns 0; any
 *                       other result is a VP that may want a
 *                       CPU now
 *  message              the scheduler is told something about     -HLS_E_UNKNOWN
 *                       a VP, by its thread or by another, in
 *                       the policy's own terms. Returns the
 *                       answer; if negative, an enum hls_error
 *  told                 a child that is READY or RUNNING has      nothing happens
 *                       told something new of itself. A READY
 *                       one that is not throttled afterwards is
 *                       looked at as if it had just become READY
 *  paged                the scheduler has other pages than        nothing happens
 *                       before, zeroed, or has none now
 *  check_invariants     the infrastructure asks whether the       yes
 *                       policy's state is sound
 *
 * Changing a parameter of a VP (hls_set_param(), Table 3's Msg) needs no code in the policy: the child is withdrawn or
 * released, unregistered with the old parameters, registered with the new ones, and requested again. Other messages of
 * threads are in the policy's list of messages. A message hook may throttle a READY child, recheck a RUNNING one, and
 * set the timer. If the message makes a throttled child able to run, the hook sets the timer to now, so that the child
 * is looked at.
 */
#ifndef HLS_POLICY_H
#define HLS_POLICY_H

#include "core.h"
#include "queue.h"
#include "wanting.h"

/* Units, for parameters and constants. */
#define HLS_US(n) ((u64)(n) * 1000)
#define HLS_MS(n) ((u64)(n) * 1000000)
#define HLS_S(n) ((u64)(n) * 1000000000)
enum hls_unit { HLS_TIME, HLS_COUNT };
#define HLS_REQUIRED (~0ULL) /* in place of a preset: the parameter must be given */

/*
 * A policy lists its parameters as P(CONSTANT, "name", unit, preset, least, greatest, "what it is"): the parameters of
 * its schedulers in NAME_PARAMS(P), of each child in NAME_VP_PARAMS(P). From the lists come the index constants in C,
 * the checks of values, `hls policies`, and the attributes of the hierarchy file.
 */
#define HLS_PARAM_INDEX(constant, name, unit, def, least, greatest, doc) constant,
#define HLS_PARAM_RANGE(constant, name, unit, def, least, greatest, doc) \
	case constant:                                                   \
		return hls_in_range(value, least, greatest);

static __always_inline bool hls_in_range(u64 value, u64 least, u64 greatest)
{
	return value >= least && value <= greatest;
}

/*
 * A policy lists the messages that it takes in NAME_MESSAGES(M) as M(CONSTANT, FIELDS, "name", "what it says"), where
 * FIELDS is a list like those above.
 */
#define HLS_MESSAGE_INDEX(constant, fields, name, doc) constant,

/*
 * The hooks. From this list come the members of struct hls_policy, the hooks' numbers, and dispatch.h, where the core
 * calls hooks by policy_HOOK().
 *
 *   EVENT(number, hook, need, about, parameters, arguments, type, value)      the policy is told something
 *   QUESTION(number, hook, need, about, parameters, arguments, type, value)   the policy answers
 *
 * `need`: a policy may lack an OPTIONAL hook, and a SMALL one, which needs little of the BPF stack in every policy. A
 * LONG one is like a SMALL one, but all policies together have much code for it, so that it is not inlined. `about` is
 * the VP or the CPU that a call is about. `type` is what policy_HOOK() returns; a QUESTION's `value` is the answer if
 * the policy lacks the hook, an EVENT always returns its `value`. The numbers are part of the tape format, and are
 * never used again for another hook.
 */
/* clang-format off */
#define HLS_HOOKS(EVENT, QUESTION) \
	EVENT(1, init, SMALL, 0, (hls_t *h __arg_arena, u32 s), (h, s), u32, 0) \
	EVENT(2, deinit, SMALL, 0, (hls_t *h __arg_arena, u32 s), (h, s), u32, 0) \
	QUESTION(3, register_vp, SMALL, v, (hls_t *h __arg_arena, u32 s, u32 v), (h, s, v), s64, 0) \
	EVENT(4, unregister_vp, SMALL, v, (hls_t *h __arg_arena, u32 s, u32 v), (h, s, v), u32, 0) \
	EVENT(5, request, REQUIRED, v, (hls_t *h __arg_arena, u32 s, u32 v), (h, s, v), \
	      bool, !(h->vp[v].flags & HLS_THROTTLED)) \
	EVENT(6, withdraw, REQUIRED, v, (hls_t *h __arg_arena, u32 s, u32 v), (h, s, v), u32, 0) \
	QUESTION(7, grant, REQUIRED, cpu, (hls_t *h __arg_arena, u32 s, u32 cpu), (h, s, cpu), u32, 0) \
	EVENT(8, revoke, REQUIRED, v, (hls_t *h __arg_arena, u32 s, u32 v, u64 used_ns), (h, s, v, used_ns), u32, 0) \
	EVENT(9, release, LONG, v, (hls_t *h __arg_arena, u32 s, u32 v, u64 used_ns), (h, s, v, used_ns), u32, 0) \
	QUESTION(10, timer, LONG, 0, (hls_t *h __arg_arena, u32 s), (h, s), u32, 0) \
	QUESTION(11, message, SMALL, v, \
		 (hls_t *h __arg_arena, u32 s, u32 v, u32 message, const params_t *payload __arg_arena), \
		 (h, s, v, message, payload), s64, hls_unknown_message(v, message, payload)) \
	QUESTION(12, preempts, SMALL, ready, (hls_t *h __arg_arena, u32 s, u32 ready, u32 running), \
		 (h, s, ready, running), bool, false) \
	QUESTION(13, check_invariants, SMALL, 0, (hls_t *h __arg_arena, u32 s), (h, s), bool, true) \
	EVENT(14, told, OPTIONAL, v, (hls_t *h __arg_arena, u32 s, u32 v), (h, s, v), u32, 0) \
	EVENT(15, paged, SMALL, 0, (hls_t *h __arg_arena, u32 s), (h, s), u32, 0)
/* clang-format on */

#define HLS_HOOK_NUMBER(number, hook, ...) HLS_HOOK_##hook = number,
enum hls_hook { HLS_HOOKS(HLS_HOOK_NUMBER, HLS_HOOK_NUMBER) };

/* Whether a hook only looks, and changes nothing. */
#define HLS_HOOK_LOOKS(hook) ((hook) == HLS_HOOK_preempts || (hook) == HLS_HOOK_check_invariants)

#define HLS_EVENT_MEMBER(number, hook, need, about, parameters, arguments, type, value) void(*hook) parameters;
#define HLS_QUESTION_MEMBER(number, hook, need, about, parameters, arguments, type, value) type(*hook) parameters;

/*
 * What is true of a policy: members of struct hls_policy. Rust reads them by these names (crates/hls-core,
 * properties.rs). P(name, of); `of` is the user's.
 */
/* clang-format off */
#define HLS_PROPERTIES(P, of) \
	/* Its scheduler holds VPs of several parents and requests all of them at once. */ \
	P(joins, of) \
	/* Its schedulers are given pages, by which processes talk to them (user_pages.h). */ \
	P(has_pages, of) \
	/* Each child is a slower processor; the first parameter of its VP is the speed in millionths. */ \
	P(slows, of) \
	/* No READY child ever waits beside a RUNNING one that it would preempt. */ \
	P(strict, of) \
	/* \
	 * The loops of a decision inline its hooks: for short hooks of built-in policies. For a policy of the \
	 * literature they inline SMALL hooks, and call the others without a switch over all policies. \
	 */ \
	P(inline_hooks, of) \
	/* It divides the time of one CPU: a scheduler below it has one VP unless the file says otherwise. */ \
	P(serial, of) \
	/* It tells a slower processor above it its deadlines; budgets are in that processor's time. */ \
	P(tells_deadlines, of) \
	/* The first parameter of a VP is its level, the greatest first. A VP that shares it is promised nothing. */ \
	P(promises_by_level, of) \
	/* \
	 * It plans when its children run, and refuses a child for which it finds no place: two times of a VP without \
	 * presets are the length of a slot, and how often there is one. \
	 */ \
	P(plans, of) \
	/* It takes every thread and lets none starve: its scheduler may be the default scheduler of a machine. */ \
	P(may_be_default, of) \
	/* Its scheduler may have the threads of hls, with presets as their parameters. */ \
	P(may_serve_hls, of)
/* clang-format on */

#define HLS_PROPERTY_MEMBER(name, of) bool name;
#define HLS_PROPERTY_NUMBER(name, of) HLS_PROPERTY_##name,
enum hls_property { HLS_PROPERTIES(HLS_PROPERTY_NUMBER, ) HLS_NR_PROPERTIES };

/*
 * A policy. Its hooks are called through no pointer: since its struct is static and constant, the compiler puts the
 * functions themselves in their place.
 */
struct hls_policy {
	const char *name;   /* in hierarchy files */
	const char *what;   /* what it does, in a few words */
	const char *source; /* paper and section */
	/*
	 * For a loaded policy: what it needs of its place in the hierarchy, and what it promises there, in the language
	 * of docs/guarantees.md. The calculus knows both for built-in policies. NULL: nothing.
	 */
	const char *accepts, *provides;
	u32 state_version; /* version of its words: builds with the same version understand each other's */
	u32 most_children; /* 0: any number */
	HLS_PROPERTIES(HLS_PROPERTY_MEMBER, )
	HLS_HOOKS(HLS_EVENT_MEMBER, HLS_QUESTION_MEMBER)
};

/*
 * What a policy keeps in its words: struct NAME in each of its schedulers, struct NAME_vp in each child.
 * POLICY_WORDS(NAME) checks that both fit, and makes the types NAME_t and NAME_vp_t. POLICY_STATE(NAME, s) and
 * POLICY_VP(NAME, v) are the words of the scheduler s and of the child v. They are macros: functions took more of the
 * BPF stack, though they were inlined.
 */
#define POLICY_STATE(name, s) ((name##_t *)in_register(&h->scheduler[s])->word)
#define POLICY_VP(name, v) ((name##_vp_t *)HLS_GUARD(hls_vp_words)(h, v))
#define hls_vp_words(h, v) (in_register(&(h)->vp[v])->word)

#define POLICY_WORDS(name)                            \
	POLICY_SCHEDULER_WORDS(name);                 \
	typedef struct name##_vp __arena name##_vp_t; \
	POLICY_FITS(struct name##_vp, "VP", HLS_VP_WORDS)

/* For a policy that keeps nothing in its children. */
#define POLICY_SCHEDULER_WORDS(name)          \
	typedef struct name __arena name##_t; \
	POLICY_FITS(struct name, "scheduler", HLS_SCHEDULER_WORDS)

#define POLICY_TEXT(number) #number
#define POLICY_FITS(type, what, words)                        \
	_Static_assert(sizeof(type) <= sizeof(u64) * (words), \
		       what " state too large: it has " POLICY_TEXT(words) " words of 8 bytes")

/* Whether the VP can use this CPU. */
static __always_inline bool hls_usable(const vp_t *vp, u32 cpu)
{
	return ((vp->usable >> cpu) & 1) != 0;
}

/* Whether the last sleep of the VP's thread was against its will: it waited for memory, or for a disk. */
static __always_inline bool hls_has_stalled(const vp_t *vp)
{
	return (vp->flags & HLS_STALLED) != 0;
}

/* Whether the CPU is offline. */
static __always_inline bool hls_is_offline(const hls_t *h, u32 cpu)
{
	return ((h->offline >> cpu) & 1) != 0;
}

/* Writes a record. */
static __always_inline void hls_write_record(hls_t *h, u32 v, u32 cpu, u32 kind, u64 a, u64 b)
{
	struct hls_record __arena *r = &h->record[h->nr_records % HLS_MAX_RECORDS];
	r->at_ns = h->now_ns;
	r->vp = v;
	r->cpu = cpu;
	r->kind = kind;
	r->a = a;
	r->b = b;
	asm volatile("" ::: "memory"); /* User space may be reading: the record comes first, then the count. */
	h->nr_records++;
}

/* Records a change of a VP's state, unless the VP will be back in its state in a moment (begin_change). */
HLS_GLOBAL_FUNC u32 hls_record_change(hls_t *h __arg_arena, u32 v, u32 kind, u64 a, u64 b)
{
	if (unlikely(h->vp[v].flags & HLS_CHANGING)) {
		if (kind == HLS_REC_RELEASE)
			return 0;
		if (kind == HLS_REC_REQUEST) {
			h->vp[v].flags &= ~HLS_CHANGING;
			return 0;
		}
	}
	hls_write_record(h, v, h->vp[v].cpu, kind, a, b);
	return 0;
}

/* Records a change of a VP's state if it is watched. */
static __always_inline void hls_emit(hls_t *h, u32 v, u32 kind, u64 a, u64 b)
{
	if (unlikely(h->vp[v].flags & HLS_WATCHED))
		hls_record_change(h, v, kind, a, b);
}

/* Puts s into the list of schedulers that may have to request or withdraw VPs; settle_pending() works it off. */
static __always_inline void add_pending(hls_t *h, u32 s)
{
	scheduler_t *sched = in_register(&h->scheduler[s]);
	if (sched->in_pending)
		return;
	sched->in_pending = HLS_PENDING;
	sched->pending_next = h->pending;
	h->pending = s;
}

/* The READY VP v gets no CPU until hls_unthrottle(), for the reason that is recorded. */
static __always_inline void throttle_as(hls_t *h, u32 v, u32 kind, u64 a)
{
	vp_t *vp = in_register(&h->vp[v]);
	vp->flags |= HLS_THROTTLED;
	in_register(&h->scheduler[vp->parent])->nr_ready--;
	wanting_remove(h, v);
	add_pending(h, vp->parent);
	if (unlikely(vp->flags & HLS_WATCHED))
		hls_record_change(h, v, kind, a, 0);
}

/*
 * The READY VP v is out of budget: it gets no CPU until hls_unthrottle(). v may be another child than the hook was
 * called about: then the scheduler has requested a VP too many.
 */
static __always_inline void hls_throttle(hls_t *h, u32 v)
{
	throttle_as(h, v, HLS_REC_THROTTLE, 0);
}

/* The throttled VP v may run again. A timer hook returns v then, so that a CPU is requested for it. */
static __always_inline void hls_unthrottle(hls_t *h, u32 v)
{
	vp_t *vp = in_register(&h->vp[v]);
	vp->flags &= ~HLS_THROTTLED;
	in_register(&h->scheduler[vp->parent])->nr_ready++;
	wanting_add(h, v);
}

/* Has the timer hook of s called at `at_ns`, in place of a time set before; HLS_NEVER: not at all. */
static __always_inline void hls_set_timer(hls_t *h, u32 s, u64 at_ns)
{
	scheduler_t *sched = &h->scheduler[s];
	if (sched->timer_at == at_ns)
		return;
	if (sched->timer_at != HLS_NEVER)
		heap_remove_in(h->timer_node, &h->timers, s);
	sched->timer_at = at_ns;
	if (at_ns != HLS_NEVER)
		heap_push_in(h->timer_node, &h->timers, s, at_ns, h->seq++);
}

/* `cpu` is to decide anew at `level` of its path. */
static __always_inline void hls_mark(hls_t *h, u32 cpu, u32 level)
{
	h->cpu[cpu].resched |= 1ULL << level;
	h->kick |= 1ULL << cpu;
}

/* Has the RUNNING VP v charged and revoked, and its scheduler asked again; the scheduler may choose v again at once. */
static __always_inline void hls_recheck(hls_t *h, u32 v)
{
	hls_mark(h, h->vp[v].cpu, h->vp[v].level);
}

/*
 * The first VP of the list that can use the CPU; 0: none. A walk, for a list that is never long: the first of a queue
 * of queue.h or levels.h is found without one.
 */
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

/* The VP in the heap with the least key that can use the CPU; 0: none. A walk, like hls_first_usable(). */
static __always_inline u32 hls_least_usable(hls_t *h, u32 root, u32 cpu)
{
	u32 least = 0, v = root;
	if (!root || likely(hls_usable(in_register(&h->vp[root]), cpu)))
		return root;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && v && can_loop; i++) {
		if (hls_usable(&h->vp[v], cpu) && (!least || heap_before(&h->node[v], &h->node[least])))
			least = v;
		v = heap_next(h, v);
	}
	return least;
}

/* The child of s that is RUNNING by the VP u of s; 0: none. */
static __always_inline u32 hls_running_by(const hls_t *h, u32 s, u32 u)
{
	const vp_t *up = &h->vp[u];
	if (up->state != HLS_RUNNING)
		return 0;
	u32 v = h->cpu[up->cpu].path[up->level + 1].vp;
	const vp_t *vp = &h->vp[v];
	return vp->parent == s && vp->state == HLS_RUNNING && vp->cpu == up->cpu ? v : 0;
}

/* How much CPU time the RUNNING child v has had since it was granted or charged last. */
static __always_inline u64 hls_used_ns(const hls_t *h, u32 v)
{
	const vp_t *vp = &h->vp[v];
	return h->now_ns - h->cpu[vp->cpu].stolen_ns - vp->granted_at;
}

/*
 * How much of the time since at_ns was stolen from the CPU of the child v, which was RUNNING already: of the last
 * stretch of stolen time. As a rule there is one: the end of an earlier stretch is an event, which deals with all that
 * was due before.
 */
static __always_inline u64 hls_stolen_since_ns(const hls_t *h, u32 v, u64 at_ns)
{
	const cpu_t *c = &h->cpu[h->vp[v].cpu];
	if (likely(c->stolen_to_ns <= at_ns))
		return 0;
	return c->stolen_to_ns - (c->stolen_from_ns > at_ns ? c->stolen_from_ns : at_ns);
}

/* How much CPU time is left of the slice of the RUNNING child v; HLS_NEVER: it has no slice. */
static __always_inline u64 hls_slice_left_ns(const hls_t *h, u32 v)
{
	const vp_t *vp = &h->vp[v];
	u64 clock = h->now_ns - h->cpu[vp->cpu].stolen_ns, end = h->cpu[vp->cpu].path[vp->level].expires_at;
	if (end == HLS_NEVER)
		return HLS_NEVER;
	return end > clock ? end - clock : 0;
}

/* Takes used_ns off what is left of a VP's turn; returns whether the turn is over: used up, or the thread yielded. */
static __always_inline bool hls_turn_over(hls_t *h, u32 v, u64 __arena *left_ns, u64 used_ns)
{
	bool over = used_ns >= *left_ns || (h->vp[v].flags & HLS_YIELDED);
	h->vp[v].flags &= ~HLS_YIELDED;
	if (!over)
		*left_ns -= used_ns;
	return over;
}

/* s has told something new: the schedulers above it that have the hook `told` are going to hear of it. */
HLS_GLOBAL_FUNC u32 hls_tell_later(hls_t *h __arg_arena, u32 s)
{
	bool heard = false;
	for_each_up (h, u, s)
		heard |= h->vp[u].state != HLS_WAITING && h->scheduler[h->vp[u].parent].hears;
	if (!heard)
		return 0;
	add_pending(h, s);
	h->scheduler[s].in_pending |= HLS_HAS_TOLD;
	return 0;
}

/*
 * From now on, s tells the schedulers above it `value` about itself (enum hls_told). A scheduler for which the VP of s
 * is READY or RUNNING hears of it when the event at hand is dealt with; the others can read it at the VP's next
 * request.
 */
static __always_inline void hls_tell_parents(hls_t *h, u32 s, u32 what, u64 value)
{
	if (h->scheduler[s].told[what] == value)
		return;
	scheduler_t *sched = in_register(&h->scheduler[s]);
	sched->told[what] = value;
	if (likely(sched->single && !h->scheduler[h->vp[sched->first_up].parent].hears))
		return;
	hls_tell_later(h, s);
}

/* What the scheduler below v tells about itself (enum hls_told); 0: nothing, as for threads. */
static __always_inline u64 hls_told(const hls_t *h, u32 v, u32 what)
{
	return h->scheduler[h->vp[v].child].told[what];
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

#define HLS_WHOLE_SPEED 1000000

/*
 * The speed of the slower processor v, which v's parent (its policy `slows`) makes for its child: in millionths of a
 * CPU, rounded down at each level from the top on.
 */
HLS_GLOBAL_FUNC u64 hls_speed(const hls_t *h __arg_arena, u32 v)
{
	u64 speed = HLS_WHOLE_SPEED;
	u32 depth = opaque(0), u = v;
	for (u32 i = opaque(0); i < HLS_MAX_DEPTH && h->scheduler[h->vp[u].parent].slows && can_loop; i++) {
		depth++;
		u = h->scheduler[h->vp[u].parent].first_up;
	}
	for (u32 i = opaque(0); i < HLS_MAX_DEPTH && depth && can_loop; i++) {
		u = v;
		depth--;
		for (u32 n = opaque(0); n < depth && n < HLS_MAX_DEPTH && can_loop; n++)
			u = h->scheduler[h->vp[u].parent].first_up;
		speed = speed * h->vp[u].param[0] / HLS_WHOLE_SPEED;
	}
	return speed;
}

/*
 * Converts an amount of time of the processor that s holds to time of a CPU: on a slower processor (RTSS 2001, section
 * 5.1) it is proportionally less, rounded down. A policy that may be below slower processors reads its amounts by this
 * function.
 */
static __always_inline u64 hls_amount_ns(const hls_t *h, u32 s, u64 amount_ns)
{
	u32 v = h->scheduler[s].first_up;
	if (likely(!h->scheduler[h->vp[v].parent].slows))
		return amount_ns;
	return hls_mul_div_floor(amount_ns, hls_speed(h, v), HLS_WHOLE_SPEED);
}

/* The answer to a message where the policy has no hook for it. */
static __always_inline s64 hls_unknown_message(u32 v, u32 message, const params_t *payload)
{
	keep_argument(v);
	keep_argument(message);
	keep_argument(payload);
	return -HLS_E_UNKNOWN;
}

#endif
