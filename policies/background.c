/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Background service: the simplest way to serve aperiodic requests beside periodic tasks, and the baseline for all
 * servers of that literature (J. P. Lehoczky, L. Sha, J. K. Strosnider, RTSS 1987; B. Sprunt, L. Sha, J. P. Lehoczky,
 * Real-Time Systems 1989, section 1).
 *
 * VPs with a `period` are periodic tasks by rate monotonic priorities (C. L. Liu, J. W. Layland, JACM 1973): the
 * shortest period runs. VPs without a period run when no periodic task wants the CPU, in order of arrival, each until
 * it sleeps.
 *
 *     READY:   | periodic tasks, the shortest period first | the others, in order of arrival |
 *
 * A preempted VP without a period keeps its place; a preempted periodic task goes behind the others of its period. A VP
 * that yields goes behind its equals.
 *
 * No VP is limited: a task that computes for ever starves all behind it, and so does an aperiodic request. That is what
 * servers are for (deferrable_server.c, sporadic_server.c). On several CPUs the first VPs in this order run.
 */
#include "../core/policy.h"

#define BACKGROUND_PARAMS(P)
#define BACKGROUND_VP_PARAMS(P)                                     \
	P(BACKGROUND_PERIOD, "period", HLS_TIME, 0, 0, HLS_S(3600), \
	  "of a periodic task, the shortest first; 0: served in the background")
#define BACKGROUND_MESSAGES(M)

enum { BACKGROUND_VP_PARAMS(HLS_PARAM_INDEX) };

/* All periods are less than this. */
#define BACKGROUND_FIRST_PLACE (1ULL << 62)

struct background {
	struct hls_queue ready; /* by place */
};

struct background_vp {
	u64 place; /* the period; without one, when it arrived, behind all periods */
};

POLICY_WORDS(background);

/* v comes behind all earlier arrivals. */
static void background_arrive(hls_t *h, u32 v)
{
	u64 period = h->vp[v].param[BACKGROUND_PERIOD];
	POLICY_VP(background, v)->place = period ? period : BACKGROUND_FIRST_PLACE + h->seq++;
}

static void background_enqueue(hls_t *h, u32 s, u32 v)
{
	queue_push(h, &POLICY_STATE(background, s)->ready, v, POLICY_VP(background, v)->place);
}

static void background_request(hls_t *h, u32 s, u32 v)
{
	background_arrive(h, v);
	background_enqueue(h, s, v);
}

static void background_withdraw(hls_t *h, u32 s, u32 v)
{
	queue_remove(h, &POLICY_STATE(background, s)->ready, v);
}

static u32 background_grant(hls_t *h, u32 s, u32 cpu)
{
	background_t *background = POLICY_STATE(background, s);
	u32 v = queue_first_usable(h, &background->ready, cpu);
	if (v)
		queue_remove(h, &background->ready, v);
	return v;
}

static void background_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	if (h->vp[v].flags & HLS_YIELDED)
		background_arrive(h, v);
	h->vp[v].flags &= ~HLS_YIELDED;
	background_enqueue(h, s, v);
}

static bool background_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	u64 period = h->vp[ready].param[BACKGROUND_PERIOD], other = h->vp[running].param[BACKGROUND_PERIOD];
	(void)s;
	return period && (!other || period < other);
}

static const struct hls_policy background_policy = {
    .name = "background",
    .what = "periodic tasks, the shortest period first; the others in order of arrival when none wants the CPU",
    .source = "Lehoczky, Sha and Strosnider, RTSS 1987; Liu and Layland, JACM 1973",
    .strict = true,
    .request = background_request,
    .withdraw = background_withdraw,
    .grant = background_grant,
    .revoke = background_revoke,
    .preempts = background_preempts,
};
