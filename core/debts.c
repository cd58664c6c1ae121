/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU time that a thread has without a grant, because a platform must let it get on (bpf/moment.h): the scheduler that
 * kept the thread waiting pays for it. hls_let_pay() says which schedulers pay; of those above the thread, the topmost
 * does: otherwise the owner of one could let a thread below one part of it hold others up, and compute below another
 * part.
 *
 * The scheduler pays with its VP: when that is granted a CPU, it has already used as much of its slice as it owes, and
 * is charged for it as for any CPU time. So each policy takes the debt into account, and none knows of it. A VP that
 * never runs again does not pay. If the VP is RUNNING already, its slice ends earlier by what it owes; the platform may
 * notice that as late as the slice would have ended.
 */
#include "states.h"

/* What a VP may owe, in microseconds: as much as an overrun (budget.h). The rest of a larger debt is let off. */
#define MOST_OWED_US 10000

/* The VP with which the topmost scheduler above v that pays does so: the one that is RUNNING, or else any. 0: none. */
static u32 paying_vp(hls_t *h, u32 v)
{
	u32 payer = opaque(0), paying = opaque(0);
	for (u32 i = opaque(0), s = h->vp[v].parent; s && i < HLS_MAX_DEPTH && can_loop; i++) {
		if (h->scheduler[s].pays)
			payer = s;
		s = h->vp[h->scheduler[s].first_up].parent;
	}
	if (!payer)
		return 0;
	for_each_up (h, u, payer)
		if (!paying || h->vp[u].state == HLS_RUNNING)
			paying = u;
	return paying;
}

/* The RUNNING VP v pays what it owes: it was granted its CPU, and its slice ends, that much earlier. */
HLS_RARE_FUNC u32 pay(hls_t *h __arg_arena, u32 v)
{
	vp_t *vp = &h->vp[v];
	step_t *step = &h->cpu[vp->cpu].path[vp->level];
	u64 owed_ns = HLS_US(vp->owed_us);
	if (owed_ns > vp->granted_at)
		owed_ns = vp->granted_at;
	vp->owed_us = 0;
	vp->flags &= ~HLS_OWES;
	vp->granted_at -= owed_ns;
	vp->ran_ns -= owed_ns;
	if (step->expires_at != HLS_NEVER)
		step->expires_at -= owed_ns;
	if (step->expires_at < step->first_expiry)
		step->first_expiry = step->expires_at;
	update_expiries(&h->cpu[vp->cpu], vp->level);
	hls_emit(h, v, HLS_REC_PAY, owed_ns, 0);
	return 0;
}

/* The thread of v had a CPU without a grant for length_ns. If no scheduler above it pays, nothing happens. */
HLS_ENTRY u64 hls_owe(hls_t *h __arg_arena, u32 v, u64 length_ns, u64 now_ns)
{
	h->now_ns = now_ns;
	u32 u = paying_vp(h, v);
	vp_t *vp = &h->vp[u];
	if (!u || !length_ns || !vp->parent)
		return h->kick;
	u64 owed_us = vp->owed_us + (length_ns < HLS_US(MOST_OWED_US) ? (length_ns + 999) / 1000 : MOST_OWED_US);
	vp->owed_us = owed_us < MOST_OWED_US ? owed_us : MOST_OWED_US;
	vp->flags |= HLS_OWES;
	if (vp->state == HLS_RUNNING)
		pay(h, u);
	return h->kick;
}
