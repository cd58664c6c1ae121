/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stride scheduling (C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource
 * Management", MIT/LCS/TM-528, 1995, sections 2 and 3).
 *
 * A VP's stride is the inverse of its share, which the paper calls tickets. The VP with the least pass runs for a
 * quantum. Its pass grows by its stride for a whole quantum, and by the same part of the stride for a part of a
 * quantum.
 *
 * The global pass is the pass of the RUNNING VP; while no VP wants the CPU, the greatest pass of all. A VP that wakes
 * up has at least this pass: it saves nothing while it sleeps. In the paper it keeps its distance from the global pass,
 * so that VPs which are owed time can wake up together, and no bound is known for what the others then miss.
 *
 * On several CPUs a VP that can use only a busy one, or has a greater share than a CPU gives it, falls behind the
 * global pass: by STRIDE_MOST_BEHIND_NS of its CPU time at most.
 */
#include "../core/virtual_time.h"

#define STRIDE_PARAMS(P)                                                          \
	P(STRIDE_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(10), HLS_S(10), \
	  "how long a VP runs before others are considered")
#define STRIDE_VP_PARAMS(P) P(STRIDE_SHARE, "share", HLS_COUNT, 1, 1, 131072, "tickets of the VP")
#define STRIDE_MESSAGES(M)

enum { STRIDE_PARAMS(HLS_PARAM_INDEX) };
enum { STRIDE_VP_PARAMS(HLS_PARAM_INDEX) };

#define STRIDE_MOST_BEHIND_NS HLS_MS(100)

struct stride {
	u64 global_pass;
	u64 greatest_pass;
	struct hls_queue ready; /* by pass */
};

struct stride_vp {
	struct virtual_account pass;
	u64 released_at;
};

POLICY_FITS(struct stride, struct stride_vp);

static void stride_request(hls_t *h, u32 s, u32 v)
{
	struct stride __arena *stride = POLICY_STATE(struct stride, s);
	struct stride_vp __arena *vp = POLICY_VP(struct stride_vp, v);
	bool forgotten = h->now_ns - vp->released_at > VIRTUAL_FORGET_NS;
	if (forgotten || virtual_before(vp->pass.used, stride->global_pass))
		virtual_skip_to(&vp->pass, stride->global_pass);
	queue_push(h, &stride->ready, v, vp->pass.used);
}

static void stride_withdraw(hls_t *h, u32 s, u32 v)
{
	queue_remove(h, &POLICY_STATE(struct stride, s)->ready, v);
	POLICY_VP(struct stride_vp, v)->released_at = h->now_ns;
}

static u32 stride_grant(hls_t *h, u32 s, u32 cpu)
{
	struct stride __arena *stride = POLICY_STATE(struct stride, s);
	u32 v = queue_first_usable(h, &stride->ready, cpu);
	if (!v)
		return 0;
	queue_remove(h, &stride->ready, v);
	u64 pass = POLICY_VP(struct stride_vp, v)->pass.used;
	if (virtual_before(stride->global_pass, pass))
		stride->global_pass = pass;
	h->slice_ns = h->scheduler[s].param[STRIDE_QUANTUM];
	return v;
}

/* v ran for used_ns: its pass grows by used / share. */
static void stride_charge(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct stride __arena *stride = POLICY_STATE(struct stride, s);
	struct stride_vp __arena *vp = POLICY_VP(struct stride_vp, v);
	virtual_charge(&vp->pass, h->vp[v].param[STRIDE_SHARE], used_ns);
	if (virtual_before(stride->greatest_pass, vp->pass.used))
		stride->greatest_pass = vp->pass.used;
}

static void stride_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct stride __arena *stride = POLICY_STATE(struct stride, s);
	struct stride_vp __arena *vp = POLICY_VP(struct stride_vp, v);
	stride_charge(h, s, v, used_ns);
	u64 least = stride->global_pass - virtual_of(STRIDE_MOST_BEHIND_NS, h->vp[v].param[STRIDE_SHARE]);
	if (virtual_before(vp->pass.used, least))
		vp->pass.used = least;
	queue_push(h, &stride->ready, v, vp->pass.used);
}

static void stride_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	struct stride __arena *stride = POLICY_STATE(struct stride, s);
	stride_charge(h, s, v, used_ns);
	POLICY_VP(struct stride_vp, v)->released_at = h->now_ns;
	if (!(h->scheduler[s].nr_ready | h->scheduler[s].nr_running))
		stride->global_pass = stride->greatest_pass;
}

/* On one CPU the answer is no: the pass of a new request is not less than the pass of the RUNNING VP. */
static bool stride_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return virtual_before(POLICY_VP(struct stride_vp, ready)->pass.used,
			      POLICY_VP(struct stride_vp, running)->pass.used);
}

static const struct hls_policy stride_policy = {
    .name = "stride",
    .what = "CPU time in proportion to shares, the least pass first",
    .source = "Waldspurger and Weihl 1995, waking as in SFQ",
    .request = stride_request,
    .withdraw = stride_withdraw,
    .grant = stride_grant,
    .revoke = stride_revoke,
    .release = stride_release,
    .preempts = stride_preempts,
};
