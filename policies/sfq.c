/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Start-time fair queuing (P. Goyal, X. Guo, H. M. Vin, "A Hierarchical CPU Scheduler for Multimedia Operating
 * Systems", OSDI 1996, section 3).
 *
 * A VP that is requested gets the start tag S = max(v, F). After it ran for `used`, its finish tag is F = S + used /
 * share, which is its next S if it is READY still. The VP with the least S runs, for a quantum. The virtual time v is
 * the S of the VP that runs; when no VP wants the CPU, the greatest F.
 *
 * On several CPUs, which the paper does not cover, v is the S of the VP that was chosen last on any of them. A VP that
 * can use only a busy CPU, or has a greater share than a CPU gives it, falls behind: by SFQ_MOST_BEHIND_NS of its CPU
 * time at most.
 */
#include "../core/virtual_time.h"

#define SFQ_PARAMS(P)                                                          \
	P(SFQ_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "how long a VP runs before others are considered")
#define SFQ_VP_PARAMS(P) P(SFQ_SHARE, "share", HLS_COUNT, 1, 1, 131072, "weight of the VP among its siblings")
#define SFQ_MESSAGES(M)

enum { SFQ_PARAMS(HLS_PARAM_INDEX) };
enum { SFQ_VP_PARAMS(HLS_PARAM_INDEX) };

#define SFQ_MOST_BEHIND_NS HLS_MS(100)

struct sfq {
	u64 virtual_time;
	u64 last_finish;        /* the greatest F */
	struct hls_queue ready; /* by S */
};

struct sfq_vp {
	struct virtual_account tag; /* S; of a VP that is not RUNNING, F */
	u64 released_at;
};

POLICY_FITS(struct sfq, struct sfq_vp);

static void sfq_request(hls_t *h, u32 s, u32 v)
{
	struct sfq __arena *sfq = POLICY_STATE(struct sfq, s);
	struct sfq_vp __arena *vp = POLICY_VP(struct sfq_vp, v);
	bool forgotten = h->now_ns - vp->released_at > VIRTUAL_FORGET_NS;
	if (forgotten || virtual_before(vp->tag.used, sfq->virtual_time))
		virtual_skip_to(&vp->tag, sfq->virtual_time);
	queue_push(h, &sfq->ready, v, vp->tag.used);
}

static void sfq_withdraw(hls_t *h, u32 s, u32 v)
{
	queue_remove(h, &POLICY_STATE(struct sfq, s)->ready, v);
	POLICY_VP(struct sfq_vp, v)->released_at = h->now_ns;
}

static u32 sfq_grant(hls_t *h, u32 s, u32 cpu)
{
	struct sfq __arena *sfq = POLICY_STATE(struct sfq, s);
	u32 v = queue_first_usable(h, &sfq->ready, cpu);
	if (!v)
		return 0;
	queue_remove(h, &sfq->ready, v);
	u64 start = POLICY_VP(struct sfq_vp, v)->tag.used;
	if (virtual_before(sfq->virtual_time, start))
		sfq->virtual_time = start;
	h->slice_ns = h->scheduler[s].param[SFQ_QUANTUM];
	return v;
}

/* v ran for used_ns: F = S + used / share. */
static void sfq_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct sfq __arena *sfq = POLICY_STATE(struct sfq, s);
	struct sfq_vp __arena *vp = POLICY_VP(struct sfq_vp, v);
	virtual_charge(&vp->tag, h->vp[v].param[SFQ_SHARE], used_ns);
	if (virtual_before(sfq->last_finish, vp->tag.used))
		sfq->last_finish = vp->tag.used;
}

static void sfq_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct sfq __arena *sfq = POLICY_STATE(struct sfq, s);
	struct sfq_vp __arena *vp = POLICY_VP(struct sfq_vp, v);
	sfq_charge(h, s, v, used_ns);
	u64 least = sfq->virtual_time - virtual_of(SFQ_MOST_BEHIND_NS, h->vp[v].param[SFQ_SHARE]);
	if (virtual_before(vp->tag.used, least))
		vp->tag.used = least;
	queue_push(h, &sfq->ready, v, vp->tag.used);
}

static void sfq_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct sfq __arena *sfq = POLICY_STATE(struct sfq, s);
	sfq_charge(h, s, v, used_ns);
	POLICY_VP(struct sfq_vp, v)->released_at = h->now_ns;
	if (!(h->scheduler[s].nr_ready | h->scheduler[s].nr_running))
		sfq->virtual_time = sfq->last_finish;
}

/* On one CPU the answer is no: the S of a new request is not less than the S of the RUNNING VP. */
static bool sfq_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return virtual_before(POLICY_VP(struct sfq_vp, ready)->tag.used,
			      POLICY_VP(struct sfq_vp, running)->tag.used);
}

static const struct hls_policy sfq_policy = {
    .name = "sfq",
    .what = "CPU time in proportion to shares, the least start tag first",
    .source = "Goyal, Guo and Vin, OSDI 1996, section 3",
    .request = sfq_request,
    .withdraw = sfq_withdraw,
    .grant = sfq_grant,
    .revoke = sfq_revoke,
    .release = sfq_release,
    .preempts = sfq_preempts,
};
