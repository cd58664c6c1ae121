/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU reservations and time constraints by a time table (M. B. Jones, D. Rosu, M.-C. Rosu, "CPU Reservations and Time
 * Constraints: Efficient, Predictable Scheduling of Independent Activities", SOSP 1997, sections 3 and 4).
 *
 * A VP has one slot of its `budget` in each of its periods, always at the same offset: so it has its budget in every
 * window of a period in which it wants the CPU, wherever that begins. Slots never meet, so in its slot a VP waits for
 * nobody. The rest of the time, and slots that their owners do not want, go round robin to the VPs that want the CPU.
 *
 *     period of a  |a a . . . . . .|a a . . . . . .|a a . . . . . .|a a . . . . . .|
 *     period of b  |. . b b b . . . . . . . . . . .|. . b b b . . . . . . . . . . .|     `.`: in turn
 *
 * A new VP gets the first slot from now on that is free in every period. If there is none, the policy tries to place
 * all slots anew, short periods first. That moves others' slots, so it is done only while no VP wants the CPU and no
 * sibling has a constraint.
 *
 * A time constraint asks, before the work begins, for an amount of CPU time between a start and a deadline, and is
 * answered at once. The part that the VP's own slots do not give must be free in the table: in each span from the start
 * of one constraint to the deadline of one (accepted constraints and the new one), the time outside of all slots must
 * hold what all constraints within the span have yet to get of it. This test is exact for EDF, by which free time goes
 * to accepted constraints before turns. But it counts all slots as taken, whether or not their owners will want them,
 * so an answer may be no without need.
 *
 *             begin, yes         start comes            reserved time used up, deadline, end
 *     in turn ---------> waiting ----------> by deadline -----------------------------------> in turn
 *                                               | ^
 *                                         sleep | | wake-up, if the rest is feasible still; else in turn
 *                                               v |
 *                                              asleep
 *
 * A VP that needs more than its estimate gets the rest in turn. A VP that sleeps loses the slots that pass meanwhile,
 * and a VP that asks loses the rest of its turn: none of this harms others, so a VP cannot gain by cheating. A yield
 * ends a turn, but no slot.
 *
 * Where this differs from the paper: the paper rounds periods to powers of two times the shortest, and computes a graph
 * of slots ahead of time. Here periods are not rounded; only the offset of each slot is computed ahead of time, and the
 * time of the next slot when the last one comes. The paper gives a constraint fixed pieces of the graph, and nests
 * constraints; here a constraint that begins inside another one of the same VP replaces it, if the answer is yes. A
 * start is never in the past: it is given as a time from now on. The paper's call at the end tells how much time the
 * work took; here a thread reads its clock.
 *
 * An answer of yes counts on a CPU that the scheduler has at all times.
 */
#include "../core/policy.h"

#define RIALTO_PARAMS(P)                                                          \
	P(RIALTO_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "length of a turn in the time that no slot needs")
#define RIALTO_VP_PARAMS(P)                                                                                   \
	P(RIALTO_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of the VP's slot") \
	P(RIALTO_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "time from one slot to the next")
#define RIALTO_BEGIN_FIELDS(P)                                                                            \
	P(RIALTO_START, "start", HLS_TIME, 0, 0, HLS_S(3600), "from now on")                              \
	P(RIALTO_ESTIMATE, "estimate", HLS_TIME, HLS_REQUIRED, 1, HLS_S(3600), "CPU time that is needed") \
	P(RIALTO_DEADLINE, "deadline", HLS_TIME, HLS_REQUIRED, 1, HLS_S(3600), "from now on")
#define RIALTO_END_FIELDS(P)
#define RIALTO_MESSAGES(M)                                                                          \
	M(RIALTO_BEGIN, RIALTO_BEGIN_FIELDS, "begin", "needs CPU time by a deadline: is it there?") \
	M(RIALTO_END, RIALTO_END_FIELDS, "end", "the work of the constraint is done")

enum { RIALTO_PARAMS(HLS_PARAM_INDEX) };
enum { RIALTO_VP_PARAMS(HLS_PARAM_INDEX) };
enum { RIALTO_MESSAGES(HLS_MESSAGE_INDEX) };
enum { RIALTO_BEGIN_FIELDS(HLS_PARAM_INDEX) };

#define RIALTO_MOST_CHILDREN 32
#define RIALTO_MOST_CONSTRAINTS 8
/*
 * The most rounds in which a new slot is compared with all placed slots. The calculus says where that is enough, in any
 * order: where the placed slots, taken in some order, displace the new one fewer than RIALTO_MOST_ROUNDS times.
 */
#define RIALTO_MOST_ROUNDS 128

enum rialto_reason { RIALTO_TURN, RIALTO_CONSTRAINT, RIALTO_SLOT };

/* A constraint, and the time that slots take up to its start and up to its end. */
struct rialto_job {
	u64 from, until, left_ns, slots_from, slots_until;
};

struct rialto {
	u64 owner_until;
	u32 owner; /* the VP that owns the slot until `owner_until` */
	u32 turns; /* search tree of READY VPs, in turn */
	u32 jobs;  /* search tree of READY VPs with a constraint in force, by deadline */
	u32 due; /* heap of VPs that want the CPU, by when their slot begins, or their constraint begins or ends */
	union {
		struct rialto_job job[RIALTO_MOST_CONSTRAINTS]; /* while feasibility is tested */
		u64 grid[RIALTO_MOST_CHILDREN];                 /* while a slot is placed: gcds of periods */
	};
};

struct rialto_vp {
	u64 offset : 42; /* of its slot in its periods, which begin at the time 0 */
	u64 is_placed : 1;
	u64 has_job : 1; /* READY: it lies in `jobs` */
	u64 reason : 2;  /* RUNNING: why, enum rialto_reason */
	u64 from,
	    until; /* of its constraint. When it has been unregistered: the budget and the period of its slot */
	u64 left_ns; /* free time that is reserved for the constraint. While all slots move: its old offset. When it has
			been unregistered: when its next slot would begin */
};

POLICY_WORDS(rialto);

static u64 rialto_budget(hls_t *h, u32 v)
{
	return h->vp[v].param[RIALTO_BUDGET];
}

static u64 rialto_period(hls_t *h, u32 v)
{
	return h->vp[v].param[RIALTO_PERIOD];
}

/* For a walk over v, which may not be a child yet, and its siblings: the VP after u. */
static u32 rialto_after(hls_t *h, u32 s, u32 v, u32 u)
{
	u32 next = u == v ? h->scheduler[s].first_child : h->vp[u].sib_next;
	return next == v ? h->vp[v].sib_next : next;
}

#define rialto_for_each(h, s, v, u)                                                          \
	for (u32 u = (v), n_##u = opaque(0); u && n_##u <= RIALTO_MOST_CHILDREN && can_loop; \
	     u = rialto_after(h, s, v, u), n_##u++)

/* How long ago the last slot of v began. */
static u64 rialto_phase(hls_t *h, u32 v)
{
	u64 period = rialto_period(h, v);
	return (h->now_ns + period - POLICY_VP(rialto, v)->offset) % period;
}

/* How much time of v's slots has passed at `at`, from some time before 0 on. */
static u64 rialto_slots_until(hls_t *h, u32 v, u64 at)
{
	u64 period = rialto_period(h, v), budget = rialto_budget(h, v);
	u64 passed = at + period - POLICY_VP(rialto, v)->offset, phase = passed % period;
	return passed / period * budget + (phase < budget ? phase : budget);
}

static u64 rialto_gcd(hls_t *h, u64 a, u64 b)
{
	(void)h;
	for (u32 i = opaque(0); i < 64 && b && can_loop; i++) {
		u64 rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Computes the gcds of v's period and placed slots' periods. Returns whether each is large enough for both slots. */
static bool rialto_grids(hls_t *h, u32 s, u32 fresh, u32 v)
{
	rialto_t *rialto = POLICY_STATE(rialto, s);
	u32 n = opaque(0);
	rialto_for_each (h, s, fresh, u) {
		if (u == v || !POLICY_VP(rialto, u)->is_placed)
			continue;
		u64 grid = rialto_gcd(h, rialto_period(h, u), rialto_period(h, v));
		if (n >= RIALTO_MOST_CHILDREN || grid < rialto_budget(h, u) + rialto_budget(h, v))
			return false;
		rialto->grid[n++] = grid;
	}
	return true;
}

/* How much later v's slot must begin not to meet u's slot, where the gcd of their periods is `grid`. */
static u64 rialto_push(hls_t *h, u32 v, u32 u, u64 grid)
{
	u64 offset = POLICY_VP(rialto, v)->offset, other = POLICY_VP(rialto, u)->offset;
	u64 behind = (offset + grid - other % grid) % grid;
	if (behind < rialto_budget(h, u))
		return rialto_budget(h, u) - behind;
	if (behind + rialto_budget(h, v) > grid)
		return grid - behind + rialto_budget(h, u);
	return 0;
}

/*
 * Moves v's slot on, round its period, until it meets no placed slot. Returns whether it found such an offset. The VP
 * `fresh` may not be a child yet.
 */
HLS_RARE_FUNC bool rialto_place(hls_t *h __arg_arena, u32 s, u32 fresh, u32 v)
{
	rialto_t *rialto = POLICY_STATE(rialto, s);
	rialto_vp_t *vp = POLICY_VP(rialto, v);
	u64 moved = 0;
	if (!rialto_grids(h, s, fresh, v))
		return false;
	for (u32 round = opaque(0); round < RIALTO_MOST_ROUNDS && can_loop; round++) {
		u64 before = moved;
		u32 n = opaque(0);
		rialto_for_each (h, s, fresh, u) {
			if (u == v || !POLICY_VP(rialto, u)->is_placed || n >= RIALTO_MOST_CHILDREN)
				continue;
			u64 further = rialto_push(h, v, u, rialto->grid[n++]);
			moved += further;
			vp->offset = (vp->offset + further) % rialto_period(h, v);
		}
		if (moved == before)
			return true;
		if (moved >= rialto_period(h, v))
			return false;
	}
	return false;
}

/* The first of v and its siblings that is not placed: the shortest period, and there the greatest budget; 0: none. */
static u32 rialto_next_to_place(hls_t *h, u32 s, u32 v)
{
	u32 first = 0;
	rialto_for_each (h, s, v, u) {
		if (POLICY_VP(rialto, u)->is_placed)
			continue;
		u64 period = rialto_period(h, u), least = first ? rialto_period(h, first) : HLS_NEVER;
		if (period < least || (period == least && rialto_budget(h, u) > rialto_budget(h, first)))
			first = u;
	}
	return first;
}

/* Places all slots anew, short periods first. If that fails, all stay where they were. */
static bool rialto_place_all(hls_t *h, u32 s, u32 v)
{
	bool done = false;
	rialto_for_each (h, s, v, u) {
		rialto_vp_t *vp = POLICY_VP(rialto, u);
		vp->left_ns = vp->offset;
		vp->offset = h->now_ns % rialto_period(h, u);
		vp->is_placed = 0;
	}
	for (u32 i = opaque(0); i <= RIALTO_MOST_CHILDREN && !done && can_loop; i++) {
		u32 next = rialto_next_to_place(h, s, v);
		done = !next;
		if (!next || !rialto_place(h, s, v, next))
			break;
		POLICY_VP(rialto, next)->is_placed = 1;
	}
	rialto_for_each (h, s, v, u) {
		rialto_vp_t *vp = POLICY_VP(rialto, u);
		if (!done)
			vp->offset = vp->left_ns;
		vp->left_ns = 0;
		vp->is_placed = u != v || done;
	}
	return done;
}

/* Whether v has a constraint that is in force, or will be. */
static bool rialto_has_job(hls_t *h, u32 v)
{
	const rialto_vp_t *vp = POLICY_VP(rialto, v);
	return vp->left_ns && vp->until > h->now_ns;
}

/* Whether v's constraint is in force. */
static bool rialto_is_in_job(hls_t *h, u32 v)
{
	return rialto_has_job(h, v) && POLICY_VP(rialto, v)->from <= h->now_ns;
}

/* Whether no VP wants the CPU, and no VP but v has a constraint. */
static bool rialto_is_idle(hls_t *h, u32 s, u32 v)
{
	bool idle = !(h->scheduler[s].nr_ready | h->scheduler[s].nr_running);
	rialto_for_each (h, s, v, u)
		idle = idle && (u == v || !rialto_has_job(h, u));
	return idle;
}

/* How much of its reserved time v's constraint has yet to get. */
static u64 rialto_left_ns(hls_t *h, u32 v)
{
	const rialto_vp_t *vp = POLICY_VP(rialto, v);
	if (h->vp[v].state != HLS_RUNNING || vp->reason != RIALTO_CONSTRAINT)
		return vp->left_ns;
	u64 used_ns = hls_used_ns(h, v);
	return used_ns < vp->left_ns ? vp->left_ns - used_ns : 0;
}

/*
 * Lists the constraints of v and its siblings, except for siblings that sleep in theirs. Returns how many; a number
 * above RIALTO_MOST_CONSTRAINTS means too many.
 */
static u32 rialto_list_jobs(hls_t *h, u32 s, u32 v)
{
	rialto_t *rialto = POLICY_STATE(rialto, s);
	u32 n = opaque(0);
	rialto_for_each (h, s, v, u) {
		const rialto_vp_t *vp = POLICY_VP(rialto, u);
		bool sleeps = u != v && h->vp[u].state == HLS_WAITING && vp->from <= h->now_ns;
		if (sleeps || !rialto_has_job(h, u))
			continue;
		if (n >= RIALTO_MOST_CONSTRAINTS)
			return RIALTO_MOST_CONSTRAINTS + 1;
		struct rialto_job __arena *job = &rialto->job[n++];
		job->from = vp->from > h->now_ns ? vp->from : h->now_ns;
		job->until = vp->until;
		job->left_ns = rialto_left_ns(h, u);
		job->slots_from = job->slots_until = 0;
		rialto_for_each (h, s, v, other) {
			job->slots_from += rialto_slots_until(h, other, job->from);
			job->slots_until += rialto_slots_until(h, other, job->until);
		}
	}
	return n;
}

/*
 * Whether the time outside of slots, from the start of one constraint to the end of another, holds what the constraints
 * within have yet to get.
 */
static bool rialto_span_fits(hls_t *h, const struct rialto_job __arena *job, u32 n, u32 first, u32 last)
{
	(void)h;
	u64 from = job[first].from, until = job[last].until, wanted = 0;
	if (from >= until)
		return true;
	for (u32 i = opaque(0); i < RIALTO_MOST_CONSTRAINTS && i < n && can_loop; i++)
		if (job[i].from >= from && job[i].until <= until)
			wanted += job[i].left_ns;
	return wanted + (job[last].slots_until - job[first].slots_from) <= until - from;
}

/* Whether the table holds all constraints, with the slot and the constraint of v. */
HLS_RARE_FUNC bool rialto_is_feasible(hls_t *h __arg_arena, u32 s, u32 v)
{
	const rialto_t *rialto = POLICY_STATE(rialto, s);
	u32 n = rialto_list_jobs(h, s, v);
	for (u32 i = opaque(0); i < RIALTO_MOST_CONSTRAINTS && i < n && can_loop; i++)
		for (u32 j = opaque(0); j < RIALTO_MOST_CONSTRAINTS && j < n && can_loop; j++)
			if (!rialto_span_fits(h, rialto->job, n, i, j))
				return false;
	return n <= RIALTO_MOST_CONSTRAINTS;
}

/* Finds a slot. A VP that comes back with the same parameters gets its old slot. */
static s64 rialto_register_vp(hls_t *h, u32 s, u32 v)
{
	rialto_vp_t *vp = POLICY_VP(rialto, v);
	u64 budget = rialto_budget(h, v), period = rialto_period(h, v);
	bool is_back = vp->is_placed && vp->from == budget && vp->until == period;
	u64 begin = vp->is_placed ? vp->left_ns : h->now_ns;
	vp->from = vp->until = vp->left_ns = 0;
	if (budget > period)
		return -HLS_E_PARAM;
	if (!is_back) {
		vp->offset = begin % period;
		if (!rialto_place(h, s, v, v) && !(rialto_is_idle(h, s, v) && rialto_place_all(h, s, v)))
			return -HLS_E_CHILDREN;
		if (!rialto_is_feasible(h, s, v))
			return -HLS_E_BUSY;
	}
	vp->is_placed = 1;
	return 0;
}

static void rialto_unregister_vp(hls_t *h, u32 s, u32 v)
{
	rialto_vp_t *vp = POLICY_VP(rialto, v);
	vp->from = rialto_budget(h, v);
	vp->until = rialto_period(h, v);
	vp->left_ns = h->now_ns + rialto_period(h, v) - rialto_phase(h, v);
	if (POLICY_STATE(rialto, s)->owner == v)
		POLICY_STATE(rialto, s)->owner = 0;
}

static bool rialto_owns_slot(hls_t *h, u32 s, u32 v)
{
	const rialto_t *rialto = POLICY_STATE(rialto, s);
	return rialto->owner == v && h->now_ns < rialto->owner_until;
}

static void rialto_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(rialto, s)->due;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

/* v wants the CPU: takes its slot if that is now. v is due when its next slot, or a change of its constraint, comes. */
static void rialto_make_due(hls_t *h, u32 s, u32 v)
{
	rialto_t *rialto = POLICY_STATE(rialto, s);
	const rialto_vp_t *vp = POLICY_VP(rialto, v);
	u64 phase = rialto_phase(h, v), next = h->now_ns + rialto_period(h, v) - phase;
	if (phase < rialto_budget(h, v)) {
		rialto->owner = v;
		rialto->owner_until = h->now_ns + rialto_budget(h, v) - phase;
	}
	if (rialto_has_job(h, v)) {
		u64 change = vp->from > h->now_ns ? vp->from : vp->until;
		next = change < next ? change : next;
	}
	heap_push(h, &rialto->due, v, next, h->seq++);
	rialto_set_timer(h, s);
}

static u32 __arena *rialto_queue(hls_t *h, u32 s, u32 v)
{
	rialto_t *rialto = POLICY_STATE(rialto, s);
	return POLICY_VP(rialto, v)->has_job ? &rialto->jobs : &rialto->turns;
}

/* The READY v waits for its turn at this place; if its constraint is in force, before all turns. */
static void rialto_enqueue(hls_t *h, u32 s, u32 v, u64 place)
{
	rialto_vp_t *vp = POLICY_VP(rialto, v);
	vp->has_job = rialto_is_in_job(h, v);
	queue_push_tree(h, rialto_queue(h, s, v), v, vp->has_job ? vp->until : 0, place);
	rialto_make_due(h, s, v);
}

static void rialto_leave(hls_t *h, u32 s, u32 v)
{
	heap_remove(h, &POLICY_STATE(rialto, s)->due, v);
	rialto_set_timer(h, s);
}

/* A VP that slept while its constraint was in force asks again for what is left of it. */
static void rialto_request(hls_t *h, u32 s, u32 v)
{
	if (rialto_is_in_job(h, v) && !rialto_is_feasible(h, s, v))
		POLICY_VP(rialto, v)->left_ns = 0;
	rialto_enqueue(h, s, v, queue_place(h, true));
}

static void rialto_withdraw(hls_t *h, u32 s, u32 v)
{
	queue_remove_tree(h, rialto_queue(h, s, v), v);
	rialto_leave(h, s, v);
}

/* First the owner of the slot, then the constraint that ends first, then the VP that has waited longest for a turn. */
static u32 rialto_choose(hls_t *h, u32 s, u32 cpu)
{
	const rialto_t *rialto = POLICY_STATE(rialto, s);
	u32 v = rialto->owner;
	if (v && rialto_owns_slot(h, s, v) && h->vp[v].state == HLS_READY && hls_usable(&h->vp[v], cpu))
		return v;
	v = queue_first_usable_of_tree(h, rialto->jobs, cpu);
	return v ? v : queue_first_usable_of_tree(h, rialto->turns, cpu);
}

static u32 rialto_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 v = rialto_choose(h, s, cpu);
	if (!v)
		return 0;
	rialto_vp_t *vp = POLICY_VP(rialto, v);
	queue_remove_tree(h, rialto_queue(h, s, v), v);
	if (rialto_owns_slot(h, s, v)) {
		vp->reason = RIALTO_SLOT;
		h->slice_ns = POLICY_STATE(rialto, s)->owner_until - h->now_ns;
	} else if (vp->has_job) {
		vp->reason = RIALTO_CONSTRAINT;
		h->slice_ns = vp->left_ns;
	} else {
		vp->reason = RIALTO_TURN;
		h->slice_ns = h->scheduler[s].param[RIALTO_QUANTUM];
	}
	return v;
}

static void rialto_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	rialto_vp_t *vp = POLICY_VP(rialto, v);
	if (vp->reason == RIALTO_CONSTRAINT)
		vp->left_ns -= used_ns < vp->left_ns ? used_ns : vp->left_ns;
	h->vp[v].flags &= ~HLS_YIELDED;
	rialto_leave(h, s, v);
}

/* A VP loses its place in the order of turns only when it ran in turn. */
static void rialto_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	bool was_turn = POLICY_VP(rialto, v)->reason == RIALTO_TURN;
	rialto_charge(h, s, v, used_ns);
	rialto_enqueue(h, s, v, was_turn ? queue_place(h, true) : h->queue_node[v].seq);
}

/* The less, the sooner v is to run: 0 in its slot, then by deadline. */
static u64 rialto_rank(hls_t *h, u32 s, u32 v)
{
	if (rialto_owns_slot(h, s, v))
		return 0;
	return rialto_is_in_job(h, v) ? POLICY_VP(rialto, v)->until : HLS_NEVER;
}

static bool rialto_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	return rialto_rank(h, s, ready) < rialto_rank(h, s, running);
}

/* The slot of a VP begins, or its constraint begins or ends: a RUNNING VP may run for another reason from now on. */
static u32 rialto_timer(hls_t *h, u32 s)
{
	u32 v = POLICY_STATE(rialto, s)->due;
	if (!v || h->node[v].key > h->now_ns) {
		rialto_set_timer(h, s);
		return 0;
	}
	if (h->vp[v].state == HLS_RUNNING) {
		rialto_leave(h, s, v);
		rialto_make_due(h, s, v);
		hls_recheck(h, v);
	} else {
		rialto_withdraw(h, s, v);
		rialto_enqueue(h, s, v, h->queue_node[v].seq);
	}
	return v;
}

/* v's constraint has changed: if v wants the CPU, it is looked at at once. */
static void rialto_look_at(hls_t *h, u32 s, u32 v)
{
	rialto_t *rialto = POLICY_STATE(rialto, s);
	if (h->vp[v].state == HLS_WAITING)
		return;
	heap_remove(h, &rialto->due, v);
	heap_push(h, &rialto->due, v, h->now_ns, h->seq++);
	rialto_set_timer(h, s);
}

/* Asks for the part of the estimate that v's own slots do not give. If the answer is no, v keeps its old constraint. */
static s64 rialto_begin(hls_t *h, u32 s, u32 v, const params_t *payload)
{
	rialto_vp_t *vp = POLICY_VP(rialto, v);
	u64 from = vp->from, until = vp->until, left_ns = rialto_left_ns(h, v);
	u64 asks_ns = payload->value[RIALTO_ESTIMATE];
	vp->left_ns = left_ns;
	if (vp->reason == RIALTO_CONSTRAINT)
		vp->reason = RIALTO_SLOT; /* what it has had until now is accounted for */
	if (payload->value[RIALTO_DEADLINE] <= payload->value[RIALTO_START])
		return -HLS_E_PARAM;
	vp->from = h->now_ns + payload->value[RIALTO_START];
	vp->until = h->now_ns + payload->value[RIALTO_DEADLINE];
	u64 own_ns = rialto_slots_until(h, v, vp->until) - rialto_slots_until(h, v, vp->from);
	vp->left_ns = asks_ns > own_ns ? asks_ns - own_ns : 0;
	if (rialto_is_feasible(h, s, v))
		return 0;
	vp->from = from;
	vp->until = until;
	vp->left_ns = left_ns;
	return -HLS_E_BUSY;
}

static s64 rialto_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	s64 answer = 0;
	if (message == RIALTO_BEGIN)
		answer = rialto_begin(h, s, v, payload);
	else
		POLICY_VP(rialto, v)->left_ns = 0;
	rialto_look_at(h, s, v);
	return answer;
}

/* All children have slots, and now is not within the slots of two VPs. */
static bool rialto_check_invariants(hls_t *h, u32 s)
{
	u32 owners = opaque(0);
	for_each_child (h, v, s) {
		const rialto_vp_t *vp = POLICY_VP(rialto, v);
		if (!vp->is_placed || vp->offset >= rialto_period(h, v))
			return false;
		owners += rialto_phase(h, v) < rialto_budget(h, v);
	}
	return owners <= 1;
}

static const struct hls_policy rialto_policy = {
    .name = "rialto",
    .what = "a time table with one slot in each period of a child, and constraints answered before they begin",
    .source = "Jones, Rosu and Rosu, SOSP 1997",
    .most_children = RIALTO_MOST_CHILDREN,
    .serial = true,
    .plans = true,
    .register_vp = rialto_register_vp,
    .unregister_vp = rialto_unregister_vp,
    .request = rialto_request,
    .withdraw = rialto_withdraw,
    .grant = rialto_grant,
    .revoke = rialto_revoke,
    .release = rialto_charge,
    .preempts = rialto_preempts,
    .timer = rialto_timer,
    .message = rialto_message,
    .check_invariants = rialto_check_invariants,
};
