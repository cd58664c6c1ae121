/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The turn of a user-level scheduler: what a policy is (Figure 8 of G. Parmer and R. West, "Predictable and
 * Configurable Component-Based Scheduling in the Composite OS", ACM TECS 13(1s), 2013), what it may do, and the library
 * between it and the pages of hls_pages.h. The library processes the events, tells the policy, asks it which child is
 * to run, and writes the answer into the page.
 *
 * All of it reads and writes only the two pages and a struct hls_scheduler, and makes no system call. So the simulator
 * can also play turns, by hls_agent_turn(). Authors include hls_scheduler.h.
 */
#ifndef HLS_TURN_H
#define HLS_TURN_H

#include "hls_pages.h"
#include <stdlib.h>
#include <string.h>

/* The answer of schedule() if the urgencies are to choose. */
#define HLS_NOBODY HLS_SLOTS

#define HLS_BIT(n) (1ULL << (n))

#ifdef __cplusplus
#define HLS_EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define HLS_EXPORTED __attribute__((visibility("default")))
#endif

/* Runs the statement for each slot in a mask, in ascending order. */
#define hls_for_each_slot(slot, mask)                                                                           \
	for (hls_word slots_of_##slot = (mask); slots_of_##slot && (slot = hls_first_slot(slots_of_##slot), 1); \
	     slots_of_##slot &= slots_of_##slot - 1)

struct hls_scheduler;

/* What makes a policy. Any of the functions may be absent. */
struct hls_user_policy {
	/* A child has come, and wants no CPU yet; a child has gone, whether or not it wanted one. */
	void (*thread_new)(struct hls_scheduler *s, unsigned slot);
	void (*thread_remove)(struct hls_scheduler *s, unsigned slot);
	/* The child wants a CPU from now on; it no longer wants one. */
	void (*wakeup)(struct hls_scheduler *s, unsigned slot);
	void (*block)(struct hls_scheduler *s, unsigned slot);
	/* The child has let others go first; or it has to, because its slice is over. */
	void (*yielded)(struct hls_scheduler *s, unsigned slot);
	/* The child has had ran_ns more of CPU time. Called before the events that happened after that time. */
	void (*elapsed)(struct hls_scheduler *s, unsigned slot, hls_word ran_ns);
	/* The time of hls_wake_at() has come. */
	void (*timer)(struct hls_scheduler *s);
	/*
	 * Which of the candidates is to have the CPU: a bit a slot, at least one is set. The answer may go unused: if
	 * something else happens first, the policy is asked again.
	 */
	unsigned (*schedule)(struct hls_scheduler *s, unsigned cpu, hls_word candidates);
	/* HLS_BIT() of each event about which the agent is asked at once; 0: all. It hears of the others later. */
	hls_word asks;
};

/* What the library knows about a child. */
struct hls_known {
	hls_word child; /* its number in the kernel page */
	hls_word ran_ns;
	hls_word urgency; /* from the policy; 0: the hierarchy's */
	hls_word slices;  /* how many the policy has given it so far */
};

/* A scheduler. A policy reads the first members; the others are the library's. */
struct hls_scheduler {
	void *own;        /* the policy's own state */
	hls_word now_ns;  /* the time: not later than the real time, and not much earlier */
	hls_word cpus;    /* CPUs of the hierarchy that are online, a bit each */
	unsigned width;   /* how many CPUs the scheduler has at once; 1: any CPU, and decisions are strict */
	hls_word present; /* slots with a child, except the agent's */
	hls_word wanting; /* slots with a child that wants a CPU */
	const char *settings;

	const struct hls_kernel_page *kernel;
	struct hls_user_page *user;
	const struct hls_user_policy *policy;
	hls_word seen;       /* the last event that was worked off */
	hls_word held;       /* slots of children that are to get no CPU */
	hls_word touched;    /* slots with an urgency in the page that the engine was not told */
	hls_word wake_at_ns; /* when the policy wants its timer; 0: it does not */
	hls_word asks[HLS_NR_EVENTS];
	hls_word helped; /* slots with the greatest urgency, because they have, or had, the lock */
	unsigned lock;
	volatile int ended;
	unsigned asks_once; /* the page asks for more than `asks` */
	struct hls_known known[HLS_SLOTS];
};

/* Reads or writes a word of a page, once and whole. */
static inline hls_word hls_load(const hls_word *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void hls_store(hls_word *word, hls_word value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The least slot in a mask that is not empty. */
static inline unsigned hls_first_slot(hls_word mask)
{
	return (unsigned)__builtin_ctzll(mask);
}

/*
 * What a policy may do. To be called in its functions, or by a thread that has the lock.
 */

/* The hierarchy's number for the child in the slot; for a thread, its TID; 0: the slot is free. */
static inline hls_word hls_child(const struct hls_scheduler *s, unsigned slot)
{
	return s->known[slot].child;
}

/* Writes the urgency of a child into the page. */
static inline void hls_show_urgency(struct hls_scheduler *s, unsigned slot)
{
	hls_word urgency = (s->held >> slot) & 1 ? HLS_HELD : s->known[slot].urgency;

	if (hls_load(&s->user->urgency[slot]) == urgency)
		return;
	hls_store(&s->user->urgency[slot], urgency);
	s->touched |= HLS_BIT(slot);
}

/* Without a decision, the child of the greatest urgency runs. 0: the urgency that the hierarchy states. */
static inline void hls_set_urgency(struct hls_scheduler *s, unsigned slot, hls_word urgency)
{
	s->known[slot].urgency = urgency < HLS_MOST_URGENT ? urgency : HLS_MOST_URGENT;
	hls_show_urgency(s, slot);
}

/* The child gets no CPU until hls_let_go(). Meanwhile it is no candidate. */
static inline void hls_hold(struct hls_scheduler *s, unsigned slot)
{
	s->held |= HLS_BIT(slot);
	hls_show_urgency(s, slot);
}

static inline void hls_let_go(struct hls_scheduler *s, unsigned slot)
{
	s->held &= ~HLS_BIT(slot);
	hls_show_urgency(s, slot);
}

/*
 * From now on the child loses its CPU after each `ns` of CPU time; 0: it does not. A child that is interrupted goes on
 * with what is left of its slice. Slices of less than 100 us last 100 us.
 */
static inline void hls_give_slice(struct hls_scheduler *s, unsigned slot, hls_word ns)
{
	hls_store(&s->user->slice[slot], HLS_SLICE(++s->known[slot].slices, HLS_SLICE_NS(ns)));
}

/* The policy's timer() is called at this time, or soon after, in place of a time that was set before; 0: it is not. */
static inline void hls_wake_at(struct hls_scheduler *s, hls_word at_ns)
{
	s->wake_at_ns = at_ns;
}

/* Writes into the page about which events the agent is asked. */
static inline void hls_show_asks(struct hls_scheduler *s)
{
	s->asks_once = 0;
	for (unsigned kind = 0; kind < HLS_NR_EVENTS; kind++)
		hls_store(&s->user->ask[kind], s->asks[kind]);
}

/* From now on the agent is asked at once about these events of the child (HLS_BIT), and about no others. */
static inline void hls_ask(struct hls_scheduler *s, unsigned slot, hls_word events)
{
	for (unsigned kind = 0; kind < HLS_NR_EVENTS; kind++)
		s->asks[kind] = (s->asks[kind] & ~HLS_BIT(slot)) | ((events >> kind) & 1) << slot;
	hls_show_asks(s);
}

/* A number, or a time with its unit: "3", "20ms". Sets *text behind it. */
static inline hls_word hls_read_value(const char **text)
{
	static const struct {
		const char *name;
		unsigned ns;
	} units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"ns", 1}};
	char *end;
	hls_word value = strtoull(*text, &end, 10);

	*text = end;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strncmp(end, units[i].name, strlen(units[i].name))) {
			*text = end + strlen(units[i].name);
			return value * units[i].ns;
		}
	}
	return value;
}

/*
 * The value at this place, from 0 on, that the settings give for a slot; `otherwise` if they give none. The settings
 * are the environment's HLS_SETTINGS: slots, each with its values: "1=3,20ms 2=4,50ms".
 */
static inline hls_word hls_setting(const struct hls_scheduler *s, unsigned slot, unsigned place, hls_word otherwise)
{
	const char *text = s->settings ? s->settings : "";

	while (*text) {
		int is_wanted = strtoul(text, NULL, 10) == slot;
		text += strcspn(text, "= ");
		for (unsigned i = 0; *text == (i ? ',' : '='); i++) {
			text++;
			hls_word value = hls_read_value(&text);
			if (is_wanted && i == place)
				return value;
		}
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return otherwise;
}

/*
 * Events.
 */

/* A child that the library does not know yet is in the slot. */
static inline void hls_take_new(struct hls_scheduler *s, unsigned slot)
{
	hls_word child = hls_load(&s->kernel->slot[slot].child);

	if (slot == HLS_AGENT || (s->present >> slot) & 1 || !child)
		return;
	s->present |= HLS_BIT(slot);
	s->known[slot].child = child;
	s->known[slot].ran_ns = hls_load(&s->kernel->slot[slot].ran_ns);
	if (s->policy->thread_new)
		s->policy->thread_new(s, slot);
}

/* The child in the slot has gone. The next child there inherits nothing from it. */
static inline void hls_take_removed(struct hls_scheduler *s, unsigned slot)
{
	if (!((s->present >> slot) & 1))
		return;
	if (s->policy->thread_remove)
		s->policy->thread_remove(s, slot);
	s->present &= ~HLS_BIT(slot);
	s->wanting &= ~HLS_BIT(slot);
	s->known[slot].child = 0;
	hls_give_slice(s, slot, 0);
	s->held &= ~HLS_BIT(slot);
	hls_set_urgency(s, slot, 0);
}

/* The child in the slot wants a CPU, or no longer wants one. */
static inline void hls_take_wish(struct hls_scheduler *s, unsigned slot, int wants)
{
	void (*told)(struct hls_scheduler *, unsigned) = wants ? s->policy->wakeup : s->policy->block;

	if (!(s->present & HLS_BIT(slot)) || !(s->wanting & HLS_BIT(slot)) == !wants)
		return;
	s->wanting ^= HLS_BIT(slot);
	if (told)
		told(s, slot);
}

static inline void hls_take_event(struct hls_scheduler *s, unsigned kind, unsigned slot)
{
	switch (kind) {
	case HLS_EVENT_NEW:
		hls_take_new(s, slot);
		break;
	case HLS_EVENT_REMOVED:
		hls_take_removed(s, slot);
		break;
	case HLS_EVENT_WAKEUP:
		hls_take_wish(s, slot, 1);
		break;
	case HLS_EVENT_BLOCK:
		hls_take_wish(s, slot, 0);
		break;
	case HLS_EVENT_YIELD:
	case HLS_EVENT_SLICE:
		if ((s->present >> slot) & 1 && s->policy->yielded)
			s->policy->yielded(s, slot);
		break;
	default:
		break;
	}
}

/* Processes the events in the ring up to this one. Returns 0 if the ring no longer has one of them. */
static inline int hls_take_ring(struct hls_scheduler *s, hls_word events)
{
	if (events - s->seen > HLS_EVENTS)
		return 0;
	while (s->seen != events) {
		hls_word number = s->seen + 1, word = hls_load(&s->kernel->ring[number % HLS_EVENTS]);
		if (HLS_EVENT_NUMBER(word) != number << 16 >> 16)
			return 0;
		s->seen = number;
		hls_take_event(s, HLS_EVENT_KIND(word), HLS_EVENT_SLOT(word) & (HLS_SLOTS - 1));
	}
	return 1;
}

/*
 * Looks at every slot, since events after the last one that was processed may have been missed. A child that wanted a
 * CPU then and now, and had an event, may have slept in between: it is treated as if it had.
 */
static inline void hls_rescan(struct hls_scheduler *s)
{
	hls_word wanting = hls_load(&s->kernel->wanting);

	for (unsigned slot = HLS_AGENT + 1; slot < HLS_SLOTS; slot++) {
		const struct hls_kernel_slot *now = &s->kernel->slot[slot];
		if (hls_load(&now->child) != s->known[slot].child)
			hls_take_removed(s, slot);
		hls_take_new(s, slot);
		if (hls_load(&now->event) > s->seen)
			hls_take_wish(s, slot, 0);
		hls_take_wish(s, slot, (wanting >> slot) & 1);
	}
}

/* Tells the policy how much CPU time its children had. */
static inline void hls_take_times(struct hls_scheduler *s)
{
	unsigned slot;

	if (!s->policy->elapsed)
		return;
	hls_for_each_slot (slot, s->present) {
		hls_word ran_ns = hls_load(&s->kernel->slot[slot].ran_ns), before_ns = s->known[slot].ran_ns;
		s->known[slot].ran_ns = ran_ns;
		if (ran_ns > before_ns)
			s->policy->elapsed(s, slot, ran_ns - before_ns);
	}
}

/* Processes all events. */
static inline void hls_take_events(struct hls_scheduler *s)
{
	hls_word events = hls_load(&s->kernel->events), width = hls_load(&s->kernel->width);

	s->cpus = hls_load(&s->kernel->cpus);
	s->width = width < 1 ? 1 : width < HLS_SLOTS ? (unsigned)width : HLS_SLOTS;
	s->now_ns = hls_load(&s->kernel->at_ns);
	hls_take_times(s);
	if (!hls_take_ring(s, events))
		hls_rescan(s);
	s->seen = events;
	if (s->wake_at_ns && s->wake_at_ns <= s->now_ns) {
		s->wake_at_ns = 0;
		if (s->policy->timer)
			s->policy->timer(s);
	}
}

/*
 * Decisions.
 */

/* Tells the engine which urgencies have changed. */
static inline void hls_show_touched(struct hls_scheduler *s)
{
	if (s->touched)
		__atomic_fetch_or(&s->user->touched, s->touched, __ATOMIC_RELEASE);
	s->touched = 0;
}

/* The candidate that the policy chooses for the CPU; HLS_NOBODY: the urgencies choose. */
static inline unsigned hls_choose(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	unsigned slot = HLS_NOBODY;

	if (candidates && s->policy->schedule)
		slot = s->policy->schedule(s, cpu, candidates);
	return slot < HLS_SLOTS && (candidates >> slot) & 1 ? slot : HLS_NOBODY;
}

/* Slots that the decisions for other CPUs name. */
static inline hls_word hls_chosen_elsewhere(const struct hls_scheduler *s, unsigned cpu)
{
	hls_word chosen = 0;
	unsigned other;

	hls_for_each_slot (other, s->width > 1 ? s->cpus & ~HLS_BIT(cpu) : 0) {
		hls_word decision = hls_load(&s->user->next[other]);
		if (decision & HLS_NAMED)
			chosen |= HLS_BIT(HLS_DECISION_SLOT(decision));
	}
	return chosen;
}

/*
 * Asks the policy which children get the CPUs, and writes the decisions. A scheduler that has fewer CPUs at once than
 * there are may have any of them: its decisions for the first ones also hold for the others.
 */
static inline void hls_decide(struct hls_scheduler *s)
{
	hls_word candidates = s->wanting & ~s->held, knows = s->width > 1 ? HLS_LOOSE : 0, decision[HLS_SLOTS];
	unsigned cpu, place = 0;

	hls_for_each_slot (cpu, s->cpus) {
		if (place < s->width) {
			unsigned slot = hls_choose(s, cpu, candidates);
			decision[place] = slot < HLS_SLOTS ? HLS_DECISION(s->seen, knows, 0, slot) : 0;
			candidates &= ~(slot < HLS_SLOTS ? HLS_BIT(slot) : 0);
		}
		hls_store(&s->user->next[cpu], decision[place % s->width]);
		place++;
	}
}

/* The agent is asked about the next event of this kind of the child, once. */
static inline void hls_ask_once(struct hls_scheduler *s, unsigned kind, unsigned slot)
{
	s->asks_once = 1;
	__atomic_fetch_or(&s->user->ask[kind], HLS_BIT(slot), __ATOMIC_RELEASE);
}

/*
 * The turn.
 */

/* The most rounds of a turn: it begins again if there were events meanwhile. */
#define HLS_MOST_ROUNDS 4

/* Processes the events, asks the policy, and answers; repeats while there are events, as the paper's Figure 5 does. */
static inline void hls_turn(struct hls_scheduler *s)
{
	for (unsigned round = 0; round < HLS_MOST_ROUNDS; round++) {
		hls_take_events(s);
		hls_decide(s);
		if (hls_load(&s->kernel->events) == s->seen)
			break;
	}
	hls_show_touched(s);
	if (s->asks_once)
		hls_show_asks(s);
	hls_store(&s->user->wake_at_ns, s->wake_at_ns);
	hls_store(&s->user->answered, s->seen);
}

/* Begins with the contents of the kernel page. Clears what an earlier agent left in the user page. */
static inline void hls_scheduler_init(struct hls_scheduler *s, const struct hls_user_policy *policy, void *own,
				      const struct hls_kernel_page *kernel, struct hls_user_page *user)
{
	memset(s, 0, sizeof(*s));
	s->own = own;
	s->settings = getenv("HLS_SETTINGS");
	s->policy = policy;
	s->kernel = kernel;
	s->user = user;
	for (unsigned i = 0; i < HLS_SLOTS; i++) {
		hls_store(&user->next[i], 0);
		hls_store(&user->slice[i], 0);
		hls_show_urgency(s, i);
	}
	for (unsigned kind = 0; kind < HLS_NR_EVENTS; kind++)
		s->asks[kind] = !policy->asks || (policy->asks >> kind) & 1 ? ~0ULL : 0;
	hls_show_asks(s);
}

/*
 * The simulator, or another program that has the two pages, calls this to give a policy a turn. *state is NULL at
 * first; then it is the agent's, and may be freed after the last turn. The pages may lie elsewhere at each turn.
 */
HLS_EXPORTED void hls_agent_turn(const struct hls_kernel_page *kernel, struct hls_user_page *user, void **state);

/* Defines that function for a struct hls_user_policy with its own state of this type, zeroed at first. */
#define HLS_AGENT_TURN(policy, type)                                                                       \
	HLS_EXPORTED void hls_agent_turn(const struct hls_kernel_page *kernel, struct hls_user_page *user, \
					 void **state)                                                     \
	{                                                                                                  \
		struct hls_agent {                                                                         \
			struct hls_scheduler scheduler;                                                    \
			type own;                                                                          \
		} *agent = (struct hls_agent *)*state;                                                     \
		if (!agent) {                                                                              \
			*state = agent = (struct hls_agent *)calloc(1, sizeof(*agent));                    \
			if (!agent)                                                                        \
				return;                                                                    \
			hls_scheduler_init(&agent->scheduler, &(policy), &agent->own, kernel, user);       \
		}                                                                                          \
		agent->scheduler.kernel = kernel;                                                          \
		agent->scheduler.user = user;                                                              \
		hls_turn(&agent->scheduler);                                                               \
	}

#endif
