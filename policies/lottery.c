/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lottery scheduling (C. A. Waldspurger, W. E. Weihl, "Lottery Scheduling: Flexible Proportional-Share Resource
 * Management", OSDI 1994).
 *
 * Each READY VP holds tickets, its share. Before each quantum one ticket is drawn, and its VP has the quantum. The
 * tickets lie in a tree of partial sums (section 4.2), in which the winner is found on one way down.
 *
 * Compensation tickets (section 3.4): a VP that used only a part f of its quantum has 1/f times its tickets until it
 * wins again. So it gets its share although it gives away a part of each quantum.
 *
 * The tickets are drawn by a generator with a seed: the same seed and the same events give the same winners. Where a
 * VP is drawn that cannot use the CPU, another ticket is drawn, a few times; then the READY VP that has waited longest
 * and can use it wins.
 */
#include "../core/policy.h"

#define LOTTERY_PARAMS(P)                                                          \
	P(LOTTERY_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "how long the winner of a draw runs")                                    \
	P(LOTTERY_SEED, "seed", HLS_COUNT, 0, 0, 4294967295, "of the generator that draws tickets")
#define LOTTERY_VP_PARAMS(P) P(LOTTERY_SHARE, "share", HLS_COUNT, 1, 1, 131072, "tickets of the VP")
#define LOTTERY_MESSAGES(M)

enum { LOTTERY_PARAMS(HLS_PARAM_INDEX) };
enum { LOTTERY_VP_PARAMS(HLS_PARAM_INDEX) };

#define LOTTERY_TICKET (1ULL << 8)        /* a ticket has this many parts, so that compensation is exact enough */
#define LOTTERY_MOST_COMPENSATION 1024ULL /* cap, as a multiple of a VP's tickets: no sum overflows */
#define LOTTERY_MOST_DRAWS 8
#define LOTTERY_HEIGHT 20 /* the tree of HLS_MAX_VPS VPs is not higher: log2, with room */

struct lottery {
	u64 random;
	u32 root; /* of the tree of tickets */
	u32 unused;
	struct hls_fifo ready;
};

/* A VP's node of the tree. The numbers of members below a node's two children differ by one at most. */
struct lottery_vp {
	u64 sum;     /* of the tickets of all members from here downwards */
	u64 tickets; /* of this VP */
	u32 child[2], up;
	u32 members; /* from here downwards */
};

POLICY_WORDS(lottery);

static u32 lottery_members(hls_t *h, u32 v)
{
	return v ? POLICY_VP(lottery, v)->members : 0;
}

static u64 lottery_sum(hls_t *h, u32 v)
{
	return v ? POLICY_VP(lottery, v)->sum : 0;
}

/* Puts v into the tree: below the child with fewer members, at each step. */
static void lottery_add(hls_t *h, lottery_t *lottery, u32 v)
{
	lottery_vp_t *vp = POLICY_VP(lottery, v);
	u32 up = 0, next = lottery->root, side = opaque(0);
	vp->child[0] = vp->child[1] = 0;
	vp->members = 1;
	vp->sum = vp->tickets;
	for (u32 d = opaque(0); d < LOTTERY_HEIGHT && next && can_loop; d++) {
		lottery_vp_t *at = POLICY_VP(lottery, next);
		at->sum += vp->tickets;
		at->members++;
		side = lottery_members(h, at->child[1]) < lottery_members(h, at->child[0]);
		up = next;
		next = at->child[side];
	}
	vp->up = up;
	if (up)
		POLICY_VP(lottery, up)->child[side] = v;
	else
		lottery->root = v;
}

/* Removes a member without children, found from the root by a step to the child with more members, at each level. */
static u32 lottery_take_last(hls_t *h, lottery_t *lottery)
{
	u32 last = lottery->root;
	for (u32 d = opaque(0); d < LOTTERY_HEIGHT && lottery_members(h, last) > 1 && can_loop; d++) {
		lottery_vp_t *at = POLICY_VP(lottery, last);
		at->members--;
		last = at->child[lottery_members(h, at->child[1]) > lottery_members(h, at->child[0])];
	}
	lottery_vp_t *vp = POLICY_VP(lottery, last);
	u32 up = vp->up;
	if (up) {
		lottery_vp_t *above = POLICY_VP(lottery, up);
		above->child[above->child[1] == last] = 0;
	} else {
		lottery->root = 0;
	}
	for (u32 d = opaque(0); d < LOTTERY_HEIGHT && up && can_loop; d++) {
		POLICY_VP(lottery, up)->sum -= vp->tickets;
		up = POLICY_VP(lottery, up)->up;
	}
	return last;
}

/* Puts `other`, which is in no tree, in the place of v. */
static void lottery_take_place(hls_t *h, lottery_t *lottery, u32 v, u32 other)
{
	lottery_vp_t *vp = POLICY_VP(lottery, v), *in = POLICY_VP(lottery, other);
	u32 up = vp->up;
	in->child[0] = vp->child[0];
	in->child[1] = vp->child[1];
	in->members = vp->members;
	in->sum = vp->sum - vp->tickets + in->tickets;
	in->up = up;
	if (in->child[0])
		POLICY_VP(lottery, in->child[0])->up = other;
	if (in->child[1])
		POLICY_VP(lottery, in->child[1])->up = other;
	if (up) {
		lottery_vp_t *above = POLICY_VP(lottery, up);
		above->child[above->child[1] == v] = other;
	} else {
		lottery->root = other;
	}
	for (u32 d = opaque(0); d < LOTTERY_HEIGHT && up && can_loop; d++) {
		POLICY_VP(lottery, up)->sum += in->tickets - vp->tickets;
		up = POLICY_VP(lottery, up)->up;
	}
}

static void lottery_enqueue(hls_t *h, u32 s, u32 v)
{
	lottery_t *lottery = POLICY_STATE(lottery, s);
	lottery_add(h, lottery, v);
	fifo_push(h, &lottery->ready, v, true);
}

static void lottery_dequeue(hls_t *h, u32 s, u32 v)
{
	lottery_t *lottery = POLICY_STATE(lottery, s);
	u32 last = lottery_take_last(h, lottery);
	if (last != v)
		lottery_take_place(h, lottery, v, last);
	fifo_remove(h, &lottery->ready, v);
}

/* The next number of the generator (splitmix64). */
static u64 lottery_random(lottery_t *lottery)
{
	lottery->random += 0x9e3779b97f4a7c15;
	u64 mixed = lottery->random;
	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
	return mixed ^ (mixed >> 31);
}

/* Draws a ticket, and returns the VP that holds it. The tree must not be empty. */
static u32 lottery_draw(hls_t *h, lottery_t *lottery)
{
	u32 v = lottery->root;
	u64 ticket = lottery_random(lottery) % lottery_sum(h, v);
	for (u32 d = opaque(0); d < LOTTERY_HEIGHT && can_loop; d++) {
		lottery_vp_t *vp = POLICY_VP(lottery, v);
		u64 before = lottery_sum(h, vp->child[0]);
		if (ticket < before) {
			v = vp->child[0];
			continue;
		}
		ticket -= before;
		if (ticket < vp->tickets)
			break;
		ticket -= vp->tickets;
		v = vp->child[1];
	}
	return v;
}

static s64 lottery_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	POLICY_VP(lottery, v)->tickets = h->vp[v].param[LOTTERY_SHARE] * LOTTERY_TICKET;
	return 0;
}

static void lottery_init(hls_t *h, u32 s)
{
	POLICY_STATE(lottery, s)->random = h->scheduler[s].param[LOTTERY_SEED];
}

static void lottery_request(hls_t *h, u32 s, u32 v)
{
	lottery_enqueue(h, s, v);
}

static void lottery_withdraw(hls_t *h, u32 s, u32 v)
{
	lottery_dequeue(h, s, v);
}

static u32 lottery_grant(hls_t *h, u32 s, u32 cpu)
{
	lottery_t *lottery = POLICY_STATE(lottery, s);
	u32 v = fifo_first_usable(h, &lottery->ready, cpu);
	if (!v)
		return 0;
	bool alone = lottery_members(h, lottery->root) == 1;
	for (u32 i = opaque(0); i < LOTTERY_MOST_DRAWS && !alone && can_loop; i++) {
		u32 winner = lottery_draw(h, lottery);
		if (likely(hls_usable(&h->vp[winner], cpu))) {
			v = winner;
			break;
		}
	}
	lottery_dequeue(h, s, v);
	h->slice_ns = h->scheduler[s].param[LOTTERY_QUANTUM];
	return v;
}

/* v won a quantum and ran for used_ns: it gets its tickets, with compensation for the rest of the quantum. */
static void lottery_compensate(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	u64 quantum_ns = h->scheduler[s].param[LOTTERY_QUANTUM];
	u64 tickets = h->vp[v].param[LOTTERY_SHARE] * LOTTERY_TICKET;
	u64 least_ns = quantum_ns / LOTTERY_MOST_COMPENSATION + 1;
	if (used_ns < least_ns)
		used_ns = least_ns;
	if (used_ns < quantum_ns)
		tickets = tickets * quantum_ns / used_ns;
	POLICY_VP(lottery, v)->tickets = tickets;
}

static void lottery_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	lottery_compensate(h, s, v, used_ns);
	lottery_enqueue(h, s, v);
}

static void lottery_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	lottery_compensate(h, s, v, used_ns);
}

/* The root's sum is the number of tickets of all READY VPs. */
static bool lottery_check_invariants(hls_t *h, u32 s)
{
	u64 sum = 0;
	for_each_child (h, v, s) {
		if (h->vp[v].state == HLS_READY)
			sum += POLICY_VP(lottery, v)->tickets;
	}
	return sum == lottery_sum(h, POLICY_STATE(lottery, s)->root);
}

static const struct hls_policy lottery_policy = {
    .name = "lottery",
    .what = "CPU time in proportion to tickets, by chance",
    .source = "Waldspurger and Weihl, OSDI 1994",
    .init = lottery_init,
    .register_vp = lottery_register_vp,
    .request = lottery_request,
    .withdraw = lottery_withdraw,
    .grant = lottery_grant,
    .revoke = lottery_revoke,
    .release = lottery_release,
    .check_invariants = lottery_check_invariants,
};
