/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue of VPs by virtual time: what stride scheduling and SFQ have in common. Each VP has a tag, which grows by CPU
 * time / share while the VP runs. The VP with the least tag runs, for a quantum. So two VPs of shares 2 and 1 that
 * always want the CPU have tags that stay a quantum apart, and have two and one thirds of the CPU.
 *
 * The virtual time of the scheduler is the tag of the VP that was chosen last; while no VP wants the CPU, the greatest
 * tag of all. A VP that wakes up has at least this tag: it saves nothing while it sleeps.
 *
 * On several CPUs a VP that can use only a busy one, or has a greater share than a CPU gives it, falls behind the
 * virtual time: by FAIR_MOST_BEHIND_NS of its CPU time at most.
 */
#ifndef HLS_FAIR_QUEUE_H
#define HLS_FAIR_QUEUE_H

#include "../core/virtual_time.h"

#define FAIR_PARAMS(P)                                                          \
	P(FAIR_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "how long a VP runs before others are considered")
#define FAIR_MOST_SHARE 131072

/* The share is the first parameter of a VP. */
enum { FAIR_PARAMS(HLS_PARAM_INDEX) };
enum { FAIR_SHARE };

#define FAIR_MOST_BEHIND_NS HLS_MS(100)

struct fair {
	u64 virtual_time;
	u64 greatest;           /* of all tags */
	struct hls_queue ready; /* by tag */
};

struct fair_vp {
	struct virtual_account tag;
	u64 released_at;
};

POLICY_WORDS(fair);

static void fair_request(hls_t *h, u32 s, u32 v)
{
	fair_t *fair = POLICY_STATE(fair, s);
	fair_vp_t *vp = POLICY_VP(fair, v);
	bool forgotten = h->now_ns - vp->released_at > VIRTUAL_FORGET_NS;
	if (forgotten || virtual_before(vp->tag.used, fair->virtual_time))
		virtual_skip_to(&vp->tag, fair->virtual_time);
	queue_push(h, &fair->ready, v, vp->tag.used);
}

static void fair_withdraw(hls_t *h, u32 s, u32 v)
{
	queue_remove(h, &POLICY_STATE(fair, s)->ready, v);
	POLICY_VP(fair, v)->released_at = h->now_ns;
}

static u32 fair_grant(hls_t *h, u32 s, u32 cpu)
{
	fair_t *fair = POLICY_STATE(fair, s);
	u32 v = queue_first_usable(h, &fair->ready, cpu);
	if (!v)
		return 0;
	queue_remove(h, &fair->ready, v);
	u64 tag = POLICY_VP(fair, v)->tag.used;
	if (virtual_before(fair->virtual_time, tag))
		fair->virtual_time = tag;
	h->slice_ns = h->scheduler[s].param[FAIR_QUANTUM];
	return v;
}

/* v ran for used_ns: its tag grows by used / share. */
static void fair_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	fair_t *fair = POLICY_STATE(fair, s);
	fair_vp_t *vp = POLICY_VP(fair, v);
	virtual_charge(&vp->tag, h->vp[v].param[FAIR_SHARE], used_ns);
	if (virtual_before(fair->greatest, vp->tag.used))
		fair->greatest = vp->tag.used;
}

static void fair_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	fair_t *fair = POLICY_STATE(fair, s);
	fair_vp_t *vp = POLICY_VP(fair, v);
	fair_charge(h, s, v, used_ns);
	u64 least = fair->virtual_time - virtual_of(FAIR_MOST_BEHIND_NS, h->vp[v].param[FAIR_SHARE]);
	if (virtual_before(vp->tag.used, least))
		vp->tag.used = least;
	queue_push(h, &fair->ready, v, vp->tag.used);
}

static void fair_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	fair_t *fair = POLICY_STATE(fair, s);
	fair_charge(h, s, v, used_ns);
	POLICY_VP(fair, v)->released_at = h->now_ns;
	if (!(h->scheduler[s].nr_ready | h->scheduler[s].nr_running))
		fair->virtual_time = fair->greatest;
}

/* On one CPU the answer is no: the tag of a new request is not less than the tag of the RUNNING VP. */
static bool fair_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return virtual_before(POLICY_VP(fair, ready)->tag.used, POLICY_VP(fair, running)->tag.used);
}

#endif
