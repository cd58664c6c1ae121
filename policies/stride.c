/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stride scheduling (C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource
 * Management", MIT/LCS/TM-528, 1995, sections 2 and 3).
 *
 * A VP's stride is the inverse of its share, which the paper calls tickets. The VP with the least pass runs for a
 * quantum. Its pass grows by its stride for a whole quantum, and by the same part of the stride for a part of a
 * quantum. The pass is the tag of fair_queue.h, which has the rest; the global pass is the virtual time there.
 *
 * Where it differs from the publication: a VP that wakes up has at least the global pass. In the paper it keeps its
 * distance from the global pass, so that VPs which are owed time can wake up together, and no bound is known for what
 * the others then miss.
 */
#include "../policies/fair_queue.h"

#define STRIDE_PARAMS FAIR_PARAMS
#define STRIDE_VP_PARAMS(P) P(FAIR_SHARE, "share", HLS_COUNT, 1, 1, FAIR_MOST_SHARE, "tickets of the VP")
#define STRIDE_MESSAGES(M)

static const struct hls_policy stride_policy = {
    .name = "stride",
    .what = "CPU time in proportion to shares, the least pass first",
    .source = "Waldspurger and Weihl 1995, waking as in SFQ",
    .request = fair_request,
    .withdraw = fair_withdraw,
    .grant = fair_grant,
    .revoke = fair_revoke,
    .release = fair_release,
    .preempts = fair_preempts,
};
