/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU reservations by a time table over harmonic periods (M. B. Jones, J. Regehr, "CPU Reservations and Time
 * Constraints: Implementation Experience on Windows NT", USENIX Windows NT Symposium 1999).
 *
 * Each period divides the next longer one, and an amount may be split over several slots. The table is filled from the
 * shortest period on: in each of its periods, a VP has the first time that the VPs before it leave free. What is placed
 * so far repeats within the next longer period, so a VP has its slots at the same places of each of its periods, and
 * its budget in every window of a period in which it wants the CPU. Slots that their owner does not want, and time
 * without an owner, go round robin to the VPs that want the CPU.
 *
 *     period of a |a .|a .|a .|a .|a .|a .|a .|a .|
 *     period of b |a b a b a .|.. the first two free pieces of each period of four, and so on
 *
 * The table is not kept: in O(n) steps, from the shortest period on, the policy computes, for each VP, how much free
 * time of its present period has passed: that gives the owner of the current slot, and the slot's end. A Windows thread
 * raises and lowers priorities instead; the paper's time constraints are left to `rialto`.
 *
 * A new VP moves the slots of longer periods to later places. So a VP that may have siblings with shorter periods has
 * its budget in each of its periods, but in every window only while no VP comes. The slots of a VP that goes stay as
 * they are until all periods end. So within a period slots only move to later places: what a VP has missed before such
 * a move, it gets after it.
 */
#include "../core/policy.h"

#define RIALTO_NT_PARAMS(P)                                                          \
	P(RIALTO_NT_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "length of a turn in the time that no slot needs")
#define RIALTO_NT_VP_PARAMS(P)                                                        \
	P(RIALTO_NT_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "CPU time that the VP gets in every window of a period")                    \
	P(RIALTO_NT_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), \
	  "length of a period, which divides the longer ones")
#define RIALTO_NT_MESSAGES(M)

enum { RIALTO_NT_PARAMS(HLS_PARAM_INDEX) };
enum { RIALTO_NT_VP_PARAMS(HLS_PARAM_INDEX) };

#define RIALTO_NT_MOST_CHILDREN 32

struct rialto_nt_slots {
	u64 budget : 42, vp : 22; /* 0: of a VP that has gone */
	u64 period;
};

struct rialto_nt {
	u64 until;    /* up to when the owner is known */
	u64 clean_at; /* when all periods end after a VP has gone */
	u32 owner;    /* the owner of the current slot; 0: none */
	u32 turns;    /* search tree of READY VPs, in turn */
	u32 n;
	u32 is_new; /* the owner was looked up, and may have to be given a CPU */
	struct rialto_nt_slots table[RIALTO_NT_MOST_CHILDREN]; /* short periods first */
};

struct rialto_nt_vp {
	u64 is_turn; /* RUNNING: it was granted outside of its slots, in turn */
};

POLICY_WORDS(rialto_nt);

typedef struct rialto_nt_slots __arena rialto_nt_slots_t;

#define rialto_nt_for_each(nt, i) \
	for (u32 i = opaque(0); i < RIALTO_NT_MOST_CHILDREN && i < (nt)->n && can_loop; i++)

/* Member by member: for a whole struct, the compiler forgets that it lies in the arena. */
static void rialto_nt_copy(rialto_nt_slots_t *to, const rialto_nt_slots_t *from)
{
	to->budget = from->budget;
	to->vp = from->vp;
	to->period = from->period;
}

/* Removes the entry of the table at a place. */
static void rialto_nt_remove(hls_t *h, rialto_nt_t *nt, u32 place)
{
	(void)h;
	nt->n--;
	for (u32 i = opaque(0); i < RIALTO_NT_MOST_CHILDREN - 1 && i < nt->n && can_loop; i++)
		if (i >= place)
			rialto_nt_copy(&nt->table[i], &nt->table[i + 1]);
}

/* Frees the slots of VPs that have gone: all, or only the last ones of the table, which moves no other slots. */
HLS_RARE_FUNC u32 rialto_nt_clean(hls_t *h __arg_arena, u32 s, bool all)
{
	rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	for (u32 i = opaque(RIALTO_NT_MOST_CHILDREN); i && can_loop; i--)
		if (i <= nt->n && !nt->table[i - 1].vp && (all || i == nt->n))
			rialto_nt_remove(h, nt, i - 1);
	nt->until = 0;
	return 0;
}

/* Finds the owner of the current slot, and until when that is certain. */
HLS_RARE_FUNC u32 rialto_nt_look(hls_t *h __arg_arena, u32 s)
{
	rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	if (nt->clean_at && h->now_ns >= nt->clean_at) {
		nt->clean_at = 0;
		rialto_nt_clean(h, s, true);
	}
	/* Time of the present period that no VP before has: in all, and until now. */
	u64 last = nt->n ? nt->table[0].period : HLS_S(1), all = last, passed = h->now_ns % last;
	nt->owner = 0;
	nt->is_new = 1;
	nt->until = h->now_ns + last - passed;
	rialto_nt_for_each (nt, i) {
		const rialto_nt_slots_t *slots = &nt->table[i];
		passed += h->now_ns % slots->period / last * all;
		all *= slots->period / last;
		last = slots->period;
		if (passed < slots->budget) {
			u64 end = h->now_ns + slots->budget - passed;
			nt->owner = slots->vp;
			nt->until = end < nt->until ? end : nt->until;
			break;
		}
		passed -= slots->budget;
		all -= slots->budget;
	}
	return 0;
}

/* Whether the table has time for all. */
static bool rialto_nt_fits(hls_t *h, const rialto_nt_t *nt)
{
	(void)h;
	u64 last = nt->table[0].period, all = last;
	rialto_nt_for_each (nt, i) {
		all *= nt->table[i].period / last;
		last = nt->table[i].period;
		if (nt->table[i].budget > all)
			return false;
		all -= nt->table[i].budget;
	}
	return true;
}

/*
 * Where slots of this period belong: behind all periods of the same length or shorter; -1: of two periods, neither
 * divides the other.
 */
static s64 rialto_nt_find_place(hls_t *h, const rialto_nt_t *nt, u64 period)
{
	(void)h;
	s64 place = opaque(0);
	rialto_nt_for_each (nt, i) {
		u64 other = nt->table[i].period;
		if (other > period ? other % period : period % other)
			return -1;
		place += other <= period;
	}
	return place;
}

/* Slots of VPs that have gone stay until all periods end, the periods of new VPs included. */
static void rialto_nt_set_clean(hls_t *h, rialto_nt_t *nt)
{
	u64 longest = HLS_S(1);
	rialto_nt_for_each (nt, i)
		longest = nt->table[i].period;
	nt->clean_at = (h->now_ns / longest + 1) * longest;
}

static s64 rialto_nt_insert(hls_t *h, u32 s, u32 v)
{
	rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	s64 place = rialto_nt_find_place(h, nt, h->vp[v].param[RIALTO_NT_PERIOD]);
	if (place < 0 || nt->n >= RIALTO_NT_MOST_CHILDREN)
		return -HLS_E_CHILDREN;
	for (u32 i = opaque(RIALTO_NT_MOST_CHILDREN - 1); i && can_loop; i--)
		if (i > place && i <= nt->n)
			rialto_nt_copy(&nt->table[i], &nt->table[i - 1]);
	nt->n++;
	rialto_nt_for_each (nt, i) {
		if (i != place)
			continue;
		nt->table[i].vp = v;
		nt->table[i].budget = h->vp[v].param[RIALTO_NT_BUDGET];
		nt->table[i].period = h->vp[v].param[RIALTO_NT_PERIOD];
	}
	nt->until = 0;
	if (nt->clean_at)
		rialto_nt_set_clean(h, nt);
	if (rialto_nt_fits(h, nt))
		return 0;
	rialto_nt_remove(h, nt, place);
	return -HLS_E_CHILDREN;
}

/* v gets the slots of a VP that has gone and had the same parameters, or new ones. */
HLS_RARE_FUNC s64 rialto_nt_join(hls_t *h __arg_arena, u32 s, u32 v)
{
	rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	const vp_t *vp = &h->vp[v];
	rialto_nt_for_each (nt, i) {
		rialto_nt_slots_t *slots = &nt->table[i];
		if (slots->vp || slots->budget != vp->param[RIALTO_NT_BUDGET] ||
		    slots->period != vp->param[RIALTO_NT_PERIOD])
			continue;
		slots->vp = v;
		nt->until = 0;
		return 0;
	}
	rialto_nt_clean(h, s, !(h->scheduler[s].nr_ready | h->scheduler[s].nr_running));
	return rialto_nt_insert(h, s, v);
}

static s64 rialto_nt_register_vp(hls_t *h, u32 s, u32 v)
{
	if (h->vp[v].param[RIALTO_NT_BUDGET] > h->vp[v].param[RIALTO_NT_PERIOD])
		return -HLS_E_PARAM;
	return rialto_nt_join(h, s, v);
}

static void rialto_nt_unregister_vp(hls_t *h, u32 s, u32 v)
{
	rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	rialto_nt_for_each (nt, i)
		if (nt->table[i].vp == v)
			nt->table[i].vp = 0;
	rialto_nt_set_clean(h, nt);
	nt->until = 0;
	if (nt->owner == v)
		nt->owner = 0;
}

/*
 * Looks at the table if the owner is no longer known. Sets the timer to when the owner becomes unknown next, or to now,
 * for an owner that the timer has not returned yet. A slot may begin just when another VP comes.
 */
static void rialto_nt_look_if_over(hls_t *h, u32 s)
{
	const rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	if (h->now_ns >= nt->until)
		rialto_nt_look(h, s);
	hls_set_timer(h, s, nt->is_new && nt->owner ? h->now_ns : nt->until);
}

static void rialto_nt_request(hls_t *h, u32 s, u32 v)
{
	rialto_nt_look_if_over(h, s);
	queue_push_tree(h, &POLICY_STATE(rialto_nt, s)->turns, v, 0, queue_place(h, true));
}

static void rialto_nt_withdraw(hls_t *h, u32 s, u32 v)
{
	queue_remove_tree(h, &POLICY_STATE(rialto_nt, s)->turns, v);
}

static u32 rialto_nt_grant(hls_t *h, u32 s, u32 cpu)
{
	rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	rialto_nt_look_if_over(h, s);
	u32 v = nt->owner;
	bool is_slot = v && h->vp[v].state == HLS_READY && hls_usable(&h->vp[v], cpu);
	if (!is_slot)
		v = queue_first_usable_of_tree(h, nt->turns, cpu);
	if (!v)
		return 0;
	queue_remove_tree(h, &nt->turns, v);
	POLICY_VP(rialto_nt, v)->is_turn = !is_slot;
	h->slice_ns = is_slot ? nt->until - h->now_ns : h->scheduler[s].param[RIALTO_NT_QUANTUM];
	return v;
}

/* A VP loses its place in the order of turns only when it ran in turn. */
static void rialto_nt_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool was_turn = POLICY_VP(rialto_nt, v)->is_turn;
	(void)used_ns;
	h->vp[v].flags &= ~HLS_YIELDED;
	queue_push_tree(h, &POLICY_STATE(rialto_nt, s)->turns, v, 0,
			was_turn ? queue_place(h, true) : h->queue_node[v].seq);
}

static bool rialto_nt_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	const rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	(void)running;
	return nt->owner == ready && h->now_ns < nt->until;
}

/* Another slot begins. */
static u32 rialto_nt_timer(hls_t *h, u32 s)
{
	rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	if (!(h->scheduler[s].nr_ready | h->scheduler[s].nr_running))
		return 0;
	rialto_nt_look_if_over(h, s);
	bool is_new = nt->is_new;
	nt->is_new = 0;
	hls_set_timer(h, s, nt->until);
	return is_new ? nt->owner : 0;
}

/* Each child has its slots, and each period divides the next one. */
static bool rialto_nt_check_invariants(hls_t *h, u32 s)
{
	const rialto_nt_t *nt = POLICY_STATE(rialto_nt, s);
	u32 children = opaque(0);
	rialto_nt_for_each (nt, i) {
		u32 v = nt->table[i].vp;
		if (v && (h->vp[v].parent != s || nt->table[i].period != h->vp[v].param[RIALTO_NT_PERIOD]))
			return false;
		if (i && nt->table[i].period % nt->table[i - 1].period)
			return false;
		children += v != 0;
	}
	return children == h->scheduler[s].nr_children && (!nt->n || rialto_nt_fits(h, nt));
}

static const struct hls_policy rialto_nt_policy = {
    .name = "rialto-nt",
    .what = "a time table for periods of which each divides the next",
    .source = "Jones and Regehr, USENIX Windows NT Symposium 1999",
    .most_children = RIALTO_NT_MOST_CHILDREN,
    .serial = true,
    .plans = true,
    .register_vp = rialto_nt_register_vp,
    .unregister_vp = rialto_nt_unregister_vp,
    .request = rialto_nt_request,
    .withdraw = rialto_nt_withdraw,
    .grant = rialto_nt_grant,
    .revoke = rialto_nt_revoke,
    .preempts = rialto_nt_preempts,
    .timer = rialto_nt_timer,
    .check_invariants = rialto_nt_check_invariants,
};
