/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A scheduler with a process as its policy (G. Parmer and R. West, "Predictable and Configurable Component-Based
 * Scheduling in the Composite OS", ACM TECS 13(1s), 2013). This file is one side of a protocol between the engine and
 * that process. include/hls_pages.h is the contract: two pages, one that only the engine can write, and one that the
 * process writes. include/hls_turn.h is the other side. Neither side waits for the other. An exchange goes like this:
 *
 *  1. Something happens to a child: for instance, it wakes up or blocks. This file writes the event into the ring of
 *     the engine's page, and after that the event's number into the page's counter.
 *  2. If the process wants to be asked about the event, this file rouses the agent. The agent is the child in slot 0,
 *     the thread that runs the process's policy. It goes first while it has something to do, within an allowance: CPU
 *     time in every period, as for a deferrable server (budget.h).
 *  3. The agent reads the counter and the events, and writes a decision into the process's page: the child that is to
 *     have a CPU next, with the number of the last event that the agent knows. When it has answered everything it
 *     parks, by yielding, and is throttled until it is asked again.
 *  4. The hook `grant` follows a decision that knows the last event. Any other decision is stale: it is counted, and
 *     not followed. That is Composite's refusal of cos_switch_thread() for a scheduler that missed an event, without
 *     the system call.
 *  5. Without a decision to follow, the hook chooses the child of the greatest urgency, which is the priority in the
 *     paper's event structures. So threads go on while the agent is late, dead, or out of its allowance.
 *
 * Nothing that the process writes is trusted. Each word is read once, and chooses among READY children of this
 * scheduler only; preempts() looks at no page, so that it agrees with the grant before it. Each turn of an agent costs
 * at least USER_LEVEL_LEAST_TURN of its allowance, so that it cannot act too often.
 *
 * A sealed scheduler takes urgencies from the hierarchy alone and follows no decision: its children keep their
 * guarantees whatever the process does.
 */
#include "../core/budget.h"
#include "../core/user_pages.h"

#define USER_LEVEL_PARAMS(P)                                                                                \
	P(USER_LEVEL_ALLOWANCE, "allowance", HLS_TIME, HLS_MS(1), HLS_US(10), HLS_S(10),                    \
	  "CPU time that the agent has in every period")                                                    \
	P(USER_LEVEL_EVERY, "every", HLS_TIME, HLS_MS(10), HLS_US(100), HLS_S(10), "length of that period") \
	P(USER_LEVEL_SEALED, "sealed", HLS_COUNT, 0, 0, 1,                                                  \
	  "1: urgencies come from the hierarchy, whatever the process writes")
#define USER_LEVEL_VP_PARAMS(P)                                                \
	P(USER_LEVEL_URGENCY, "urgency", HLS_COUNT, 0, 0, HLS_MOST_URGENT - 1, \
	  "the greatest goes first, where the process says nothing else")      \
	P(USER_LEVEL_SLOT, "slot", HLS_COUNT, HLS_SLOTS, 0, HLS_SLOTS,         \
	  "its place in the pages; 0: the agent, 64: any that is free")        \
	P(USER_LEVEL_CHILD, "child", HLS_COUNT, 0, 0, HLS_MOST_URGENT,         \
	  "the number by which the process knows it; for a thread, its TID")
#define USER_LEVEL_MESSAGES(M)

/* Shorter turns of the agent, and shorter slices, count as this long. */
#define USER_LEVEL_LEAST_TURN HLS_US(5)
#define USER_LEVEL_LEAST_SLICE HLS_US(100)

/* The most changes of urgencies that one decision looks at; and the interval of the timer, if no decision is taken. */
#define USER_LEVEL_MOST_LOOKS 4
#define USER_LEVEL_LOOKS_EVERY HLS_US(100)

enum { USER_LEVEL_PARAMS(HLS_PARAM_INDEX) };
enum { USER_LEVEL_VP_PARAMS(HLS_PARAM_INDEX) };

struct user_level {
	/*
	 * Statistics: how often it chose in each way, and the CPU time of its agents. View::decided() of
	 * crates/hls-core knows that these come first, and crates/small-worlds/src/scheduling/pages.rs the places of
	 * the others.
	 */
	u64 followed, stale, by_urgency, by_agent, agent_ns;
	u64 events;                  /* so far */
	u64 asked;                   /* the last event that the agent is asked about */
	u64 taken;                   /* slots that have a child, a bit each */
	u64 wanting;                 /* slots with a child that has a CPU or wants one */
	u64 wake_at_ns;              /* when to ask the parked agent; 0: never */
	u64 looked_at_ns;            /* when the timer looked at urgencies */
	u64 last_stale;              /* the decision that was counted last */
	u64 last_event;              /* as it is in the ring */
	struct hls_budget allowance; /* the agent's */
	struct hls_queue ready;      /* READY children that are not held, except the agent */
	u32 is_parked;               /* the agent is READY, and waits to be asked */
	u32 is_to_review;            /* the agent has parked, and other CPUs are still to be reviewed */
	u32 slot[HLS_SLOTS];         /* the child in each */
};

struct user_level_vp {
	u64 urgency; /* as last looked at */
	u64 left_ns; /* of its slice; 0: it has none, or that is over */
	u64 named_at; /* 1 more than the number of events when a decision chose it; HLS_NEVER: loosely; 0: none did */
	u32 slot;
	u32 slice_number;
};

POLICY_WORDS(user_level);

static __always_inline user_level_t *user_level_of(hls_t *h, u32 s)
{
	return POLICY_STATE(user_level, s);
}

static __always_inline u32 user_level_slot(hls_t *h, u32 v)
{
	return POLICY_VP(user_level, v)->slot & (HLS_SLOTS - 1);
}

static __always_inline bool user_level_is_agent(hls_t *h, u32 v)
{
	return POLICY_VP(user_level, v)->slot == HLS_AGENT;
}

static __always_inline bool user_level_is_sealed(const hls_t *h, u32 s)
{
	return in_register(&h->scheduler[s])->param[USER_LEVEL_SEALED] != 0;
}

/* Whether the VP would run, if its scheduler chose it. */
static __always_inline bool user_level_can_run(const hls_t *h, u32 v, u32 cpu)
{
	const vp_t *vp = &h->vp[v];
	return v && vp->state == HLS_READY && !(vp->flags & HLS_THROTTLED) && hls_usable(vp, cpu);
}

/* The same for the agent, which is throttled while it is parked. */
static __always_inline bool user_level_agent_can_run(hls_t *h, u32 s, u32 cpu)
{
	const user_level_t *ul = user_level_of(h, s);
	return !ul->is_parked && user_level_can_run(h, ul->slot[HLS_AGENT], cpu);
}

/* If the agent's period is over, begins the period of now. */
static __always_inline void user_level_renew(hls_t *h, u32 s)
{
	user_level_t *ul = user_level_of(h, s);
	budget_renew_if_over(h, ul->slot[HLS_AGENT], &ul->allowance, h->scheduler[s].param[USER_LEVEL_ALLOWANCE],
			     h->scheduler[s].param[USER_LEVEL_EVERY]);
}

/* Whether the process has changed urgencies that no grant will look at, since there is no child to choose. */
static __always_inline bool user_level_is_to_look(hls_t *h, u32 s, const struct hls_user_page *user)
{
	if (likely(h->scheduler[s].nr_ready) || user_level_is_sealed(h, s))
		return false;
	return user && PAGE_WORD(user->touched);
}

/* When the timer is due: the agent has an allowance again, or wants to be asked, or urgencies are to be looked at. */
static __always_inline void user_level_set_timer(hls_t *h, u32 s)
{
	user_level_t *ul = user_level_of(h, s);
	const vp_t *agent = &h->vp[ul->slot[HLS_AGENT]];
	u64 at_ns = HLS_NEVER, look_at_ns = ul->looked_at_ns + USER_LEVEL_LOOKS_EVERY;
	if (ul->is_parked && ul->wake_at_ns)
		at_ns = ul->wake_at_ns;
	else if (ul->slot[HLS_AGENT] && agent->state == HLS_READY && (agent->flags & HLS_THROTTLED) &&
		 !ul->is_parked)
		at_ns = ul->allowance.end_at;
	if (look_at_ns < at_ns && unlikely(user_level_is_to_look(h, s, user_page(h, s))))
		at_ns = look_at_ns;
	hls_set_timer(h, s, at_ns);
}

/* The agent is READY: it waits for a CPU, for an allowance, or to be asked. */
HLS_GLOBAL_FUNC u32 user_level_place_agent(hls_t *h __arg_arena, u32 s, u32 agent)
{
	user_level_t *ul = user_level_of(h, s);
	user_level_renew(h, s);
	if (ul->is_parked)
		throttle_as(h, agent, HLS_REC_HOLD, 1);
	else if (ul->allowance.left_ns <= 0)
		hls_throttle(h, agent);
	ul->is_to_review = ul->is_parked && h->scheduler[s].nr_up > 1;
	user_level_set_timer(h, s);
	return 0;
}

/*
 * The agent has been asked: it is no longer parked. `at_once`: a decision follows the running hook. Otherwise the timer
 * does it, so that the agent is looked at like a child that has just become READY.
 */
HLS_GLOBAL_FUNC u32 user_level_rouse(hls_t *h __arg_arena, u32 s, bool at_once)
{
	user_level_t *ul = user_level_of(h, s);
	u32 agent = ul->slot[HLS_AGENT];
	u64 timer_at = h->now_ns;
	if (!ul->is_parked)
		return 0;
	if (at_once && !queue_is_pinned(h, agent)) {
		ul->is_parked = false;
		user_level_renew(h, s);
		timer_at = ul->allowance.end_at;
		if (ul->allowance.left_ns > 0) {
			hls_unthrottle(h, agent);
			add_pending(h, s);
			timer_at = HLS_NEVER;
		}
	}
	hls_set_timer(h, s, timer_at);
	return 0;
}

/*
 * An event of the child in a slot: tells the process by its pages, and rouses the agent, `at_once` or not, if the
 * process asks for that event.
 */
static __always_inline void user_level_tell(hls_t *h, u32 s, u32 slot, u32 kind, bool at_once,
					    struct hls_kernel_page *kernel, struct hls_user_page *user)
{
	user_level_t *ul = user_level_of(h, s);
	u64 number = ++ul->events, event = number << 16 | kind << 8 | slot;
	ul->last_event = event;
	if (!kernel || !user)
		return;
	bool asks = kind == HLS_EVENT_TIME || ((PAGE_WORD(user->ask[kind]) >> slot) & 1);
	kernel->slot[slot].event = number;
	kernel->ring[number % HLS_EVENTS] = event;
	kernel->wanting = ul->wanting;
	kernel->at_ns = h->now_ns;
	if (asks)
		kernel->asked = ul->asked = number;
	PAGE_BARRIER();
	PAGE_WORD(kernel->events) = number;
	if (unlikely(asks))
		user_level_rouse(h, s, at_once);
}

/* The same for the child v, for callers that do not have the pages at hand. */
HLS_GLOBAL_FUNC u32 user_level_tell_of(hls_t *h __arg_arena, u32 s, u32 v, u32 kind, bool at_once)
{
	user_level_tell(h, s, user_level_slot(h, v), kind & (HLS_NR_EVENTS - 1), at_once, kernel_page(h, s),
			user_page(h, s));
	return 0;
}

/* Whether the agent has not answered all that it was asked. */
static __always_inline bool user_level_is_asked(hls_t *h, u32 s, const struct hls_user_page *user)
{
	return user && user_level_of(h, s)->asked > PAGE_WORD(user->answered);
}

/* The agent has had a CPU: its allowance pays. */
static __always_inline void user_level_charge_agent(hls_t *h, u32 s, u32 agent, u64 used_ns)
{
	user_level_of(h, s)->agent_ns += used_ns;
	if (used_ns < USER_LEVEL_LEAST_TURN)
		used_ns = USER_LEVEL_LEAST_TURN;
	const scheduler_t *sched = in_register(&h->scheduler[s]);
	budget_charge(h, agent, &user_level_of(h, s)->allowance, sched->param[USER_LEVEL_ALLOWANCE],
		      sched->param[USER_LEVEL_EVERY], used_ns);
}

/* The urgency of the child v: from the process, otherwise from the hierarchy. Without an agent no child is held. */
static __always_inline u64 user_level_urgency(hls_t *h, u32 s, u32 v, const struct hls_user_page *user)
{
	u64 said = user && !user_level_is_sealed(h, s) ? PAGE_WORD(user->urgency[user_level_slot(h, v)]) : 0;
	if (!said || (said == HLS_HELD && !user_level_of(h, s)->slot[HLS_AGENT]))
		return in_register(&h->vp[v])->param[USER_LEVEL_URGENCY];
	return said < HLS_MOST_URGENT || said == HLS_HELD ? said : HLS_MOST_URGENT;
}

/* The READY child v gets no CPU as long as its urgency is HLS_HELD. */
HLS_RARE_FUNC u32 user_level_hold(hls_t *h __arg_arena, u32 v)
{
	throttle_as(h, v, HLS_REC_HOLD, 0);
	return 0;
}

/* Puts a READY child behind the others of this urgency, or before them. A held child is throttled. */
static __always_inline void user_level_enqueue(hls_t *h, u32 s, u32 v, u64 urgency, bool behind)
{
	user_level_vp_t *vp = POLICY_VP(user_level, v);
	vp->named_at = 0;
	vp->urgency = urgency;
	if (urgency == HLS_HELD) {
		user_level_hold(h, v);
		return;
	}
	queue_push_at(h, &user_level_of(h, s)->ready, v, HLS_MOST_URGENT - urgency, queue_place(h, behind));
}

/* The process may have changed the urgency of the child v. */
static __always_inline void user_level_look_at(hls_t *h, u32 s, u32 v, const struct hls_user_page *user)
{
	user_level_vp_t *vp = POLICY_VP(user_level, v);
	u64 before = vp->urgency, now = user_level_urgency(h, s, v, user);
	if (now == before)
		return;
	if (h->vp[v].state == HLS_RUNNING) {
		vp->urgency = now;
		if (now == HLS_HELD)
			hls_recheck(h, v);
	}
	if (h->vp[v].state != HLS_READY)
		return;
	if (before == HLS_HELD) {
		hls_unthrottle(h, v);
		add_pending(h, s);
	} else {
		queue_remove(h, &user_level_of(h, s)->ready, v);
	}
	user_level_enqueue(h, s, v, now, true);
}

/* The process has changed the urgencies of these slots, a bit each. */
HLS_GLOBAL_FUNC u32 user_level_look_at_slots(hls_t *h __arg_arena, u32 s, u64 slots, struct hls_user_page *user)
{
	for (u32 i = opaque(0); i < HLS_SLOTS && slots && can_loop; i++) {
		u32 slot = __builtin_ctzll(slots), v = user_level_of(h, s)->slot[slot & (HLS_SLOTS - 1)];
		slots &= slots - 1;
		/*
		 * By pointers that are new in each round: what is computed before the loop takes stack, and the
		 * verifier follows no page that may be missing through it.
		 */
		if (slot != HLS_AGENT && v)
			user_level_look_at(in_register(h), s, v, in_register(user));
	}
	return 0;
}

/* Looks at urgencies that the process has changed, a few at a time. The scheduler is not sealed. */
static __always_inline void user_level_look(hls_t *h, u32 s, struct hls_user_page *user)
{
	u64 touched = user ? PAGE_WORD(user->touched) : 0, rest = touched;
	if (likely(!touched))
		return;
	for (u32 i = 0; i < USER_LEVEL_MOST_LOOKS; i++)
		rest &= rest - 1;
	__sync_fetch_and_and(&user->touched, rest | ~touched);
	user_level_look_at_slots(h, s, touched & ~rest, user);
}

/* Gives v its slot. Returns 0, or an error: its slot is taken, or no slot is left. */
static s64 user_level_take_slot(hls_t *h, u32 s, u32 v)
{
	user_level_t *ul = user_level_of(h, s);
	user_level_vp_t *vp = POLICY_VP(user_level, v);
	u64 slot = h->vp[v].param[USER_LEVEL_SLOT], free = ~ul->taken & ~(1ULL << HLS_AGENT);
	if (slot == HLS_SLOTS && vp->slot && ((free >> user_level_slot(h, v)) & 1))
		slot = user_level_slot(h, v); /* it had that one before its parameters changed */
	else if (slot == HLS_SLOTS && !free)
		return -HLS_E_CHILDREN;
	else if (slot == HLS_SLOTS)
		slot = __builtin_ctzll(free);
	else if ((ul->taken >> slot) & 1)
		return -HLS_E_PARAM;
	slot &= HLS_SLOTS - 1;
	ul->taken |= 1ULL << slot;
	ul->slot[slot] = v;
	vp->slot = slot;
	return 0;
}

/* Writes which child is in a slot, and what CPU time it has had. */
static __always_inline void user_level_show(hls_t *h, u32 s, u32 slot, u64 child, u64 ran_ns)
{
	struct hls_kernel_page *kernel = kernel_page(h, s);
	if (!kernel)
		return;
	/* By a number that the compiler cannot derive from a loop, so that the verifier sees its range. */
	struct hls_kernel_slot *shown = &kernel->slot[in_register(slot) & (HLS_SLOTS - 1)];
	shown->child = child;
	shown->ran_ns = ran_ns;
}

/* Writes what CPU time v, which is in this slot, has had. */
static __always_inline void user_level_show_time(hls_t *h, u32 v, u32 slot, struct hls_kernel_page *kernel)
{
	if (kernel)
		kernel->slot[slot].ran_ns = in_register(&h->vp[v])->ran_ns;
}

/* The agent has come or gone: from now on holds count, or do not. All urgencies are to be looked at. */
static __always_inline void user_level_note_agent(hls_t *h, u32 s)
{
	struct hls_user_page *user = user_page(h, s);
	if (!user)
		return;
	__sync_fetch_and_or(&user->touched, user_level_of(h, s)->taken);
	user_level_set_timer(h, s);
}

static s64 user_level_register_vp(hls_t *h, u32 s, u32 v)
{
	s64 error = user_level_take_slot(h, s, v);
	if (error)
		return error;
	user_level_vp_t *vp = POLICY_VP(user_level, v);
	vp->left_ns = vp->named_at = vp->slice_number = 0;
	user_level_show(h, s, vp->slot, h->vp[v].param[USER_LEVEL_CHILD], h->vp[v].ran_ns);
	if (user_level_is_agent(h, v))
		user_level_note_agent(h, s);
	else
		user_level_tell_of(h, s, v, HLS_EVENT_NEW, false);
	return 0;
}

static void user_level_unregister_vp(hls_t *h, u32 s, u32 v)
{
	user_level_t *ul = user_level_of(h, s);
	u32 slot = user_level_slot(h, v);
	ul->taken &= ~(1ULL << slot);
	ul->slot[slot] = 0;
	user_level_show(h, s, slot, 0, h->vp[v].ran_ns);
	if (slot == HLS_AGENT)
		user_level_note_agent(h, s);
	else
		user_level_tell_of(h, s, v, HLS_EVENT_REMOVED, false);
}

static void user_level_request(hls_t *h, u32 s, u32 v)
{
	user_level_t *ul = user_level_of(h, s);
	vp_t *vp = in_register(&h->vp[v]);
	ul->wanting |= 1ULL << user_level_slot(h, v);
	if (user_level_is_agent(h, v)) {
		user_level_place_agent(h, s, v);
		return;
	}
	struct hls_user_page *user = user_page(h, s);
	user_level_enqueue(h, s, v, user_level_urgency(h, s, v, user), true);
	user_level_tell(h, s, user_level_slot(h, v), HLS_EVENT_WAKEUP, !(vp->flags & HLS_THROTTLED),
			kernel_page(h, s), user);
}

/* The child v no longer wants a CPU. */
static __always_inline void user_level_stop(hls_t *h, u32 s, u32 v, struct hls_user_page *user, bool at_once)
{
	struct hls_kernel_page *kernel = kernel_page(h, s);
	u32 slot = user_level_slot(h, v);
	user_level_of(h, s)->wanting &= ~(1ULL << slot);
	user_level_show_time(h, v, slot, kernel);
	if (slot != HLS_AGENT)
		user_level_tell(h, s, slot, HLS_EVENT_BLOCK, at_once, kernel, user);
}

static void user_level_withdraw(hls_t *h, u32 s, u32 v)
{
	user_level_t *ul = user_level_of(h, s);
	if (user_level_is_agent(h, v)) {
		ul->is_parked = false;
		hls_set_timer(h, s, HLS_NEVER);
	} else if (!(h->vp[v].flags & HLS_THROTTLED)) {
		queue_remove(h, &ul->ready, v);
	}
	user_level_stop(h, s, v, user_page(h, s), false);
}

/* Whether the child in the slot had the last event, and gave up its CPU by it. */
static __always_inline bool user_level_gave_way(const user_level_t *ul, u32 slot)
{
	u64 last = ul->last_event, kind = HLS_EVENT_KIND(last);
	return HLS_EVENT_SLOT(last) == slot && (kind == HLS_EVENT_BLOCK || kind == HLS_EVENT_YIELD);
}

/* Whether a loose decision knows the last event of the child that it names. */
static __always_inline bool user_level_knows_child(hls_t *h, u32 s, u64 decision)
{
	const struct hls_kernel_page *kernel = kernel_page(h, s);
	u64 number = HLS_DECISION_EVENTS(decision);
	return kernel && number <= user_level_of(h, s)->events &&
	       number >= kernel->slot[HLS_DECISION_SLOT(decision)].event;
}

/* Whether a decision knows the last event. */
static __always_inline bool user_level_is_fresh(hls_t *h, u32 s, u64 decision)
{
	const user_level_t *ul = user_level_of(h, s);
	if (decision & HLS_LOOSE)
		return user_level_knows_child(h, s, decision);
	if ((decision & HLS_AFTER) && !user_level_gave_way(ul, HLS_DECISION_DECIDER(decision)))
		return false;
	return HLS_DECISION_EVENTS(decision) == ul->events;
}

/* The child that the decision for the CPU names, if the decision is to be followed; 0: none. */
static __always_inline u32 user_level_decided(hls_t *h, u32 s, u32 cpu, struct hls_user_page *user)
{
	user_level_t *ul = user_level_of(h, s);
	u64 decision = PAGE_WORD(user->next[cpu & (HLS_MAX_CPUS - 1)]);
	if (!(decision & HLS_NAMED))
		return 0;
	u32 slot = HLS_DECISION_SLOT(decision);
	if (slot != HLS_AGENT && user_level_is_fresh(h, s, decision)) {
		u32 v = ul->slot[slot];
		if (!user_level_can_run(h, v, cpu))
			return 0;
		ul->followed++;
		POLICY_VP(user_level, v)->named_at = decision & HLS_LOOSE ? HLS_NEVER : ul->events + 1;
		return v;
	}
	if (decision != ul->last_stale)
		ul->stale++;
	ul->last_stale = decision;
	return 0;
}

/* The slice of the child v, which is about to run. */
static __always_inline void user_level_set_slice(hls_t *h, u32 v, struct hls_user_page *user)
{
	user_level_vp_t *vp = POLICY_VP(user_level, v);
	u64 slice = PAGE_WORD(user->slice[user_level_slot(h, v)]), ns = HLS_SLICE_NS(slice);
	if (!ns) {
		vp->left_ns = 0;
		return;
	}
	if (!vp->left_ns || vp->slice_number != HLS_SLICE_NUMBER(slice))
		vp->left_ns = ns > USER_LEVEL_LEAST_SLICE ? ns : USER_LEVEL_LEAST_SLICE;
	vp->slice_number = HLS_SLICE_NUMBER(slice);
	h->slice_ns = vp->left_ns;
}

/* The agent is about to run: it finds the time, and for which CPUs it is to decide, in the page. */
static __always_inline u32 user_level_grant_agent(hls_t *h, u32 s, u32 agent)
{
	user_level_t *ul = user_level_of(h, s);
	struct hls_kernel_page *kernel = kernel_page(h, s);
	if (kernel) {
		kernel->at_ns = h->now_ns;
		kernel->cpus = h->cpus & ~h->offline;
		kernel->width = h->scheduler[s].nr_up;
	}
	ul->by_agent++;
	h->slice_ns = ul->allowance.left_ns;
	return agent;
}

/* Whether the child v would lose its CPU if its scheduler chose now: by a decision, or to a more urgent child. */
static __always_inline bool user_level_would_lose(hls_t *h, u32 s, u32 v, struct hls_user_page *user)
{
	user_level_t *ul = user_level_of(h, s);
	u32 cpu = h->vp[v].cpu;
	u64 decision = PAGE_WORD(user->next[cpu & (HLS_MAX_CPUS - 1)]);
	if ((decision & HLS_NAMED) && user_level_is_fresh(h, s, decision)) {
		u32 named = ul->slot[HLS_DECISION_SLOT(decision)];
		if (named == v || user_level_can_run(h, named, cpu))
			return named != v;
	}
	u32 first = queue_first_usable(h, &ul->ready, cpu);
	return first && POLICY_VP(user_level, first)->urgency > POLICY_VP(user_level, v)->urgency;
}

/* The agent, which has parked, has also decided for other CPUs: CPUs that run another child choose anew. */
HLS_GLOBAL_FUNC u32 user_level_review(hls_t *h __arg_arena, u32 s)
{
	struct hls_user_page *user = user_page(h, s);
	user_level_of(h, s)->is_to_review = false;
	if (!user || user_level_is_sealed(h, s))
		return 0;
	for_each_up (h, u, s) {
		u32 v = hls_running_by(h, s, u);
		if (v && user_level_would_lose(h, s, v, user))
			hls_recheck(h, v);
	}
	return 0;
}

/* Chooses a child but the agent, and sets its slice. `user`: the process's page; NULL: the process has no say. */
static __always_inline u32 user_level_choose(hls_t *h, u32 s, u32 cpu, struct hls_user_page *user)
{
	user_level_t *ul = user_level_of(h, s);
	u32 v = user ? user_level_decided(h, s, cpu, user) : 0;
	if (v) {
		queue_remove_early(h, &ul->ready, v);
	} else {
		v = queue_take(h, &ul->ready, cpu);
		if (!v)
			return 0;
		ul->by_urgency++;
	}
	if (user)
		user_level_set_slice(h, v, user);
	return v;
}

static u32 user_level_grant(hls_t *h, u32 s, u32 cpu)
{
	user_level_t *ul = user_level_of(h, s);
	if (unlikely(user_level_agent_can_run(h, s, cpu)))
		return user_level_grant_agent(h, s, ul->slot[HLS_AGENT]);
	struct hls_user_page *user = user_level_is_sealed(h, s) ? NULL : user_page(h, s);
	user_level_look(h, s, user);
	u32 v = user_level_choose(h, s, cpu, user);
	if (unlikely(ul->is_to_review))
		user_level_review(h, s);
	return v;
}

/* The agent has lost its CPU. If it has yielded and has answered all, it parks. */
static __always_inline void user_level_revoke_agent(hls_t *h, u32 s, u32 agent, u64 used_ns, bool yielded,
						    const struct hls_user_page *user)
{
	user_level_t *ul = user_level_of(h, s);
	user_level_charge_agent(h, s, agent, used_ns);
	if (yielded && !user_level_is_asked(h, s, user)) {
		u64 wake_at_ns = user ? PAGE_WORD(user->wake_at_ns) : 0;
		ul->is_parked = true;
		ul->wake_at_ns = wake_at_ns < HLS_MOST_URGENT ? wake_at_ns : 0;
	}
	user_level_place_agent(h, s, agent);
}

/* Whether the slice of v, which had a CPU for used_ns, is over. */
static __always_inline bool user_level_slice_over(hls_t *h, u32 v, u64 used_ns)
{
	user_level_vp_t *vp = POLICY_VP(user_level, v);
	if (likely(!vp->left_ns))
		return false;
	bool over = used_ns >= vp->left_ns;
	vp->left_ns = used_ns < vp->left_ns ? vp->left_ns - used_ns : 0;
	return over;
}

static void user_level_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	vp_t *vp = in_register(&h->vp[v]);
	bool yielded = vp->flags & HLS_YIELDED;
	vp->flags &= ~HLS_YIELDED;
	struct hls_kernel_page *kernel = kernel_page(h, s);
	struct hls_user_page *user = user_page(h, s);
	user_level_show_time(h, v, user_level_slot(h, v), kernel);
	if (user_level_is_agent(h, v)) {
		user_level_revoke_agent(h, s, v, used_ns, yielded, user);
		return;
	}
	u32 kind = hls_is_offline(h, vp->cpu) ? HLS_EVENT_OFFLINE : HLS_NR_EVENTS;
	if (user_level_slice_over(h, v, used_ns))
		kind = HLS_EVENT_SLICE;
	if (yielded)
		kind = HLS_EVENT_YIELD;
	user_level_enqueue(h, s, v, user_level_urgency(h, s, v, user),
			   kind == HLS_EVENT_YIELD || kind == HLS_EVENT_SLICE);
	if (kind < HLS_NR_EVENTS)
		user_level_tell(h, s, user_level_slot(h, v), kind, true, kernel, user);
}

static void user_level_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	if (user_level_is_agent(h, v))
		user_level_charge_agent(h, s, v, used_ns);
	else
		user_level_slice_over(h, v, used_ns);
	struct hls_user_page *user = user_page(h, s);
	user_level_stop(h, s, v, user, true);
	if (unlikely(user_level_is_to_look(h, s, user)))
		user_level_set_timer(h, s);
}

/* Whether a decision now would take the CPU of a RUNNING child. Looks at no page, only at what grant() knew. */
static bool user_level_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	user_level_t *ul = user_level_of(h, s);
	const user_level_vp_t *waiting = POLICY_VP(user_level, ready), *vp = POLICY_VP(user_level, running);
	if (user_level_is_agent(h, running))
		return false;
	if (unlikely(user_level_agent_can_run(h, s, h->vp[running].cpu)))
		return true;
	if (waiting->urgency <= vp->urgency || user_level_is_agent(h, ready))
		return false;
	return vp->named_at != HLS_NEVER && vp->named_at != ul->events + 1;
}

/* Asks the agent, if it is time; returns the agent if it may run now. */
static u32 user_level_timer(hls_t *h, u32 s)
{
	user_level_t *ul = user_level_of(h, s);
	u32 agent = ul->slot[HLS_AGENT];
	struct hls_user_page *user = user_page(h, s);
	if (unlikely(user_level_is_to_look(h, s, user))) {
		ul->looked_at_ns = h->now_ns;
		user_level_look(h, s, user);
	}
	if (ul->is_parked && ul->wake_at_ns && ul->wake_at_ns <= h->now_ns) {
		ul->wake_at_ns = 0;
		ul->is_parked = false;
		user_level_tell(h, s, HLS_AGENT, HLS_EVENT_TIME, false, kernel_page(h, s), user);
	}
	if (ul->is_parked && user_level_is_asked(h, s, user))
		ul->is_parked = false;
	if (agent && h->vp[agent].state == HLS_READY && (h->vp[agent].flags & HLS_THROTTLED) && !ul->is_parked) {
		user_level_renew(h, s);
		if (ul->allowance.left_ns > 0) {
			hls_unthrottle(h, agent);
			user_level_set_timer(h, s);
			return agent;
		}
	}
	user_level_set_timer(h, s);
	return 0;
}

/* Writes all that the process is to know about the children into zeroed pages. */
static __always_inline void user_level_show_all(hls_t *h, u32 s)
{
	user_level_t *ul = user_level_of(h, s);
	struct hls_kernel_page *kernel = kernel_page(h, s);
	if (!kernel)
		return;
	for (u32 slot = opaque(0); slot < HLS_SLOTS && can_loop; slot++) {
		u32 v = ul->slot[slot & (HLS_SLOTS - 1)];
		if (v)
			user_level_show(h, s, slot, h->vp[v].param[USER_LEVEL_CHILD], h->vp[v].ran_ns);
	}
	kernel->wanting = ul->wanting;
	kernel->asked = ul->asked;
	kernel->at_ns = h->now_ns;
	PAGE_BARRIER();
	PAGE_WORD(kernel->events) = ul->events;
}

/* Another process decides from now on, or none: what the previous process wrote no longer counts. */
static void user_level_paged(hls_t *h, u32 s)
{
	user_level_t *ul = user_level_of(h, s);
	user_level_show_all(h, s);
	user_level_look_at_slots(h, s, ul->taken, user_page(h, s));
	for (u32 slot = opaque(1); slot < HLS_SLOTS && can_loop; slot++) {
		u32 v = ul->slot[slot & (HLS_SLOTS - 1)];
		if (v && h->vp[v].state == HLS_RUNNING)
			hls_recheck(h, v);
	}
	ul->wake_at_ns = 0;
	user_level_set_timer(h, s);
}

/* Whether the child v is where it belongs. */
static bool user_level_is_sound_for(hls_t *h, u32 s, u32 v)
{
	user_level_t *ul = user_level_of(h, s);
	const vp_t *vp = &h->vp[v];
	u32 slot = user_level_slot(h, v);
	bool throttled = vp->flags & HLS_THROTTLED, waits = vp->state == HLS_READY;
	if (ul->slot[slot] != v || ((ul->wanting >> slot) & 1) != (vp->state != HLS_WAITING))
		return false;
	if (!waits)
		return slot != HLS_AGENT || !ul->is_parked;
	if (slot == HLS_AGENT)
		return throttled == (ul->is_parked || ul->allowance.left_ns <= 0);
	return throttled == (POLICY_VP(user_level, v)->urgency == HLS_HELD);
}

/*
 * Each child has a slot of its own, and each taken slot has a child. The READY agent is throttled exactly while it is
 * parked or has no allowance, another READY child exactly while it is held.
 */
static bool user_level_check_invariants(hls_t *h, u32 s)
{
	user_level_t *ul = user_level_of(h, s);
	u64 seen = 0;
	for_each_child (h, v, s) {
		if (!user_level_is_sound_for(h, s, v))
			return false;
		seen |= 1ULL << user_level_slot(h, v);
	}
	return seen == ul->taken && ul->allowance.left_ns <= (s64)h->scheduler[s].param[USER_LEVEL_ALLOWANCE];
}

static const struct hls_policy user_level_policy = {
    .name = "user-level",
    .what = "a process decides by pages that it shares with the engine, and urgencies where it does not",
    .source = "Parmer and West, ACM TECS 13(1s), 2013",
    .most_children = HLS_SLOTS,
    .has_pages = true,
    .inline_hooks = true,
    .register_vp = user_level_register_vp,
    .unregister_vp = user_level_unregister_vp,
    .request = user_level_request,
    .withdraw = user_level_withdraw,
    .grant = user_level_grant,
    .revoke = user_level_revoke,
    .release = user_level_release,
    .preempts = user_level_preempts,
    .timer = user_level_timer,
    .paged = user_level_paged,
    .check_invariants = user_level_check_invariants,
};
