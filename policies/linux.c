/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The time sharing of Linux 2.4: goodness() and schedule() of kernel/sched.c (D. P. Bovet, M. Cesati, "Understanding
 * the Linux Kernel", O'Reilly 2000, chapter 10).
 *
 * A VP has a counter of ticks, which goes down while it runs. Its goodness is counter + priority, and 0 without a
 * counter; the greatest goodness runs, until its counter is used up or a VP of greater goodness wakes up. When no READY
 * VP has any counter left, an epoch ends: then every VP, READY or asleep, gets counter / 2 + quantum, where the quantum
 * is priority / 4 + 1 ticks. So a VP that sleeps saves up to two quanta, and goes first when it wakes up.
 *
 *      request        grant            counter used up                        no VP of this epoch is left
 *     --------> READY -----> RUNNING ------------------> READY in next epoch ----------------------------> READY
 *                 ^             |
 *                 +-------------+ revoked before that
 *
 * The kernel walks all tasks to choose, and all tasks again when an epoch ends. Here a READY VP lies in a queue by the
 * epoch in which it has counter, and there by its goodness, which does not change while the VP waits; the halving is
 * made up for when the VP wakes up or is granted a CPU.
 *
 * Where it differs from the kernel:
 * - Among equals the one that was interrupted goes first, as in the kernel, and then the one that has waited longest;
 *   in the kernel, the one that woke up last.
 * - CPU time is charged to the nanosecond, not to the VP that a tick meets, so that no VP can sleep through the ticks.
 * - A VP that yields goes on in the next epoch, with what it has then. In the kernel others go first once.
 * - No goodness for the CPU or the memory that a VP had last. On several CPUs an epoch ends when one of them finds no
 *   counter that it could use up, as in the kernel; a VP that runs elsewhere meanwhile has its halving afterwards.
 * - A VP begins with a quantum; in the kernel, with half of what its parent had.
 * - Linux 2.0 and 2.2 have quanta of `priority` ticks, and so goodness of up to 119.
 */
#include "../core/policy.h"

#undef linux /* a macro of compilers, which says for which system they compile */

#define LINUX_MOST_PRIORITY 40

#define LINUX_PARAMS(P) P(LINUX_TICK, "tick", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(1), "unit of counters")
#define LINUX_VP_PARAMS(P) \
	P(LINUX_PRIORITY, "priority", HLS_COUNT, 20, 1, LINUX_MOST_PRIORITY, "20 less the nice value")
#define LINUX_MESSAGES(M)

enum { LINUX_PARAMS(HLS_PARAM_INDEX) };
enum { LINUX_VP_PARAMS(HLS_PARAM_INDEX) };

#define LINUX_MOST_QUANTUM (LINUX_MOST_PRIORITY / 4 + 1)
#define LINUX_GOODNESS 64 /* every goodness is less */
_Static_assert(2 * LINUX_MOST_QUANTUM - 1 + LINUX_MOST_PRIORITY < LINUX_GOODNESS, "the greatest goodness fits");

/* After this many epochs without running, a counter no longer changes, whatever it was. */
#define LINUX_SETTLED 7

struct linux {
	u64 epoch; /* the first is 1 */
	struct hls_queue ready;
};

struct linux_vp {
	u64 counter_ns;
	u64 epoch; /* for which the counter holds; 0: the VP has never been registered */
	u64 next;  /* of a READY VP: the epoch in which it can run */
};

POLICY_WORDS(linux);

static void linux_init(hls_t *h, u32 s)
{
	POLICY_STATE(linux, s)->epoch = 1;
}

static u64 linux_quantum(hls_t *h, u32 v)
{
	return h->vp[v].param[LINUX_PRIORITY] / 4 + 1;
}

/* Ticks of a counter, a part of one counting as one. */
static u64 linux_ticks_ceil(hls_t *h, u32 s, u64 counter_ns)
{
	u64 tick_ns = h->scheduler[s].param[LINUX_TICK];
	return (counter_ns + tick_ns - 1) / tick_ns;
}

/* A VP that is new has a quantum; one that is registered anew keeps its counter. */
static s64 linux_register_vp(hls_t *h, u32 s, u32 v)
{
	linux_vp_t *vp = POLICY_VP(linux, v);
	if (!vp->epoch) {
		vp->epoch = POLICY_STATE(linux, s)->epoch;
		vp->counter_ns = linux_quantum(h, v) * h->scheduler[s].param[LINUX_TICK];
	}
	return 0;
}

/* Brings the counter up to date with the epochs that have begun since: half of it, and a quantum, for each. */
static void linux_catch_up(hls_t *h, u32 s, u32 v)
{
	linux_vp_t *vp = POLICY_VP(linux, v);
	u64 epoch = POLICY_STATE(linux, s)->epoch, missed = epoch - vp->epoch;
	if (likely(!missed))
		return;
	u64 ticks = linux_ticks_ceil(h, s, vp->counter_ns), quantum = linux_quantum(h, v);
	for (u32 i = opaque(0); i < LINUX_SETTLED && i < missed && can_loop; i++)
		ticks = ticks / 2 + quantum;
	vp->counter_ns = ticks * h->scheduler[s].param[LINUX_TICK];
	vp->epoch = epoch;
}

/* The least key runs: first by epoch, then by goodness, and the one that was interrupted before its equals. */
static u64 linux_key(u64 epoch, u64 goodness, bool interrupted)
{
	return (epoch * LINUX_GOODNESS + LINUX_GOODNESS - 1 - goodness) * 2 + !interrupted;
}

/* The VP is READY: it can run in this epoch if it has counter and did not yield, else in the next. */
static void linux_enqueue(hls_t *h, u32 s, u32 v, bool interrupted)
{
	linux_t *lx = POLICY_STATE(linux, s);
	linux_vp_t *vp = POLICY_VP(linux, v);
	u64 ticks = linux_ticks_ceil(h, s, vp->counter_ns);
	bool waits = !ticks || (h->vp[v].flags & HLS_YIELDED);
	h->vp[v].flags &= ~HLS_YIELDED;
	if (waits)
		ticks = ticks / 2 + linux_quantum(h, v);
	vp->next = lx->epoch + waits;
	u64 goodness = ticks + h->vp[v].param[LINUX_PRIORITY];
	queue_push(h, &lx->ready, v, linux_key(vp->next, goodness, interrupted && !waits));
}

static void linux_request(hls_t *h, u32 s, u32 v)
{
	linux_catch_up(h, s, v);
	linux_enqueue(h, s, v, false);
}

static void linux_withdraw(hls_t *h, u32 s, u32 v)
{
	queue_remove(h, &POLICY_STATE(linux, s)->ready, v);
}

/* If the first VP can run only in the next epoch, that epoch begins. */
static u32 linux_grant(hls_t *h, u32 s, u32 cpu)
{
	linux_t *lx = POLICY_STATE(linux, s);
	u32 v = queue_first_usable(h, &lx->ready, cpu);
	if (!v)
		return 0;
	queue_remove(h, &lx->ready, v);
	linux_vp_t *vp = POLICY_VP(linux, v);
	if (lx->epoch < vp->next)
		lx->epoch = vp->next;
	linux_catch_up(h, s, v);
	h->slice_ns = vp->counter_ns;
	return v;
}

static void linux_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	linux_vp_t *vp = POLICY_VP(linux, v);
	vp->counter_ns -= used_ns < vp->counter_ns ? used_ns : vp->counter_ns;
	linux_catch_up(h, s, v);
}

static void linux_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	linux_charge(h, s, v, used_ns);
	linux_enqueue(h, s, v, true);
}

/* For the RUNNING VP, what is left of its counter counts, rounded up to ticks. */
static bool linux_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	const linux_vp_t *waits = POLICY_VP(linux, ready);
	const linux_vp_t *runs = POLICY_VP(linux, running);
	u64 used_ns = hls_used_ns(h, running);
	if (waits->next > POLICY_STATE(linux, s)->epoch || used_ns >= runs->counter_ns)
		return used_ns >= runs->counter_ns;
	u64 left = linux_ticks_ceil(h, s, runs->counter_ns - used_ns) + h->vp[running].param[LINUX_PRIORITY];
	u64 has = linux_ticks_ceil(h, s, waits->counter_ns) + h->vp[ready].param[LINUX_PRIORITY];
	return has > left;
}

/* No counter is greater than the limit for the greatest quantum, and none is of a later epoch. */
static bool linux_check_invariants(hls_t *h, u32 s)
{
	u64 most_ns = (2 * LINUX_MOST_QUANTUM - 1) * h->scheduler[s].param[LINUX_TICK];
	for_each_child (h, v, s) {
		const linux_vp_t *vp = POLICY_VP(linux, v);
		if (vp->counter_ns > most_ns || vp->epoch > POLICY_STATE(linux, s)->epoch)
			return false;
	}
	return true;
}

static const struct hls_policy linux_policy = {
    .name = "linux",
    .what = "Linux 2.4's goodness: counter and priority, with counters that sleep saves",
    .source = "Linux 2.4, kernel/sched.c; HLS, section 5.1",
    .init = linux_init,
    .register_vp = linux_register_vp,
    .request = linux_request,
    .withdraw = linux_withdraw,
    .grant = linux_grant,
    .revoke = linux_revoke,
    .release = linux_charge,
    .preempts = linux_preempts,
    .check_invariants = linux_check_invariants,
};
