/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fair class of Linux since 6.6, which is EEVDF in its own way: pick_eevdf(), place_entity() and avg_vruntime() of
 * kernel/sched/fair.c, as of 6.12 (J. Corbet, "An EEVDF CPU scheduler for Linux", LWN 2023; I. Stoica et al., RTSS
 * 1996).
 *
 * A VP has a weight, by the kernel's table: 1024 at nice 0, and a quarter more for each step of the nice value. Its
 * virtual time v is its CPU time divided by its weight. V is the mean of all v, by weight: so the lags w * (V - v) add
 * up to 0. A VP asks for a `slice` at a time, and is eligible while v <= V. The eligible VP with the earliest virtual
 * deadline, v + slice / weight at the start of its request, runs until its slice is used up. Before that, only a VP
 * that wakes up with a shorter slice, is eligible and has an earlier deadline preempts it.
 *
 * Lag survives sleep. A VP that is owed CPU time when it blocks has the same lag when it wakes up, two slices at most;
 * V moves, so that the lags add up to 0 again. A VP that has had too much when it blocks counts as if it wanted the CPU
 * until V has caught up with it (the kernel's delayed dequeue): it pays by sleeping.
 *
 *       v <= V                    slice not used up
 *     `future` -----> `eligible` <-----------------> RUNNING --- blocks, v <= V ---> asleep, with its lag
 *        ^                                            |   |                            ^
 *        +------------------- slice used up ----------+   +--- blocks --> `leaving` ---+ V has caught up
 *
 * The sum of w * (v - base) over all VPs that count is exact: like the kernel's, it includes the run in progress, and
 * also the remainders of divisions. V is base plus that sum over the sum of the weights.
 *
 * Where this differs from the kernel:
 * - A VP that has become eligible stays so until its slice is used up, even if V goes back because a VP that is owed
 *   CPU time comes back. So eligible VPs lie in a queue by deadline and the others in one by v; the kernel has one tree
 *   for both.
 * - Slices are given by a parameter, and do not depend on the number of CPUs. There is no tick: time is charged to the
 *   nanosecond, and lag is two slices at most, not a tick if that is more.
 * - Children are peers: a group of tasks, the kernel's cgroup, is a scheduler below this one. A new VP has a full first
 *   slice, not half of one. On several CPUs there is one queue for all.
 *
 * It gives no promise (crates/calculus/src/schedulers/linux_eevdf.rs says why).
 */
#include "../core/virtual_time.h"

#undef linux /* a macro of compilers, which says for which system they compile */

#define LINUX_EEVDF_PARAMS(P)                                                             \
	P(LINUX_EEVDF_BASE_SLICE, "slice", HLS_TIME, HLS_MS(3), HLS_US(100), HLS_MS(100), \
	  "how long a VP runs at a time, unless it has a slice of its own")
#define LINUX_EEVDF_VP_PARAMS(P)                                                            \
	P(LINUX_EEVDF_PRIORITY, "priority", HLS_COUNT, 20, 1, 40, "20 less the nice value") \
	P(LINUX_EEVDF_SLICE, "slice", HLS_TIME, 0, 0, HLS_MS(100),                          \
	  "how long the VP runs at a time, from 100 us on: the shorter, the sooner; 0: the scheduler's slice")
#define LINUX_EEVDF_MESSAGES(M)

enum { LINUX_EEVDF_PARAMS(HLS_PARAM_INDEX) };
enum { LINUX_EEVDF_VP_PARAMS(HLS_PARAM_INDEX) };

/* The kernel's weights, from nice -20 on: sched_prio_to_weight. */
/* clang-format off */
#define LINUX_EEVDF_WEIGHTS(W) \
	W(0, 88761) W(1, 71755) W(2, 56483) W(3, 46273) W(4, 36291) W(5, 29154) W(6, 23254) W(7, 18705) \
	W(8, 14949) W(9, 11916) W(10, 9548) W(11, 7620) W(12, 6100) W(13, 4904) W(14, 3906) W(15, 3121) \
	W(16, 2501) W(17, 1991) W(18, 1586) W(19, 1277) W(20, 1024) W(21, 820) W(22, 655) W(23, 526) \
	W(24, 423) W(25, 335) W(26, 272) W(27, 215) W(28, 172) W(29, 137) W(30, 110) W(31, 87) \
	W(32, 70) W(33, 56) W(34, 45) W(35, 36) W(36, 29) W(37, 23) W(38, 18) W(39, 15)
/* clang-format on */
#define LINUX_EEVDF_LEVELS 40
#define LINUX_EEVDF_LEAST_SLICE HLS_US(100)
#define LINUX_EEVDF_MOST_LAG_SLICES 2

struct linux_eevdf {
	u64 base;   /* V, rounded down */
	s64 sum;    /* of w * (v - base) and the remainders: from 0 to `weight` */
	u64 weight; /* of all VPs that count */
	struct hls_queue future, eligible;
	u32 leaving;    /* heap by v of the WAITING VPs that count */
	u32 unfinished; /* V has passed VPs that are still in `future` */
	u32 table[LINUX_EEVDF_LEVELS];
};

struct linux_eevdf_vp {
	union {
		u64 virtual; /* v, of a VP that counts */
		s64 lag;     /* of a VP that does not count: what it is owed, in 1/256 ns */
	};
	u64 deadline;
	u64 rest : 17;    /* remainder of the division that made v */
	u64 left_ns : 27; /* of its slice */
	u64 counts : 1;
	u64 is_eligible : 1;
	u64 since_ns; /* RUNNING: CPU time of this run that is in the sum */
};

POLICY_WORDS(linux_eevdf);

static void linux_eevdf_init(hls_t *h, u32 s)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
#define LINUX_EEVDF_SET(n, value) le->table[n] = value;
	LINUX_EEVDF_WEIGHTS(LINUX_EEVDF_SET)
#undef LINUX_EEVDF_SET
}

static u64 linux_eevdf_weight(hls_t *h, u32 s, u32 v)
{
	return POLICY_STATE(linux_eevdf, s)->table[LINUX_EEVDF_LEVELS - h->vp[v].param[LINUX_EEVDF_PRIORITY]];
}

static u64 linux_eevdf_slice(hls_t *h, u32 s, u32 v)
{
	u64 own_ns = h->vp[v].param[LINUX_EEVDF_SLICE];
	return own_ns ? own_ns : h->scheduler[s].param[LINUX_EEVDF_BASE_SLICE];
}

static s64 linux_eevdf_register_vp(hls_t *h, u32 s, u32 v)
{
	(void)s;
	u64 slice_ns = h->vp[v].param[LINUX_EEVDF_SLICE];
	return slice_ns && slice_ns < LINUX_EEVDF_LEAST_SLICE ? -HLS_E_PARAM : 0;
}

/* The sum has changed: brings the base to V. */
static void linux_eevdf_settle(linux_eevdf_t *le)
{
	if (!le->weight) {
		le->sum = 0;
	} else if (le->sum < 0) {
		u64 back = ((u64)-le->sum + le->weight - 1) / le->weight;
		le->base -= back;
		le->sum += back * le->weight;
	} else {
		u64 on = (u64)le->sum / le->weight;
		le->base += on;
		le->sum -= on * le->weight;
	}
}

/* v counts from now on, at its virtual time. */
static void linux_eevdf_add(hls_t *h, u32 s, u32 v)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	u64 weight = linux_eevdf_weight(h, s, v);
	vp->counts = 1;
	le->weight += weight;
	le->sum += (s64)(vp->virtual - le->base) * (s64)weight + vp->rest;
	linux_eevdf_settle(le);
}

/* v no longer counts, and keeps its lag. */
HLS_RARE_FUNC u32 linux_eevdf_remove(hls_t *h __arg_arena, u32 s, u32 v)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	u64 weight = linux_eevdf_weight(h, s, v);
	s64 most = LINUX_EEVDF_MOST_LAG_SLICES * linux_eevdf_slice(h, s, v) << VIRTUAL_SHIFT;
	s64 ahead = (s64)(vp->virtual - le->base) * (s64)weight + vp->rest;
	vp->counts = 0;
	le->weight -= weight;
	le->sum -= ahead;
	linux_eevdf_settle(le);
	vp->lag = -ahead < most ? -ahead : most;
	vp->lag = vp->lag > -most ? vp->lag : -most;
	vp->rest = 0;
	return 0;
}

/* v, which did not count, comes back with its lag. Since v itself moves V, it is placed further from V than its lag. */
static void linux_eevdf_come(hls_t *h, u32 s, u32 v)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	u64 lag = vp->lag < 0 ? -vp->lag : vp->lag, away = 0;
	if (le->weight)
		away = lag / linux_eevdf_weight(h, s, v) + lag / le->weight;
	vp->virtual = vp->lag < 0 ? le->base + away : le->base - away;
	linux_eevdf_add(h, s, v);
}

/* If V has caught up with the first VP of `leaving`, that VP no longer counts. Returns whether there was one. */
static bool linux_eevdf_let_go(hls_t *h, u32 s)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	u32 v = le->leaving;
	if (!v || virtual_before(le->base, h->node[v].key))
		return false;
	heap_remove(h, &le->leaving, v);
	linux_eevdf_remove(h, s, v);
	POLICY_VP(linux_eevdf, v)->lag = 0;
	return true;
}

/* Adds to the sum what v has had since the last such addition; `used_ns` counts from the grant of v. */
static void linux_eevdf_advance_by(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	le->sum += (s64)(used_ns - vp->since_ns) * (1LL << VIRTUAL_SHIFT);
	vp->since_ns = used_ns;
	linux_eevdf_settle(le);
}

/* Brings V up to now. */
HLS_RARE_FUNC u32 linux_eevdf_advance(hls_t *h __arg_arena, u32 s)
{
	for_each_up (h, u, s) {
		u32 v = hls_running_by(h, s, u);
		if (v)
			linux_eevdf_advance_by(h, s, v, hls_used_ns(h, v));
	}
	return linux_eevdf_let_go(h, s);
}

static bool linux_eevdf_is_due(const linux_eevdf_t *le, u64 at)
{
	return !virtual_before(le->base, at);
}

/* The READY v waits to become eligible, or for its turn. */
static void linux_eevdf_enqueue(hls_t *h, u32 s, u32 v)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	if (vp->is_eligible)
		queue_push(h, &le->eligible, v, vp->deadline);
	else
		queue_push(h, &le->future, v, vp->virtual);
}

/* v asks for a slice. */
static void linux_eevdf_ask(hls_t *h, u32 s, u32 v)
{
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	vp->left_ns = linux_eevdf_slice(h, s, v);
	vp->deadline = vp->virtual + virtual_of(vp->left_ns, linux_eevdf_weight(h, s, v));
	vp->is_eligible = linux_eevdf_is_due(POLICY_STATE(linux_eevdf, s), vp->virtual);
}

/* The first VP of `future`, if it is eligible now; 0: there is none. */
static u32 linux_eevdf_due(hls_t *h, const linux_eevdf_t *le)
{
	u32 v = queue_first(h, &le->future);
	return v && linux_eevdf_is_due(le, POLICY_VP(linux_eevdf, v)->virtual) ? v : 0;
}

/* Moves v, the first VP of `future`, to `eligible`. */
static void linux_eevdf_bring_over(hls_t *h, u32 s, u32 v)
{
	queue_remove(h, &POLICY_STATE(linux_eevdf, s)->future, v);
	POLICY_VP(linux_eevdf, v)->is_eligible = 1;
	linux_eevdf_enqueue(h, s, v);
}

static void linux_eevdf_request(hls_t *h, u32 s, u32 v)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	linux_eevdf_advance(h, s);
	if (!POLICY_VP(linux_eevdf, v)->counts)
		linux_eevdf_come(h, s, v);
	else
		heap_remove(h, &le->leaving, v);
	linux_eevdf_ask(h, s, v);
	linux_eevdf_enqueue(h, s, v);
}

/* v no longer wants a CPU. If it has had too much, it counts until V has caught up with it. */
static void linux_eevdf_leave(hls_t *h, u32 s, u32 v)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	if (virtual_before(le->base, vp->virtual))
		heap_push(h, &le->leaving, v, vp->virtual, h->seq++);
	else
		linux_eevdf_remove(h, s, v);
}

static void linux_eevdf_withdraw(hls_t *h, u32 s, u32 v)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	queue_remove(h, POLICY_VP(linux_eevdf, v)->is_eligible ? &le->eligible : &le->future, v);
	linux_eevdf_advance(h, s);
	linux_eevdf_leave(h, s, v);
}

/* Picks an eligible VP that can run here, otherwise the VP that is least ahead of its share. */
static u32 linux_eevdf_grant(hls_t *h, u32 s, u32 cpu)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	bool more = linux_eevdf_let_go(h, s);
	u32 v = linux_eevdf_due(h, le);
	if (v)
		linux_eevdf_bring_over(h, s, v);
	le->unfinished = more || linux_eevdf_due(h, le);
	if (le->unfinished)
		hls_set_timer(h, s, h->now_ns);
	v = queue_first_usable(h, &le->eligible, cpu);
	if (v) {
		queue_remove(h, &le->eligible, v);
	} else {
		v = queue_first_usable(h, &le->future, cpu);
		if (!v)
			return 0;
		queue_remove(h, &le->future, v);
	}
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	vp->is_eligible = 1;
	vp->since_ns = 0;
	h->slice_ns = vp->left_ns;
	return v;
}

static void linux_eevdf_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	u64 weight = linux_eevdf_weight(h, s, v);
	u64 service = (used_ns << VIRTUAL_SHIFT) + vp->rest, quotient = service / weight;
	linux_eevdf_advance_by(h, s, v, used_ns);
	vp->virtual += quotient;
	vp->rest = service - quotient * weight;
	vp->left_ns -= used_ns < vp->left_ns ? used_ns : vp->left_ns;
}

/* A VP that yields asks for a new slice, with a deadline one slice later. */
static void linux_eevdf_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
	bool yielded = h->vp[v].flags & HLS_YIELDED;
	h->vp[v].flags &= ~HLS_YIELDED;
	linux_eevdf_charge(h, s, v, used_ns);
	if (!vp->left_ns || yielded)
		linux_eevdf_ask(h, s, v);
	if (yielded)
		vp->deadline += virtual_of(vp->left_ns, linux_eevdf_weight(h, s, v));
	linux_eevdf_enqueue(h, s, v);
}

static void linux_eevdf_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	linux_eevdf_charge(h, s, v, used_ns);
	linux_eevdf_leave(h, s, v);
}

/* A VP with a shorter slice preempts; so does any VP if the choice was made before all due VPs were brought over. */
static bool linux_eevdf_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	const linux_eevdf_vp_t *waits = POLICY_VP(linux_eevdf, ready);
	bool may = POLICY_STATE(linux_eevdf, s)->unfinished ||
		   linux_eevdf_slice(h, s, ready) < linux_eevdf_slice(h, s, running);
	return may && waits->is_eligible &&
	       virtual_before(waits->deadline, POLICY_VP(linux_eevdf, running)->deadline);
}

/* V has passed many VPs at once: brings over the rest of them, one at each call. */
static u32 linux_eevdf_timer(hls_t *h, u32 s)
{
	linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	bool more = linux_eevdf_let_go(h, s);
	u32 v = linux_eevdf_due(h, le);
	if (v) {
		linux_eevdf_bring_over(h, s, v);
		return v;
	}
	if (more)
		hls_set_timer(h, s, h->now_ns);
	le->unfinished = more;
	return 0;
}

/* v leaves, or comes back at once with other parameters: it keeps its lag. */
static void linux_eevdf_unregister_vp(hls_t *h, u32 s, u32 v)
{
	if (!POLICY_VP(linux_eevdf, v)->counts)
		return;
	heap_remove(h, &POLICY_STATE(linux_eevdf, s)->leaving, v);
	linux_eevdf_remove(h, s, v);
}

/* All VPs that want a CPU count, and the sums are over all VPs that count. */
static bool linux_eevdf_check_invariants(hls_t *h, u32 s)
{
	const linux_eevdf_t *le = POLICY_STATE(linux_eevdf, s);
	u64 weight = 0, sum = 0;
	for_each_child (h, v, s) {
		const linux_eevdf_vp_t *vp = POLICY_VP(linux_eevdf, v);
		if (vp->counts) {
			weight += linux_eevdf_weight(h, s, v);
			sum += (vp->virtual - le->base) * linux_eevdf_weight(h, s, v) + vp->rest;
		} else if (h->vp[v].state != HLS_WAITING) {
			return false;
		}
		if (h->vp[v].state == HLS_RUNNING)
			sum += vp->since_ns << VIRTUAL_SHIFT;
	}
	return weight == le->weight && sum == (u64)le->sum;
}

static const struct hls_policy linux_eevdf_policy = {
    .name = "linux-eevdf",
    .what = "EEVDF as Linux has it since 6.6: weights by nice, slices, and lag that survives sleep",
    .source = "Linux 6.12, kernel/sched/fair.c",
    .init = linux_eevdf_init,
    .register_vp = linux_eevdf_register_vp,
    .unregister_vp = linux_eevdf_unregister_vp,
    .request = linux_eevdf_request,
    .withdraw = linux_eevdf_withdraw,
    .grant = linux_eevdf_grant,
    .revoke = linux_eevdf_revoke,
    .release = linux_eevdf_release,
    .preempts = linux_eevdf_preempts,
    .timer = linux_eevdf_timer,
    .check_invariants = linux_eevdf_check_invariants,
};
