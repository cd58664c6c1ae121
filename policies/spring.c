/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Spring: a plan, found before it is promised, and then carried out (J. A. Stankovic et al., "The Spring System:
 * Integrated Support for Complex Real-Time Systems", Real-Time Systems 1999; K. Ramamritham, J. A. Stankovic, P.-F.
 * Shiah, IEEE TPDS 1990, has the search).
 *
 * In each of its periods a VP has a job of `budget`, and each job has a slot of the plan, in one piece. The plan is for
 * a round, the least common multiple of all periods, and is repeated. It is the order of the jobs: a job begins when
 * the job before it ends or when its own period begins, whichever is later.
 *
 *     periods of a  |aaa          |   aaa       |             a: 3 in every 13
 *     periods of b  |   bb   |bb      |    bb   |bb     |     b: 2 in every 8, and so on
 *
 * When a VP comes, a plan for a round from now on is searched. All keep their periods, and the slot that is open stays.
 * The round ends as it begins, so that it can be repeated: what was done of a period before it is not done again, and
 * no job crosses the end. At each point the search tries the job with the least H = deadline + earliest start. Where
 * some job would then be late, it takes the last choice back and tries the next best job; it takes back at most the
 * last SPRING_MOST_BACK choices of its longest partial plan. A choice takes one step for each VP and one more, a search
 * SPRING_MOST_STEPS at most. Without a plan the VP is refused, and the old plan stands. So an accepted VP keeps its
 * slots, whatever VPs come.
 *
 *      request              slot opens (timer)          grant
 *   -----------> throttled ------------------> READY ----------> RUNNING
 *                    ^                           ^                  |   wakes up, is revoked in its slot
 *                    |                           +------------------+
 *                    +----------------------------------------------+   slot is over
 *
 * Slot time that its VP does not want goes to other children of the scheduler above. The paper's system reclaims it,
 * and begins later jobs earlier; no promise needs that, and unused gaps leave room for new jobs.
 *
 * Time that a late timer lets a VP have beyond its slot is a debt: the next slot is put off by it and not cut, and the
 * next slots of the debtor are shorter. When a round ends and no VP wants the CPU, the plan rests until one does.
 */
#include "../core/budget.h"

#define SPRING_PARAMS(P)
#define SPRING_VP_PARAMS(P)                                                                                    \
	P(SPRING_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "length of the VP's slots") \
	P(SPRING_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "the VP has a slot in each")
#define SPRING_MESSAGES(M)

enum { SPRING_VP_PARAMS(HLS_PARAM_INDEX) };

/* The calculus (schedulers/spring.rs) searches with the same bounds. */
#define SPRING_MOST_CHILDREN 16
#define SPRING_MOST_BACK 32
#define SPRING_MOST_STEPS 2900 /* with the rest of the hook, fewer than a loaded policy's hook may take */
#define SPRING_JOBS_A_WORD 16  /* a seat is 4 bits */
#define SPRING_PLAN_WORDS 25
#define SPRING_MOST_JOBS (SPRING_PLAN_WORDS * SPRING_JOBS_A_WORD)

#define SPRING_NO_SEAT SPRING_MOST_CHILDREN
#define SPRING_LATE 0 /* in place of an H: the job would be late */

struct spring {
	u64 begin_at; /* of the round; of a plan that rests: when the next one would have begun */
	u64 round_ns;
	u64 until;   /* of the slot that was opened last: the CPU is planned until then */
	u32 owner;   /* the seat that has that slot, plus one; 0: none */
	u32 wants;   /* VPs that are READY, throttled ones too, or RUNNING */
	u16 jobs;    /* of the plan */
	u16 next;    /* the place in the plan of the next job */
	u16 half;    /* where the plan is: plan[half] */
	u16 is_busy; /* 0: the plan rests */
	/* The VPs, by the numbers that they have in the plan; 0: none. */
	u32 seat[SPRING_MOST_CHILDREN];
	/* The order of the jobs, and room for the next plan. */
	u64 plan[2][SPRING_PLAN_WORDS];
	/* Of the plan that is searched: its round, and how many jobs of each seat it has so far. */
	u64 new_round_ns;
	u16 planned[SPRING_MOST_CHILDREN];
	/* When the CPU became free before each of its last jobs, which may be taken back. */
	u64 free_at[SPRING_MOST_BACK];
	u32 longest; /* jobs of the longest of its partial plans */
	u32 seats;   /* number of seats up to the last one that is taken */
};

struct spring_vp {
	u64 next_at; /* when the period of its next job begins */
	u64 until;   /* of its last slot; of a VP that is unregistered: its budget */
	u64 debt_ns : 32;
	u64 seat : 32;     /* its number in the plan, plus one */
	u64 old_period_ns; /* of a VP that is unregistered */
};

POLICY_WORDS(spring);
_Static_assert(HLS_MOST_DEBT_NS <= 0xffffffff, "a debt has 32 bits");

static u64 spring_budget(hls_t *h, u32 v)
{
	return h->vp[v].param[SPRING_BUDGET];
}

static u64 spring_period(hls_t *h, u32 v)
{
	return h->vp[v].param[SPRING_PERIOD];
}

static u64 spring_later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* The current time of the plan, which may rest. */
static u64 spring_now(hls_t *h, u32 s)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	return spring->is_busy ? h->now_ns : spring->begin_at;
}

/* The VP that has the slot which was opened last; 0: none, or it has gone. */
static u32 spring_owner(hls_t *h, u32 s)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	(void)h;
	return spring->owner ? spring->seat[(spring->owner - 1) & (SPRING_MOST_CHILDREN - 1)] : 0;
}

/* From when on a new plan is made: a slot that is open stays. */
static u64 spring_plan_from(hls_t *h, u32 s)
{
	return spring_later(spring_now(h, s), POLICY_STATE(spring, s)->until);
}

/* The seat of the job at place n of a plan. */
static u32 spring_seat_at(const u64 __arena *plan, u32 n)
{
	u64 word = plan[n / SPRING_JOBS_A_WORD % SPRING_PLAN_WORDS];
	return word >> (n % SPRING_JOBS_A_WORD * 4) & (SPRING_MOST_CHILDREN - 1);
}

static void spring_put_at(u64 __arena *plan, u32 n, u32 seat)
{
	u64 __arena *word = &plan[n / SPRING_JOBS_A_WORD % SPRING_PLAN_WORDS];
	u32 shift = n % SPRING_JOBS_A_WORD * 4;
	*word = (*word & ~(15ULL << shift)) | (u64)seat << shift;
}

static u64 __arena *spring_new_plan(spring_t *spring)
{
	return spring->plan[~spring->half & 1];
}

static u64 spring_gcd(hls_t *h, u64 a, u64 b)
{
	(void)h;
	for (u32 i = opaque(0); i < 64 && b && can_loop; i++) {
		u64 rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Computes the round of a new plan. Returns how many jobs it has; 0: too many. */
HLS_RARE_FUNC u32 spring_count(hls_t *h __arg_arena, u32 s)
{
	spring_t *spring = POLICY_STATE(spring, s);
	u64 round_ns = 1, jobs = 0;
	for (u32 i = opaque(0); i < SPRING_MOST_CHILDREN && can_loop; i++) {
		u32 v = spring->seat[i];
		u64 period = v ? spring_period(h, v) : 1;
		u64 times = period / spring_gcd(h, round_ns, period);
		if (times > HLS_S(3600) * SPRING_MOST_JOBS / round_ns)
			return 0;
		round_ns *= times;
	}
	for (u32 i = opaque(0); i < SPRING_MOST_CHILDREN && can_loop; i++) {
		u32 v = spring->seat[i];
		spring->planned[i] = 0;
		spring->seats = v ? i + 1 : spring->seats;
		jobs += v ? round_ns / spring_period(h, v) : 0;
	}
	spring->new_round_ns = round_ns;
	return jobs <= SPRING_MOST_JOBS ? jobs : 0;
}

/* H of the next job of a seat, which may begin at free_at; SPRING_LATE; HLS_NEVER: no job is left to plan. */
HLS_RARE_FUNC u64 spring_h(hls_t *h __arg_arena, u32 s, u32 seat, u64 free_at)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	u32 v = spring->seat[seat & (SPRING_MOST_CHILDREN - 1)];
	u64 period = spring_period(h, v);
	u64 before_ns = spring->planned[seat & (SPRING_MOST_CHILDREN - 1)] * period;
	u64 ends_at = spring_plan_from(h, s) + spring->new_round_ns;
	if (!v || before_ns == spring->new_round_ns)
		return HLS_NEVER;
	u64 begins_at = POLICY_VP(spring, v)->next_at + before_ns, due_at = begins_at + period;
	u64 start_at = spring_later(begins_at, free_at);
	due_at = due_at < ends_at ? due_at : ends_at;
	return start_at + spring_budget(h, v) > due_at ? SPRING_LATE : due_at + start_at;
}

/* Whether the job of seat a, with its H h_a, is tried before the job of seat b, with its H h_b. */
static bool spring_goes_first(hls_t *h, u32 s, u32 a, u64 h_a, u32 b, u64 h_b)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	u32 v = spring->seat[a & (SPRING_MOST_CHILDREN - 1)], other = spring->seat[b & (SPRING_MOST_CHILDREN - 1)];
	if (h_a != h_b)
		return h_a < h_b;
	if (spring_period(h, v) != spring_period(h, other))
		return spring_period(h, v) < spring_period(h, other);
	if (spring_budget(h, v) != spring_budget(h, other))
		return spring_budget(h, v) > spring_budget(h, other);
	return a < b;
}

/* The best job after the partial plan that ends at free_at, behind `tried`; SPRING_NO_SEAT: none, or one is late. */
HLS_RARE_FUNC u32 spring_choose(hls_t *h __arg_arena, u32 s, u64 free_at, u32 tried)
{
	u32 seats = POLICY_STATE(spring, s)->seats;
	u32 best = SPRING_NO_SEAT;
	u64 best_h = HLS_NEVER, tried_h = tried < SPRING_NO_SEAT ? spring_h(h, s, tried, free_at) : 0;
	for (u32 i = opaque(0); i < SPRING_MOST_CHILDREN && i < seats && can_loop; i++) {
		u64 its_h = spring_h(h, s, i, free_at);
		if (its_h == SPRING_LATE)
			return SPRING_NO_SEAT;
		if (its_h == HLS_NEVER)
			continue;
		if (tried < SPRING_NO_SEAT && !spring_goes_first(h, s, tried, tried_h, i, its_h))
			continue;
		if (best == SPRING_NO_SEAT || spring_goes_first(h, s, i, its_h, best, best_h)) {
			best = i;
			best_h = its_h;
		}
	}
	return best;
}

/* Adds the next job of a seat as job n of the partial plan, which ends at free_at. Returns the new end of the plan. */
HLS_RARE_FUNC u64 spring_add(hls_t *h __arg_arena, u32 s, u32 n, u32 seat, u64 free_at)
{
	spring_t *spring = POLICY_STATE(spring, s);
	u32 v = spring->seat[seat & (SPRING_MOST_CHILDREN - 1)];
	u64 before_ns = spring->planned[seat & (SPRING_MOST_CHILDREN - 1)]++ * spring_period(h, v);
	spring_put_at(spring_new_plan(spring), n, seat);
	spring->free_at[n % SPRING_MOST_BACK] = free_at;
	return spring_later(POLICY_VP(spring, v)->next_at + before_ns, free_at) + spring_budget(h, v);
}

/* Searches a plan with `jobs` jobs for all VPs that have seats. Returns whether it found one within the bounds. */
HLS_RARE_FUNC bool spring_search(hls_t *h __arg_arena, u32 s, u32 jobs)
{
	spring_t *spring = POLICY_STATE(spring, s);
	u64 free_at = spring_plan_from(h, s);
	u32 n = opaque(0), tried = SPRING_NO_SEAT, backtracks = opaque(0);
	spring->longest = 0;
	/* Each of n jobs was chosen once; each step back was a choice that failed, after another one. */
	while (n < jobs && (n + 2 * backtracks) * (spring->seats + 1) < SPRING_MOST_STEPS && can_loop) {
		u32 seat = spring_choose(h, s, free_at, tried);
		if (seat < SPRING_NO_SEAT) {
			free_at = spring_add(h, s, n++, seat, free_at);
			tried = SPRING_NO_SEAT;
			spring->longest = n > spring->longest ? n : spring->longest;
			continue;
		}
		if (!n || spring->longest - n == SPRING_MOST_BACK)
			return false;
		backtracks++;
		tried = spring_seat_at(spring_new_plan(spring), --n);
		spring->planned[tried]--;
		free_at = spring->free_at[n % SPRING_MOST_BACK];
	}
	return n == jobs;
}

/* The new plan is carried out from now on. At rest it rests, too. */
static void spring_adopt(hls_t *h, u32 s, u32 jobs)
{
	spring_t *spring = POLICY_STATE(spring, s);
	spring->begin_at = spring_plan_from(h, s);
	spring->round_ns = spring->new_round_ns;
	spring->half = ~spring->half & 1;
	spring->jobs = jobs;
	spring->next = 0;
	if (spring->is_busy)
		hls_set_timer(h, s, h->now_ns);
}

static u32 spring_free_seat(hls_t *h, u32 s)
{
	u32 seat = opaque(0);
	for (; seat < SPRING_MOST_CHILDREN && POLICY_STATE(spring, s)->seat[seat] && can_loop; seat++)
		;
	(void)h;
	return seat;
}

/* Searches a plan with v. A VP that comes back with the same parameters gets its old slots. */
static s64 spring_register_vp(hls_t *h, u32 s, u32 v)
{
	spring_t *spring = POLICY_STATE(spring, s);
	spring_vp_t *vp = POLICY_VP(spring, v);
	u32 old = vp->seat - 1, seat = spring_free_seat(h, s);
	if (spring_budget(h, v) > spring_period(h, v))
		return -HLS_E_PARAM;
	if (old < SPRING_MOST_CHILDREN && !spring->seat[old] && vp->until == spring_budget(h, v) &&
	    vp->old_period_ns == spring_period(h, v)) {
		spring->seat[old] = v;
		vp->until = spring->until;
		return 0;
	}
	if (seat >= SPRING_MOST_CHILDREN)
		return -HLS_E_CHILDREN;
	spring->seat[seat] = v;
	vp->seat = seat + 1;
	vp->next_at = spring_now(h, s);
	vp->until = spring->until;
	u32 jobs = spring_count(h, s);
	if (!jobs || !spring_search(h, s, jobs)) {
		spring->seat[seat] = 0;
		return -HLS_E_CHILDREN;
	}
	spring_adopt(h, s, jobs);
	if (spring->owner == seat + 1)
		spring->owner = 0;
	return 0;
}

/* v's places in the plan are free: later jobs may begin earlier from now on. */
static void spring_unregister_vp(hls_t *h, u32 s, u32 v)
{
	spring_t *spring = POLICY_STATE(spring, s);
	spring_vp_t *vp = POLICY_VP(spring, v);
	u32 seat = vp->seat - 1;
	spring->seat[seat & (SPRING_MOST_CHILDREN - 1)] = 0;
	vp->until = spring_budget(h, v);
	vp->old_period_ns = spring_period(h, v);
	if (!spring->is_busy)
		return;
	spring->until = spring_later(spring->until, h->now_ns);
	hls_set_timer(h, s, h->now_ns);
}

/* Whether it is v's slot now. */
static bool spring_is_open(hls_t *h, u32 s, u32 v)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	return spring_owner(h, s) == v && h->now_ns < spring->until;
}

static void spring_enqueue(hls_t *h, u32 s, u32 v)
{
	if (!spring_is_open(h, s, v))
		hls_throttle(h, v);
}

static void spring_request(hls_t *h, u32 s, u32 v)
{
	spring_t *spring = POLICY_STATE(spring, s);
	spring->wants++;
	spring_enqueue(h, s, v);
	if (!spring->is_busy)
		hls_set_timer(h, s, h->now_ns);
}

static void spring_withdraw(hls_t *h, u32 s, u32 v)
{
	(void)v;
	POLICY_STATE(spring, s)->wants--;
}

static u32 spring_grant(hls_t *h, u32 s, u32 cpu)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	u32 v = spring_owner(h, s);
	if (!v || h->vp[v].state != HLS_READY || (h->vp[v].flags & HLS_THROTTLED) || !hls_usable(&h->vp[v], cpu))
		return 0;
	if (!spring_is_open(h, s, v)) {
		hls_throttle(h, v);
		return 0;
	}
	h->slice_ns = spring->until - h->now_ns;
	return v;
}

/* What v had beyond its slot is its debt, and puts off the slot that is open, or the next one. */
static void spring_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	spring_t *spring = POLICY_STATE(spring, s);
	spring_vp_t *vp = POLICY_VP(spring, v);
	if (likely(h->now_ns <= vp->until))
		return;
	u64 over_ns = h->now_ns - vp->until;
	over_ns = used_ns < over_ns ? used_ns : over_ns;
	over_ns = over_ns < HLS_MOST_DEBT_NS ? over_ns : HLS_MOST_DEBT_NS;
	u64 debt_ns = vp->debt_ns + over_ns;
	vp->debt_ns = debt_ns < HLS_MOST_DEBT_NS ? debt_ns : HLS_MOST_DEBT_NS;
	spring->until += over_ns;
	vp->until = h->now_ns;
	u32 owner = spring_owner(h, s);
	if (!owner || owner == v) {
		spring->owner = 0;
		return;
	}
	if (spring->until > POLICY_VP(spring, owner)->next_at)
		spring->until = POLICY_VP(spring, owner)->next_at;
	POLICY_VP(spring, owner)->until = spring->until;
}

static void spring_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	spring_charge(h, s, v, used_ns);
	spring_enqueue(h, s, v);
}

static void spring_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	spring_charge(h, s, v, used_ns);
	POLICY_STATE(spring, s)->wants--;
}

/* A READY VP that is not throttled has its slot now; a RUNNING VP has that slot, or had an earlier one. */
static bool spring_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)ready;
	return spring_owner(h, s) != running;
}

/* The round begins now: puts all periods off accordingly. */
HLS_RARE_FUNC u32 spring_put_off(hls_t *h __arg_arena, u32 s)
{
	spring_t *spring = POLICY_STATE(spring, s);
	u64 later_ns = h->now_ns - spring->begin_at;
	for (u32 i = opaque(0); i < SPRING_MOST_CHILDREN && can_loop; i++)
		if (spring->seat[i])
			POLICY_VP(spring, spring->seat[i])->next_at += later_ns;
	spring->begin_at = h->now_ns;
	return 0;
}

/* The round is over: the next one begins, unless no VP wants the CPU. A timer may be late by whole rounds. */
static void spring_next_round(hls_t *h, u32 s)
{
	spring_t *spring = POLICY_STATE(spring, s);
	spring->begin_at += spring->round_ns;
	spring->next = 0;
	spring->is_busy = spring->wants != 0;
	if (spring->is_busy && h->now_ns >= spring->begin_at + spring->round_ns)
		spring_put_off(h, s);
}

/* Opens a slot of v, which begins at start_at. A VP that had the slot before, and is READY, waits for its next slot. */
HLS_RARE_FUNC u32 spring_open(hls_t *h __arg_arena, u32 s, u32 v, u64 start_at)
{
	spring_t *spring = POLICY_STATE(spring, s);
	spring_vp_t *vp = POLICY_VP(spring, v);
	u64 budget = spring_budget(h, v), paid_ns = vp->debt_ns < budget ? vp->debt_ns : budget;
	u32 last = spring_owner(h, s);
	if (last && last != v && h->vp[last].state == HLS_READY && !(h->vp[last].flags & HLS_THROTTLED))
		hls_throttle(h, last);
	vp->debt_ns -= paid_ns;
	vp->next_at += spring_period(h, v);
	vp->until = start_at + budget - paid_ns;
	if (vp->until > vp->next_at)
		vp->until = spring_later(vp->next_at, start_at);
	spring->until = vp->until;
	spring->owner = vp->seat;
	spring->next++;
	hls_emit(h, v, HLS_REC_REPLENISH, vp->until - start_at, vp->next_at);
	return 0;
}

/* When the next slot begins, for v, which has the next job; for 0: when the round ends. */
static u64 spring_next_at(hls_t *h, u32 s, u32 v)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	u64 planned_at = v ? POLICY_VP(spring, v)->next_at : spring->begin_at + spring->round_ns;
	return spring_later(spring_later(planned_at, spring->begin_at), v ? spring->until : 0);
}

/* Passes over jobs of VPs that have gone. Returns the VP that has the next job; 0: the round has no more. */
static u32 spring_next(hls_t *h, u32 s)
{
	spring_t *spring = POLICY_STATE(spring, s);
	for (u32 i = opaque(0); i < SPRING_MOST_JOBS && spring->next < spring->jobs && can_loop; i++) {
		u32 v = spring->seat[spring_seat_at(spring->plan[spring->half & 1], spring->next)];
		if (v)
			return v;
		spring->next++;
	}
	(void)h;
	return 0;
}

/* Carries the plan out up to now. Returns a VP that has an open slot and may want a CPU; 0: none. */
static u32 spring_timer(hls_t *h, u32 s)
{
	spring_t *spring = POLICY_STATE(spring, s);
	if (!spring->is_busy && spring->wants) {
		spring_put_off(h, s);
		spring->is_busy = 1;
	}
	for (u32 i = opaque(0); i < SPRING_MOST_JOBS && spring->is_busy && can_loop; i++) {
		u32 v = spring_next(h, s);
		u64 next_at = spring_next_at(h, s, v);
		if (h->now_ns < next_at) {
			hls_set_timer(h, s, next_at);
			return 0;
		}
		if (!v) {
			spring_next_round(h, s);
			continue;
		}
		spring_open(h, s, v, next_at);
		if (!spring_is_open(h, s, v))
			continue;
		if (h->vp[v].state == HLS_RUNNING)
			hls_recheck(h, v);
		if (!(h->vp[v].flags & HLS_THROTTLED))
			continue;
		hls_unthrottle(h, v);
		return v;
	}
	if (spring->is_busy)
		hls_set_timer(h, s, h->now_ns);
	return 0;
}

/* `wants` counts the VPs that want the CPU; a READY VP is throttled unless it has the slot that was opened last. */
static bool spring_check_invariants(hls_t *h, u32 s)
{
	const spring_t *spring = POLICY_STATE(spring, s);
	u32 wants = 0;
	for_each_child (h, v, s) {
		u32 seat = POLICY_VP(spring, v)->seat - 1;
		bool throttled = h->vp[v].flags & HLS_THROTTLED;
		if (seat >= SPRING_MOST_CHILDREN || spring->seat[seat] != v)
			return false;
		if (h->vp[v].state == HLS_READY && !throttled && spring_owner(h, s) != v)
			return false;
		wants += h->vp[v].state != HLS_WAITING;
	}
	return wants == spring->wants && spring->next <= spring->jobs;
}

static const struct hls_policy spring_policy = {
    .name = "spring",
    .what = "a plan, found before it is promised, with a slot in each period of a child",
    .source = "Stankovic et al., Real-Time Systems 1999",
    .most_children = SPRING_MOST_CHILDREN,
    .serial = true,
    .plans = true,
    .register_vp = spring_register_vp,
    .unregister_vp = spring_unregister_vp,
    .request = spring_request,
    .withdraw = spring_withdraw,
    .grant = spring_grant,
    .revoke = spring_revoke,
    .release = spring_release,
    .preempts = spring_preempts,
    .timer = spring_timer,
    .check_invariants = spring_check_invariants,
};
