/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BSS-I (G. Lipari, S. K. Baruah, "Efficient Scheduling of Real-Time Multi-Task Applications in Dynamic Systems", RTAS
 * 2000; RTSS 2001, section 5.1): each child has a uniformly slower processor. Its bandwidth sharing server has the
 * deadline of its most urgent job, and keeps a list of budgets, one for each deadline. After it has run, no earlier
 * deadline has a greater budget than the deadline for which it ran: each budget in the list is what may be used.
 * slower.h has the rest.
 *
 * Where it differs from the publication: lists have a bound; a server without budget waits for its deadline.
 */
#include "../policies/slower.h"

#define BSS_I_PARAMS SLOWER_PARAMS
#define BSS_I_VP_PARAMS SLOWER_VP_PARAMS
#define BSS_I_MESSAGES SLOWER_MESSAGES

static void bss_i_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_revoke(h, s, v, used_ns, SLOWER_BY_BUDGET);
}

static void bss_i_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_release(h, s, v, used_ns, SLOWER_BY_BUDGET);
}

static const struct hls_policy bss_i_policy = {
    .name = "bss-i",
    .what = "uniformly slower processors, by a list of budgets for each server",
    .source = "Lipari and Baruah, RTAS 2000",
    .most_children = SLOWER_CHILDREN,
    .slows = true,
    .strict = true,
    .serial = true,
    .tells_deadlines = true,
    .register_vp = slower_register_vp,
    .unregister_vp = slower_unregister_vp,
    .request = slower_request,
    .withdraw = slower_withdraw,
    .grant = slower_grant,
    .revoke = bss_i_revoke,
    .release = bss_i_release,
    .preempts = slower_preempts,
    .timer = slower_timer,
    .told = slower_told,
    .message = slower_message,
    .check_invariants = slower_check_invariants,
};
