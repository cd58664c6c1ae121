/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Starvation bypass. A starved thread may hold up something for which the whole machine waits, such as a grace period
 * of RCU, and after half a minute of starvation sched_ext would end the run. So a thread that has waited for STARVED_NS
 * gets a CPU for a moment, which is stolen time for the thread to which that CPU is granted. Starved threads take
 * turns: the more there are, the shorter are turns and moments, so that moments are no more than a twentieth of a CPU.
 * When turns cannot get shorter, several threads share one.
 *
 * Starved threads wait in lists, which one timer alone reads and changes. Once a second that timer looks at all threads
 * for new starved ones; so a turn takes no longer if there are more threads. The threads of a turn wait for their CPU
 * in a list of that CPU. A thread that was preempted while RCU may wait for it starves sooner, and has its CPU until
 * RCU no longer waits for it: the kernel ends the run when RCU has waited for 21 s. Such threads have a list of their
 * own, and every other place in turns: so they come soon, and cannot hold up the others.
 *
 * A thread is stranded if it waits for CPUs that have all gone, or are about to go, because it is bound to them or
 * cannot migrate at present. Such a CPU takes no decisions, and cannot go before the thread has left it. So another CPU
 * puts the thread on it.
 */
#ifndef HLS_BPF_RESCUE_H
#define HLS_BPF_RESCUE_H

#include "cpus.h"
#include "errands.h"
#include "moment.h"
#include "run.h"

#define STARVED_NS HLS_S(5)
/* The same for a thread that was preempted while RCU may wait for it: all that frees memory may wait for the thread. */
#define READER_STARVED_NS HLS_S(1)
/*
 * How often starved threads are looked for, and the length of a round, in which each has a turn: long before sched_ext
 * would end the run.
 */
#define RESCUE_INTERVAL_NS HLS_S(1)
#define RESCUE_ROUND_NS HLS_S(10)
#define RESCUE_LONGEST_TURN_NS HLS_MS(100)
#define RESCUE_SHORTEST_TURN_NS HLS_MS(5)
/* The most threads that one turn looks at, to find threads that its CPUs can run. */
#define RESCUE_LOOKS 256
/* The link of the last thread of a list. */
#define RESCUE_END HLS_MAX_VPS

static __always_inline u64 turn_of(u32 starved)
{
	u64 turn_ns = RESCUE_ROUND_NS / starved;
	if (turn_ns > RESCUE_LONGEST_TURN_NS)
		return RESCUE_LONGEST_TURN_NS;
	return turn_ns < RESCUE_SHORTEST_TURN_NS ? RESCUE_SHORTEST_TURN_NS : turn_ns;
}

/* How many threads share a turn on a CPU. */
static __always_inline u32 threads_a_turn(u32 starved, u64 turn_ns)
{
	return 1 + (starved * turn_ns - 1) / RESCUE_ROUND_NS;
}

/* The CPUs that are to get starved threads (also to_kick), and those that have one. */
static __always_inline u64 in_rescue(u64 *to_kick)
{
	u64 busy = 0;
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && can_loop; cpu++) {
		*to_kick |= (u64) !!domain->cpu[cpu].rescue << cpu;
		busy |= (u64) !!domain->cpu[cpu].rescued << cpu;
	}
	return busy | *to_kick;
}

/* Takes the first thread out of the CPU's list of threads to rescue; returns its VP. */
static __always_inline u32 next_to_rescue(struct engine_cpu __arena *c)
{
	u32 v = c->rescue < HLS_MAX_VPS ? c->rescue : 0, next = domain->next_starved[v];
	c->rescue = next < HLS_MAX_VPS ? next : 0;
	domain->next_starved[v] = 0;
	return v;
}

/* A CPU that is offline rescues no thread: empties its list; those threads are found again. */
static __always_inline void forget_turn(u32 cpu)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu];
	for (u32 i = opaque(0); i < RESCUE_LOOKS && c->rescue && can_loop; i++)
		next_to_rescue(c);
}

/* Whether all CPUs that the thread may use have gone. */
static __always_inline bool is_stranded(const struct engine_thread __arena *t)
{
	return !(t->cpus & ~domain->hls.offline);
}

/* Does what operations have left to a timer, in the timer that goes off first. */
static __always_inline void do_what_was_left(void)
{
	if (unlikely(domain->first_errand))
		do_errands();
	if (unlikely(domain->cpus_gone | domain->cpus_back))
		change_noted_cpus();
}

/* Whether the thread of v has waited for too long, or is stranded: it is to be rescued. */
static __always_inline bool is_starved(u32 v, u64 now)
{
	const struct engine_thread __arena *t = &domain->thread[v];
	u64 since = t->queued_at_ns;
	if (!since || now >= since + STARVED_NS || is_stranded(t))
		return since;
	return now >= since + READER_STARVED_NS && is_reader(v);
}

static __always_inline u32 nr_starved(void)
{
	return domain->starved[false].length + domain->starved[true].length;
}

/* Puts v at the end of its list of starved threads. */
static __always_inline void push_starved(u32 v)
{
	struct starved_list __arena *list = &domain->starved[is_reader(v)];
	domain->next_starved[v] = RESCUE_END;
	if (list->length++)
		domain->next_starved[list->last] = v;
	else
		list->first = v;
	list->last = v;
}

/* Takes the first out of the list of starved threads that has its turn, or else out of the other; there must be one. */
static __always_inline u32 pop_starved(void)
{
	u32 turn = domain->starved_turn & 1;
	if (!domain->starved[turn].length)
		turn ^= 1;
	struct starved_list __arena *list = &domain->starved[turn];
	u32 v = list->first < HLS_MAX_VPS ? list->first : 0;
	domain->starved_turn = turn ^ 1;
	list->first = domain->next_starved[v];
	domain->next_starved[v] = 0;
	list->length--;
	return v;
}

/* Looks for new starved threads, among all threads. */
HLS_GLOBAL_FUNC u32 list_starved(u64 now)
{
	u32 vps = domain->hls.used_vps;
	for (u32 v = opaque(1); v <= vps && v < HLS_MAX_VPS && can_loop; v++)
		if (unlikely(is_starved(v, now)) && !domain->next_starved[v])
			push_starved(v);
	return 0;
}

/* Adds the thread of v to the turn on this CPU, behind the others. Returns how many threads the turn has now. */
static __always_inline u32 share_turn(u32 cpu, u32 v)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	if (c->turn_threads)
		domain->next_starved[c->turn_last] = v;
	else
		c->turn_first = v;
	c->turn_last = v;
	domain->next_starved[v] = RESCUE_END;
	return ++c->turn_threads;
}

/*
 * Chooses the threads of a turn: up to `most` for each of these CPUs. Returns the CPUs that got some. Threads that no
 * longer starve leave their list, and threads that can use none of the CPUs go to its end.
 */
HLS_GLOBAL_FUNC u64 choose_starved(u64 cpus, u32 most, u64 now)
{
	u64 chosen = opaque(0);
	for (u32 i = opaque(0); i < RESCUE_LOOKS && nr_starved() && cpus && can_loop; i++) {
		u32 v = pop_starved();
		const struct engine_thread __arena *t = &domain->thread[v];
		if (!is_starved(v, now))
			continue;
		u64 usable = is_stranded(t) ? cpus : t->cpus & cpus;
		if (!usable) {
			push_starved(v);
			continue;
		}
		u32 cpu = __builtin_ctzll(usable);
		chosen |= 1ULL << cpu;
		if (share_turn(cpu, v) >= most)
			cpus &= ~(1ULL << cpu);
	}
	return chosen;
}

/* Makes these CPUs rescue the threads that were chosen for them. */
static __always_inline void begin_turn(u64 cpus)
{
	for (u32 cpu = opaque(0); cpu < HLS_MAX_CPUS && cpus && can_loop; cpu++) {
		struct engine_cpu __arena *c = &domain->cpu[cpu];
		if (!((cpus >> cpu) & 1))
			continue;
		c->turn_threads = 0;
		/* The exchange: the CPU sees the whole list, or nothing of it. */
		__sync_val_compare_and_swap(&c->rescue, 0, c->turn_first);
	}
}

/* Gives starved threads a turn on each CPU that rescues none yet. Returns the time in ns after which to look again. */
HLS_GLOBAL_FUNC u64 rescue_starved(void)
{
	u64 now = scx_bpf_now(), due = 0, online = domain->hls.cpus & ~domain->hls.offline;
	u64 free = online & ~in_rescue(&due);
	for (u64 gone = due & ~online; gone && can_loop; gone &= gone - 1)
		forget_turn(__builtin_ctzll(gone) & (HLS_MAX_CPUS - 1));
	if (now >= domain->looked_at_ns + RESCUE_INTERVAL_NS) {
		domain->looked_at_ns = now;
		look_for_run(now);
		list_starved(now);
	}
	u32 starved = nr_starved();
	if (starved) {
		u64 turn_ns = turn_of(starved), most = threads_a_turn(starved, turn_ns);
		domain->rescue_moment_ns = turn_ns / MOMENT_PART / most;
		u64 chosen = choose_starved(free, most, now);
		begin_turn(chosen);
		kick((due & online) | chosen);
		return turn_ns;
	}
	kick(due & online);
	return RESCUE_INTERVAL_NS;
}

/* Puts a stranded thread on the CPU where it is, until the kernel can push it off. */
HLS_GLOBAL_FUNC u32 insert_stranded(u32 v)
{
	struct task_struct *task = thread_of(v);
	if (task)
		insert(task, SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(task), SLICE_NS, 0);
	return 0;
}

/*
 * Rescues the first starved thread in this CPU's list, without a grant. Returns whether this CPU has it now. From
 * dispatch(), under the lock.
 */
HLS_GLOBAL_FUNC bool insert_starved(u32 cpu, u64 now)
{
	struct engine_cpu __arena *c = &domain->cpu[cpu & (HLS_MAX_CPUS - 1)];
	u32 v = next_to_rescue(c);
	struct engine_thread __arena *t = &domain->thread[v];
	if (!t->queued_at_ns || !(is_stranded(t) || t->cpus >> cpu & 1))
		return false;
	if (is_stranded(t)) {
		t->queued_at_ns = 0;
		insert_stranded(v);
		return false;
	}
	begin_moment(cpu, v, domain->rescue_moment_ns, false, now);
	return true;
}

#endif
