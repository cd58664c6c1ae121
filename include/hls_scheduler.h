/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For authors of user-level schedulers: a program decides which threads of a hierarchy run, without writing to the
 * pages of hls_pages.h itself. docs/user-level-schedulers.md is an introduction.
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
 * processes the events, tells the policy, asks it which child is to run, and writes that into the page.
 *
 * The agent, the thread that runs the policy, does this in a turn, and parks by sched_yield() until it is asked again
 * (hls_scheduler_run). A turn makes no system call and uses only the two pages and its arguments, so that the simulator
 * can also play it (hls_agent_turn). Another thread of the process may decide just before it blocks
 * (hls_decide_blocking), or name the next child and let it run (hls_switch_to).
 *
 * C11 and C++, header only; where a strict standard hides system calls, define _GNU_SOURCE.
 */
#ifndef HLS_SCHEDULER_H
#define HLS_SCHEDULER_H

#include "hls.h"
#include "hls_turn.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>

/*
 * The lock.
 *
 * The state of the policy and of the library is for one thread at a time: for the agent in its turn, or for a thread of
 * the process that has taken this lock. Taking it makes no system call unless two threads compete. The agent never
 * waits for it: it puts its turn off, and urgencies choose meanwhile.
 *
 * As in the paper (section 2.4), a thread that wants the lock helps the thread that has it: the holder has the greatest
 * urgency until it gives the lock back. A thread that dies with the lock leaves the scheduler to urgencies.
 */

/* The word of the lock: the holder's slot plus 1; whether a thread waits; whether a turn was put off. */
#define HLS_LOCK_OWNER 0xffU
#define HLS_LOCK_IS_AWAITED 0x100U
#define HLS_LOCK_IS_IN_TURN 0x200U

/* A turn that was put off begins after this time, if the lock's holder is no child and cannot have the agent asked. */
#define HLS_PUT_OFF_NS 1000000

static inline int hls_change_lock(struct hls_scheduler *s, unsigned *from, unsigned to)
{
	return __atomic_compare_exchange_n(&s->lock, from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Takes the lock for the thread in the slot; HLS_NOBODY: for a thread that is no child. Returns 0 if it is taken. */
static inline int hls_try_lock(struct hls_scheduler *s, unsigned slot)
{
	unsigned word = 0;

	return hls_change_lock(s, &word, slot + 1);
}

/* Helps the child that has the lock according to the word of the lock. To be called before that word is changed. */
static inline void hls_help(struct hls_scheduler *s, unsigned word)
{
	unsigned slot = (word & HLS_LOCK_OWNER) - 1;

	if (slot == HLS_AGENT || slot >= HLS_SLOTS)
		return;
	__atomic_fetch_or(&s->helped, HLS_BIT(slot), __ATOMIC_ACQ_REL);
	hls_store(&s->user->urgency[slot], HLS_MOST_URGENT);
	__atomic_fetch_or(&s->user->touched, HLS_BIT(slot), __ATOMIC_RELEASE);
}

/* Children that were helped get their own urgencies back. */
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

/*
 * Gives back the lock that hls_lock() or hls_try_lock() took for the thread in the slot. Lets those that wanted it
 * meanwhile go first: a waiting thread, the agent.
 */
static inline void hls_unlock(struct hls_scheduler *s, unsigned slot)
{
	unsigned word = slot + 1;
	long woken = 0;

	do {
		hls_end_help(s);
		if (word & HLS_LOCK_IS_IN_TURN && slot < HLS_SLOTS)
			hls_ask_once(s, HLS_EVENT_YIELD, slot);
	} while (!hls_change_lock(s, &word, 0));
	if (word & HLS_LOCK_IS_AWAITED)
		woken = hls_futex(&s->lock, FUTEX_WAKE_PRIVATE, 1);
	if (woken > 0 || word & HLS_LOCK_IS_IN_TURN)
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

/* The CPU of the calling thread. If it is unknown: a number that no page has. */
static inline unsigned hls_this_cpu(void)
{
	return (unsigned)sched_getcpu();
}

/*
 * Names the child that is to have the CPU of the calling thread when that thread has blocked or yielded, which it is
 * going to do. `events`: how many events there were; the decision holds if the next one is the thread's. `next`
 * HLS_NOBODY: no decision.
 */
static inline void hls_name_next(struct hls_scheduler *s, unsigned cpu, hls_word events, unsigned self,
				 unsigned next)
{
	if (cpu < HLS_SLOTS && self < HLS_SLOTS)
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
			hls_name_next(s, hls_this_cpu(), hls_load(&s->kernel->events), self,
				      (word & HLS_LOCK_OWNER) - 1);
			hls_futex(&s->lock, FUTEX_WAIT_PRIVATE, word | note);
		}
		word = 0;
	}
	return self;
}

/*
 * Another thread has the lock: the agent is to park, and is asked when that thread gives the lock back. Returns 0 if
 * the lock may be free by now.
 */
static inline int hls_put_off(struct hls_scheduler *s)
{
	unsigned word = __atomic_load_n(&s->lock, __ATOMIC_ACQUIRE), cpu;

	if (!word)
		return 0;
	hls_help(s, word);
	if (!hls_change_lock(s, &word, word | HLS_LOCK_IS_IN_TURN))
		return 0;
	hls_for_each_slot (cpu, hls_load(&s->kernel->cpus))
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
	hls_turn(s);
	hls_unlock(s, HLS_AGENT);
}

/*
 * For the threads of the process that are children of the scheduler: they save the agent's turns.
 */

/*
 * Decides which child has the CPU when the calling thread has blocked, which it is going to do next. If something else
 * happens before, the decision is stale, and is not followed. Worthwhile if the agent is not asked about
 * HLS_EVENT_BLOCK of the thread (hls_ask).
 */
static inline void hls_decide_blocking(struct hls_scheduler *s)
{
	unsigned self = hls_self(s), cpu = hls_this_cpu();

	if (self == HLS_NOBODY || cpu >= HLS_SLOTS || !hls_try_lock(s, self))
		return;
	hls_word wake_at_ns = s->wake_at_ns, candidates;
	hls_take_events(s);
	candidates = s->wanting & ~s->held & ~HLS_BIT(self) & ~hls_chosen_elsewhere(s, cpu);
	hls_name_next(s, cpu, s->seen, self, hls_choose(s, cpu, candidates));
	hls_show_touched(s);
	if (s->wake_at_ns != wake_at_ns)
		hls_ask_once(s, HLS_EVENT_BLOCK, self);
	hls_unlock(s, self);
}

/*
 * Lets the child in the slot run now, in place of the calling thread, which stays READY: the paper's
 * cos_switch_thread(). If something else happens before, urgencies choose.
 */
static inline void hls_switch_to(struct hls_scheduler *s, unsigned slot)
{
	hls_name_next(s, hls_this_cpu(), hls_load(&s->kernel->events), hls_self(s), slot);
	sched_yield();
}

/*
 * The agent as a thread of a process.
 */

/* Maps a page by its descriptor; on an error NULL with errno. */
static inline void *hls_map_page(int descriptor, size_t size, int protection)
{
	void *page = mmap(NULL, size, protection, MAP_SHARED, descriptor, 0);

	return page == MAP_FAILED ? NULL : page;
}

/*
 * Opens a scheduler by the descriptors of its pages, the kernel page's first. They may be closed afterwards. Returns 0,
 * or -1 with errno: EPROTO, the pages are of another version.
 */
static inline int hls_scheduler_map(struct hls_scheduler *s, const struct hls_user_policy *policy, void *own,
				    const int pages[2])
{
	const struct hls_kernel_page *kernel =
	    (const struct hls_kernel_page *)hls_map_page(pages[0], sizeof(struct hls_kernel_page), PROT_READ);
	struct hls_user_page *user =
	    (struct hls_user_page *)hls_map_page(pages[1], sizeof(struct hls_user_page), PROT_READ | PROT_WRITE);

	if (!kernel || !user)
		return -1;
	if (hls_load(&kernel->version) != HLS_PAGES_VERSION) {
		errno = EPROTO;
		return -1;
	}
	hls_scheduler_init(s, policy, own, kernel, user);
	return 0;
}

/*
 * Opens the scheduler for which `hls ctl promote` or the hierarchy file made this process the agent. HLS_SCHEDULER in
 * the environment names it: NAME:DESCRIPTOR:DESCRIPTOR, where the name may have colons, too. Returns 0, or -1 with
 * errno: ENOENT, there is none.
 */
static inline int hls_scheduler_open(struct hls_scheduler *s, const struct hls_user_policy *policy, void *own)
{
	const char *text = getenv("HLS_SCHEDULER"), *name_end = text ? strrchr(text, ':') : NULL;
	int pages[2];

	while (name_end && name_end > text && *--name_end != ':')
		;
	if (!name_end || sscanf(name_end, ":%d:%d", &pages[0], &pages[1]) != 2) {
		errno = ENOENT;
		return -1;
	}
	return hls_scheduler_map(s, policy, own, pages);
}

/*
 * Creates a scheduler of this name with the calling thread as its agent: hls_promote() of hls.h, with its errors. hls.h
 * also has the rest of the paper's Table I: hls_demote(), hls_grant() and hls_revoke().
 */
static inline int hls_scheduler_promote(struct hls_scheduler *s, const struct hls_user_policy *policy, void *own,
					const char *name, const char *below, const char *const *parameters)
{
	int pages[2];

	if (hls_promote(name, below, parameters, pages))
		return -1;
	int result = hls_scheduler_map(s, policy, own, pages);
	close(pages[0]);
	close(pages[1]);
	return result;
}

/*
 * An agent that comes back from sched_yield() this often in a row without a grant has no scheduler: the hierarchy has
 * gone, with the engine that would have said so. The agent must not go on yielding for ever.
 */
#define HLS_MOST_UNGRANTED 100000

/*
 * The work of an agent: it takes its turns, and parks between them. Returns when the calling thread is no longer the
 * agent, as after a demotion, when the hierarchy has gone, or when hls_scheduler_end() was called.
 */
static inline void hls_scheduler_run(struct hls_scheduler *s)
{
	hls_word self = (hls_word)syscall(SYS_gettid), granted_at_ns = 0;
	unsigned ungranted = 0;

	while (!s->ended && hls_load(&s->kernel->slot[HLS_AGENT].child) == self && ungranted < HLS_MOST_UNGRANTED) {
		hls_scheduler_turn(s);
		sched_yield();
		hls_word at_ns = hls_load(&s->kernel->at_ns);
		ungranted = at_ns == granted_at_ns ? ungranted + 1 : 0;
		granted_at_ns = at_ns;
	}
}

/* The agent ends the next time that it is asked. May be called by a signal handler, and by any thread. */
static inline void hls_scheduler_end(struct hls_scheduler *s)
{
	s->ended = 1;
}

/* Says why hls_scheduler_open() has failed. */
static inline void hls_scheduler_complain(void)
{
	if (getenv("HLS_SCHEDULER"))
		perror("HLS_SCHEDULER");
	else
		fputs("found no HLS_SCHEDULER in the environment, expected `hls ctl promote`, or the command of a "
		      "hierarchy file, to start this program\n",
		      stderr);
}

/* Defines main() of a program that is nothing but an agent, in the terms of HLS_AGENT_TURN. */
#define HLS_SCHEDULER_MAIN(policy, type)                               \
	int main(void)                                                 \
	{                                                              \
		static struct hls_scheduler scheduler;                 \
		static type own;                                       \
		if (hls_scheduler_open(&scheduler, &(policy), &own)) { \
			hls_scheduler_complain();                      \
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
