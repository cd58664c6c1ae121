/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For authors of user-level schedulers: a program decides which threads of a hierarchy run, and writes no word of the
 * pages of hls_pages.h itself. docs/user-level-schedulers.md begins at the beginning.
 *
 *	static unsigned first(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
 *	{
 *		return __builtin_ctzll(candidates);
 *	}
 *	static const struct hls_user_policy policy = {.schedule = first};
 *	HLS_SCHEDULER_PROGRAM(policy, struct {int none;})
 *
 * An author writes the functions of Figure 8 of G. Parmer and R. West, "Predictable and Configurable Component-Based
 * Scheduling in the Composite OS", ACM TECS 13(1s), 2013. This file is the library beside them (section 2.5 there): it
 * works off the events, tells the policy, asks it who is to run, and writes that into the page.
 *
 * The agent, the thread that runs the policy, does this in a turn, and parks by sched_yield() until it is asked again
 * (hls_scheduler_run). A turn makes no system call and uses nothing but the two pages and what it is given, so that the
 * simulator plays it as well (hls_agent_turn). Another thread of the process may decide just before it blocks
 * (hls_decide_blocking), or name who is next and let that one run (hls_switch_to).
 *
 * C11 and C++, header only; where a strict standard hides system calls, define _GNU_SOURCE.
 */
#ifndef HLS_SCHEDULER_H
#define HLS_SCHEDULER_H

#include "hls.h"
#include "hls_pages.h"
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The answer of schedule() where the urgencies are to choose. */
#define HLS_NOBODY HLS_SLOTS

#define HLS_BIT(n) (1ULL << (n))

#ifdef __cplusplus
#define HLS_EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define HLS_EXPORTED __attribute__((visibility("default")))
#endif

/* Runs the statement for each slot in a mask, from the least on. */
#define hls_for_each_slot(slot, mask)                                                                           \
	for (hls_word slots_of_##slot = (mask); slots_of_##slot && (slot = hls_first_slot(slots_of_##slot), 1); \
	     slots_of_##slot &= slots_of_##slot - 1)

struct hls_scheduler;

/* What makes a policy. Any of the functions may be absent. */
struct hls_user_policy {
	/* A child has come, and wants no CPU yet; it has gone, whether or not it wanted one. */
	void (*thread_new)(struct hls_scheduler *s, unsigned slot);
	void (*thread_remove)(struct hls_scheduler *s, unsigned slot);
	/* The child wants a CPU from now on; none any more. */
	void (*wakeup)(struct hls_scheduler *s, unsigned slot);
	void (*block)(struct hls_scheduler *s, unsigned slot);
	/* It has let others go first; or it has to, because its slice is over. */
	void (*yielded)(struct hls_scheduler *s, unsigned slot);
	/* It has had so much CPU time more. Comes before what happened after that time. */
	void (*elapsed)(struct hls_scheduler *s, unsigned slot, hls_word ran_ns);
	/* The time of hls_wake_at() has come. */
	void (*timer)(struct hls_scheduler *s);
	/*
	 * Who of the candidates, a bit a slot and at least one, is to have the CPU. Changes nothing: it may be asked
	 * what would be if a candidate were not there.
	 */
	unsigned (*schedule)(struct hls_scheduler *s, unsigned cpu, hls_word candidates);
	/* HLS_BIT() of each event that the agent is asked about at once; 0: all. It hears of the others later. */
	hls_word asks;
};

/* What the library knows of a child. */
struct hls_known {
	hls_word child; /* by its number in the kernel page */
	hls_word ran_ns;
	hls_word urgency; /* that the policy gave it; 0: that of the hierarchy */
	hls_word slices;  /* that the policy gave it so far */
};

/* A scheduler. A policy reads the first members; the others are the library's. */
struct hls_scheduler {
	void *own;       /* the policy's own state */
	hls_word now_ns; /* the time: not later than it is, and not much earlier */
	unsigned cpus;   /* decisions are made for CPUs 0 to cpus - 1 */
	unsigned width;  /* how many of them the scheduler has at once; 1: any CPU, and decisions are strict */
	const char *settings;

	const struct hls_kernel_page *kernel;
	struct hls_user_page *user;
	const struct hls_user_policy *policy;
	hls_word seen;       /* the last event that was worked off */
	hls_word present;    /* slots with a child, but for the agent's */
	hls_word wanting;    /* of them, those that want a CPU */
	hls_word held;       /* of them, those that are to get none */
	hls_word touched;    /* urgencies that the page has, and the engine was not told of */
	hls_word wake_at_ns; /* when the policy wants its timer; 0: it does not */
	hls_word asks[HLS_NR_EVENTS];
	hls_word helped; /* slots whose urgency is the greatest, because they have, or had, the lock */
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

/* By what number the hierarchy knows the child in the slot: of a thread, its TID; 0: the slot is free. */
static inline hls_word hls_child(const struct hls_scheduler *s, unsigned slot)
{
	return s->known[slot].child;
}

/* Writes the urgency of a child as it is to be. */
static inline void hls_show_urgency(struct hls_scheduler *s, unsigned slot)
{
	hls_word urgency = (s->held >> slot) & 1 ? HLS_HELD : s->known[slot].urgency;

	if (hls_load(&s->user->urgency[slot]) == urgency)
		return;
	hls_store(&s->user->urgency[slot], urgency);
	s->touched |= HLS_BIT(slot);
}

/* Where no decision says who runs, the child of the greatest urgency does. 0: that which the hierarchy states. */
static inline void hls_set_urgency(struct hls_scheduler *s, unsigned slot, hls_word urgency)
{
	s->known[slot].urgency = urgency < HLS_MOST_URGENT ? urgency : HLS_MOST_URGENT;
	hls_show_urgency(s, slot);
}

/* The child gets no CPU until it is let go. It is no candidate meanwhile. */
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
 * with what is left of its slice. Slices of less than 100 us last that long.
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

/* Writes about which events the agent is asked. */
static inline void hls_show_asks(struct hls_scheduler *s)
{
	s->asks_once = 0;
	for (unsigned kind = 0; kind < HLS_NR_EVENTS; kind++)
		hls_store(&s->user->ask[kind], s->asks[kind]);
}

/* Has the agent asked at once about these events of the child (HLS_BIT), and about no others. */
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
 * What the settings say of a slot: the value at this place, from 0 on; `otherwise`, if they do not. The settings are
 * the environment's HLS_SETTINGS, for each slot that they name its values: "1=3,20ms 2=4,50ms".
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

/* A child is in the slot, which the library does not know yet. */
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

/* The child in the slot has gone. The next one there begins with nothing of it. */
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

/* The child in the slot wants a CPU, or none. */
static inline void hls_take_wish(struct hls_scheduler *s, unsigned slot, unsigned wants)
{
	void (*told)(struct hls_scheduler *, unsigned) = wants ? s->policy->wakeup : s->policy->block;

	if (!((s->present >> slot) & 1) || ((s->wanting >> slot) & 1) == wants)
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
	case HLS_EVENT_BLOCK:
		hls_take_wish(s, slot, kind == HLS_EVENT_WAKEUP);
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

/* Works off the events in the ring up to this one. Returns 0 if the ring has one of them no more. */
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
 * Looks at every slot, as events of it after the last that was worked off may have been missed. Who wanted a CPU then
 * and now, and had an event, may have slept between: it is as if it had.
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

/* Tells the policy what CPU time its children had. */
static inline void hls_take_times(struct hls_scheduler *s)
{
	unsigned slot;

	hls_for_each_slot (slot, s->present) {
		const struct hls_kernel_slot *now = &s->kernel->slot[slot];
		hls_word ran_ns = hls_load(&now->ran_ns), before_ns = s->known[slot].ran_ns;
		if (ran_ns == before_ns || hls_load(&now->child) != s->known[slot].child)
			continue;
		s->known[slot].ran_ns = ran_ns;
		if (ran_ns > before_ns && s->policy->elapsed)
			s->policy->elapsed(s, slot, ran_ns - before_ns);
	}
}

/* Works off all events that there are. */
static inline void hls_take_events(struct hls_scheduler *s)
{
	hls_word events = hls_load(&s->kernel->events);

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

/* Tells the engine whose urgencies have changed. */
static inline void hls_show_touched(struct hls_scheduler *s)
{
	if (s->touched)
		__atomic_fetch_or(&s->user->touched, s->touched, __ATOMIC_RELEASE);
	s->touched = 0;
}

/* Whom the policy wants to have the CPU, of the candidates; HLS_NOBODY: whom urgencies choose. */
static inline unsigned hls_choose(struct hls_scheduler *s, unsigned cpu, hls_word candidates)
{
	unsigned slot = HLS_NOBODY;

	if (candidates && s->policy->schedule)
		slot = s->policy->schedule(s, cpu, candidates);
	return slot < HLS_SLOTS && (candidates >> slot) & 1 ? slot : HLS_NOBODY;
}

/* Slots that decisions name for other CPUs than this one. */
static inline hls_word hls_chosen_elsewhere(const struct hls_scheduler *s, unsigned cpu)
{
	hls_word chosen = 0;

	for (unsigned other = 0; other < s->cpus && s->width > 1; other++) {
		hls_word decision = hls_load(&s->user->next[other]);
		if (other % s->width != cpu % s->width && decision & HLS_NAMED)
			chosen |= HLS_BIT(HLS_DECISION_SLOT(decision));
	}
	return chosen;
}

/* Asks the policy for whom the CPUs are, and writes that down. */
static inline void hls_decide(struct hls_scheduler *s)
{
	hls_word candidates = s->wanting & ~s->held, knows = s->width > 1 ? HLS_LOOSE : 0;

	for (unsigned place = 0; place < s->width; place++) {
		unsigned slot = hls_choose(s, place, candidates);
		hls_word decision = slot < HLS_SLOTS ? HLS_DECISION(s->seen, knows, 0, slot) : 0;
		for (unsigned cpu = place; cpu < s->cpus; cpu += s->width)
			hls_store(&s->user->next[cpu], decision);
		if (slot < HLS_SLOTS)
			candidates &= ~HLS_BIT(slot);
	}
}

/*
 * The lock.
 *
 * What a policy keeps, and what the library knows, is for one thread at a time: for the agent in its turn, or for a
 * thread of the process that has taken this lock. Taking it makes no system call but where two meet. The agent never
 * waits for it: it puts its turn off, and urgencies choose meanwhile.
 *
 * As in the paper (section 2.4), whoever wants the lock helps the thread that has it: that thread has the greatest
 * urgency until it gives the lock back. A thread that dies with the lock leaves the scheduler to urgencies.
 */

/* The word of the lock: 1 more than the slot of who has it; whether a thread waits; whether a turn was put off. */
#define HLS_LOCK_OWNER 0xffU
#define HLS_LOCK_IS_AWAITED 0x100U
#define HLS_LOCK_IS_IN_TURN 0x200U

/* A turn that was put off begins after so long, if who has the lock is no child and cannot have the agent asked. */
#define HLS_PUT_OFF_NS 1000000

static inline int hls_change_lock(struct hls_scheduler *s, unsigned *from, unsigned to)
{
	return __atomic_compare_exchange_n(&s->lock, from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Takes the lock for the child in the slot, the agent's too, HLS_NOBODY: for another thread. Returns 0 if it is taken. */
static inline int hls_try_lock(struct hls_scheduler *s, unsigned slot)
{
	unsigned word = 0;

	return hls_change_lock(s, &word, slot + 1);
}

/* Helps the child that has the lock, by the word of the lock. Comes before the note in that word. */
static inline void hls_help(struct hls_scheduler *s, unsigned word)
{
	unsigned slot = (word & HLS_LOCK_OWNER) - 1;

	if (slot == HLS_AGENT || slot >= HLS_SLOTS)
		return;
	__atomic_fetch_or(&s->helped, HLS_BIT(slot), __ATOMIC_ACQ_REL);
	hls_store(&s->user->urgency[slot], HLS_MOST_URGENT);
	__atomic_fetch_or(&s->user->touched, HLS_BIT(slot), __ATOMIC_RELEASE);
}

/* Those who were helped have their own urgencies again. */
static inline void hls_end_help(struct hls_scheduler *s)
{
	unsigned slot;

	if (!hls_load(&s->helped))
		return;
	hls_for_each_slot (slot, __atomic_exchange_n(&s->helped, 0, __ATOMIC_ACQ_REL))
		hls_show_urgency(s, slot);
	hls_show_touched(s);
}

static inline long hls_futex(unsigned *word, int operation, unsigned value)
{
	return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* Has the agent asked about the next event of this kind of the child, once. */
static inline void hls_ask_once(struct hls_scheduler *s, unsigned kind, unsigned slot)
{
	s->asks_once = 1;
	__atomic_fetch_or(&s->user->ask[kind], HLS_BIT(slot), __ATOMIC_RELEASE);
}

/* Gives the lock back, which hls_lock() or hls_try_lock() took for the child in the slot. */
static inline void hls_unlock(struct hls_scheduler *s, unsigned slot)
{
	unsigned word = slot + 1;

	do {
		hls_end_help(s);
		if (word & HLS_LOCK_IS_IN_TURN && slot < HLS_SLOTS)
			hls_ask_once(s, HLS_EVENT_YIELD, slot);
	} while (!hls_change_lock(s, &word, 0));
	if (word & HLS_LOCK_IS_AWAITED)
		hls_futex(&s->lock, FUTEX_WAKE_PRIVATE, 1);
	if (word & HLS_LOCK_IS_IN_TURN)
		sched_yield();
}

/* The slot of the calling thread; HLS_NOBODY: it is no child of the scheduler. */
static inline unsigned hls_self(const struct hls_scheduler *s)
{
	static __thread hls_word tid;
	static __thread unsigned slot;

	if (!tid)
		tid = (hls_word)syscall(SYS_gettid);
	if (hls_load(&s->kernel->slot[slot].child) == tid)
		return slot;
	for (unsigned i = 0; i < HLS_SLOTS; i++) {
		if (hls_load(&s->kernel->slot[i].child) == tid)
			return slot = i;
	}
	return HLS_NOBODY;
}

/*
 * Names who is to have this CPU after the next event, if that is the calling thread's: it is going to block, or to
 * yield. HLS_NOBODY: nobody.
 */
static inline void hls_name_next(struct hls_scheduler *s, unsigned self, unsigned next)
{
	int cpu = sched_getcpu();
	hls_word events = hls_load(&s->kernel->events);

	if (cpu >= 0 && cpu < HLS_SLOTS && self < HLS_SLOTS)
		hls_store(&s->user->next[cpu],
			  next < HLS_SLOTS ? HLS_DECISION(events + 1, HLS_AFTER, self, next) : 0);
}

/* Takes the lock; waits for it. Never to be called by the agent. Returns the caller's slot, for hls_unlock(). */
static inline unsigned hls_lock(struct hls_scheduler *s)
{
	unsigned self = hls_self(s), word = 0, note = 0;

	while (!hls_change_lock(s, &word, (self + 1) | note)) {
		if (!word)
			continue;
		hls_help(s, word);
		note = HLS_LOCK_IS_AWAITED;
		if (hls_change_lock(s, &word, word | note)) {
			hls_name_next(s, self, (word & HLS_LOCK_OWNER) - 1);
			hls_futex(&s->lock, FUTEX_WAIT_PRIVATE, word | note);
		}
		word = 0;
	}
	return self;
}

/*
 * The agent's turn.
 */

/* How often a turn begins again because there were events meanwhile. */
#define HLS_MOST_ROUNDS 4

/* Works off the events, asks the policy, and answers; goes on while there are events, as the paper's Figure 5 does. */
static inline void hls_work(struct hls_scheduler *s)
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

/*
 * Another thread has the lock: the agent is to park, and to be asked when that thread gives it back. Returns 0 if the
 * lock may be free by now.
 */
static inline int hls_put_off(struct hls_scheduler *s)
{
	unsigned word = __atomic_load_n(&s->lock, __ATOMIC_ACQUIRE);

	if (!word)
		return 0;
	hls_help(s, word);
	if (!hls_change_lock(s, &word, word | HLS_LOCK_IS_IN_TURN))
		return 0;
	for (unsigned cpu = 0; cpu < s->cpus; cpu++)
		hls_store(&s->user->next[cpu], 0);
	hls_store(&s->user->wake_at_ns, hls_load(&s->kernel->at_ns) + HLS_PUT_OFF_NS);
	hls_store(&s->user->answered, hls_load(&s->kernel->asked));
	return 1;
}

/* The agent's turn. It makes no system call, unless another thread wants the lock meanwhile. */
static inline void hls_scheduler_turn(struct hls_scheduler *s)
{
	while (!hls_try_lock(s, HLS_AGENT)) {
		if (hls_put_off(s))
			return;
	}
	hls_work(s);
	hls_unlock(s, HLS_AGENT);
}

/*
 * For the threads of the process that are children of the scheduler: they save the agent's turns.
 */

/*
 * Decides who has the CPU when the calling thread has blocked, which it is going to do next. If something else happens
 * before, the decision is stale, and is not followed. Pays where the agent is not asked about HLS_EVENT_BLOCK of the
 * thread (hls_ask).
 */
static inline void hls_decide_blocking(struct hls_scheduler *s)
{
	unsigned self = hls_self(s), cpu = (unsigned)sched_getcpu();

	if (self == HLS_NOBODY || cpu >= s->cpus || !hls_try_lock(s, self))
		return;
	hls_word wake_at_ns = s->wake_at_ns, candidates;
	hls_take_events(s);
	candidates = s->wanting & ~s->held & ~HLS_BIT(self) & ~hls_chosen_elsewhere(s, cpu);
	hls_name_next(s, self, hls_choose(s, cpu % s->width, candidates));
	hls_show_touched(s);
	if (s->wake_at_ns != wake_at_ns)
		hls_ask_once(s, HLS_EVENT_BLOCK, self);
	hls_unlock(s, self);
}

/*
 * Lets the child in the slot run now, in place of the calling thread, which stays READY: the paper's
 * cos_switch_thread(). Where something else happens before, urgencies choose.
 */
static inline void hls_switch_to(struct hls_scheduler *s, unsigned slot)
{
	hls_name_next(s, hls_self(s), slot);
	sched_yield();
}

/*
 * Begins with what is in the kernel page. What the user page has of an earlier agent goes. `cpus` and `width` are 1,
 * and may be changed then.
 */
static inline void hls_scheduler_init(struct hls_scheduler *s, const struct hls_user_policy *policy, void *own,
				      const struct hls_kernel_page *kernel, struct hls_user_page *user)
{
	memset(s, 0, sizeof(*s));
	s->own = own;
	s->cpus = s->width = 1;
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
 * The agent as a thread of a process.
 */

/* A whole number that the environment states, `most` at most; `otherwise`, where it states none. */
static inline unsigned hls_environment(const char *name, unsigned otherwise, unsigned most)
{
	const char *text = getenv(name);
	unsigned long value = text ? strtoul(text, NULL, 10) : 0;

	if (!value)
		return otherwise;
	return value < most ? (unsigned)value : most;
}

/* Maps a page by its descriptor; NULL with errno. */
static inline void *hls_map_page(int descriptor, size_t size, int protection)
{
	void *page = mmap(NULL, size, protection, MAP_SHARED, descriptor, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* A scheduler by the descriptors of its pages, which may be closed then. Returns 0, or -1 with errno. */
static inline int hls_scheduler_map(struct hls_scheduler *s, const struct hls_user_policy *policy, void *own,
				    int kernel_page, int user_page)
{
	const struct hls_kernel_page *kernel =
	    (const struct hls_kernel_page *)hls_map_page(kernel_page, sizeof(struct hls_kernel_page), PROT_READ);
	struct hls_user_page *user =
	    (struct hls_user_page *)hls_map_page(user_page, sizeof(struct hls_user_page), PROT_READ | PROT_WRITE);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!kernel || !user)
		return -1;
	if (hls_load(&kernel->version) != HLS_PAGES_VERSION) {
		errno = EPROTO;
		return -1;
	}
	hls_scheduler_init(s, policy, own, kernel, user);
	s->cpus = cpus < 1 ? 1 : cpus > HLS_SLOTS ? HLS_SLOTS : (unsigned)cpus;
	s->width = hls_environment("HLS_WIDTH", 1, s->cpus);
	return 0;
}

/*
 * The scheduler that `hls ctl promote` or the hierarchy file made this process the agent of, which the environment's
 * HLS_SCHEDULER names: NAME:DESCRIPTOR:DESCRIPTOR, of the kernel page and of the user page. Returns 0, or -1 with errno:
 * ENOENT, there is none; EPROTO, it is of another version.
 */
static inline int hls_scheduler_open(struct hls_scheduler *s, const struct hls_user_policy *policy, void *own)
{
	const char *text = getenv("HLS_SCHEDULER"), *name_end = text ? strchr(text, ':') : NULL;
	int kernel_page, user_page;

	if (!name_end || sscanf(name_end, ":%d:%d", &kernel_page, &user_page) != 2) {
		errno = ENOENT;
		return -1;
	}
	return hls_scheduler_map(s, policy, own, kernel_page, user_page);
}

/*
 * What an agent does: turns, and between them it parks. Returns when the calling thread is not the agent any more, as
 * after a demotion, or when hls_scheduler_end() was called.
 */
static inline void hls_scheduler_run(struct hls_scheduler *s)
{
	hls_word self = (hls_word)syscall(SYS_gettid);

	while (!s->ended && hls_load(&s->kernel->slot[HLS_AGENT].child) == self) {
		hls_scheduler_turn(s);
		sched_yield();
	}
}

/* The agent ends when it is asked next. May be called by a signal handler, and by any thread. */
static inline void hls_scheduler_end(struct hls_scheduler *s)
{
	s->ended = 1;
}

/*
 * What the simulator, and whoever else has the two pages, calls to let a policy have a turn. *state is NULL at first;
 * then it is the agent's, and may be freed when there are no more turns. The pages may lie elsewhere at each turn.
 */
HLS_EXPORTED void hls_agent_turn(const struct hls_kernel_page *kernel, struct hls_user_page *user, void **state);

/* Defines that function for a struct hls_user_policy, whose own state, zeroed at first, is of this type. */
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
		hls_scheduler_turn(&agent->scheduler);                                                     \
	}

/* Defines main() of a program that is nothing but an agent, in the terms of HLS_AGENT_TURN. */
#define HLS_SCHEDULER_MAIN(policy, type)                               \
	int main(void)                                                 \
	{                                                              \
		static struct hls_scheduler scheduler;                 \
		static type own;                                       \
		if (hls_scheduler_open(&scheduler, &(policy), &own)) { \
			perror("HLS_SCHEDULER");                       \
			return 2;                                      \
		}                                                      \
		hls_scheduler_run(&scheduler);                         \
		return 0;                                              \
	}

/* Both: a policy as a program, and as a shared object for the simulator. */
#define HLS_SCHEDULER_PROGRAM(policy, type) \
	HLS_AGENT_TURN(policy, type)        \
	HLS_SCHEDULER_MAIN(policy, type)

#endif
