/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Start-time fair queuing (P. Goyal, X. Guo, H. M. Vin, "A Hierarchical CPU Scheduler for Multimedia Operating
 * Systems", OSDI 1996, section 3).
 *
 * A VP that is requested gets the start tag S = max(v, F). After it ran for `used`, its finish tag is F = S + used /
 * share, which is its next S if it is READY still. The VP with the least S runs, for a quantum. The virtual time v is
 * the S of the VP that runs; when no VP wants the CPU, the greatest F. The tag of fair_queue.h, which has the rest, is
 * S, and F of a VP that is not RUNNING or READY.
 *
 * On several CPUs, which the paper does not cover, v is the S of the VP that was chosen last on any of them.
 */
#include "../policies/fair_queue.h"

#define SFQ_PARAMS FAIR_PARAMS
#define SFQ_VP_PARAMS(P) \
	P(FAIR_SHARE, "share", HLS_COUNT, 1, 1, FAIR_MOST_SHARE, "weight of the VP among its siblings")
#define SFQ_MESSAGES(M)

static const struct hls_policy sfq_policy = {
    .name = "sfq",
    .what = "CPU time in proportion to shares, the least start tag first",
    .source = "Goyal, Guo and Vin, OSDI 1996, section 3",
    .request = fair_request,
    .withdraw = fair_withdraw,
    .grant = fair_grant,
    .revoke = fair_revoke,
    .release = fair_release,
    .preempts = fair_preempts,
};
