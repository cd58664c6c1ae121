/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PShED, processor sharing with earliest deadlines first (G. Lipari, J. Carpenter, S. K. Baruah, "A Framework for
 * Achieving Inter-Application Isolation in Multiprogrammed, Hard Real-Time Environments", RTSS 2000; RTSS 2001, section
 * 5.1): each child has a uniformly slower processor, as below BSS-I. But a server keeps its slack at each deadline: CPU
 * time is taken off the slack at the deadline for which it runs and at all later ones; earlier ones are not walked
 * over. What may be used by a deadline is the least slack from that deadline on. slower.h has the rest.
 *
 * Where it differs from the publication: the deadlines of a server have a bound, and lie in a list, not in a tree; a
 * server without budget waits for its deadline.
 */
#include "../policies/slower.h"

#define PSHED_PARAMS SLOWER_PARAMS
#define PSHED_VP_PARAMS SLOWER_VP_PARAMS
#define PSHED_MESSAGES SLOWER_MESSAGES

static void pshed_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_revoke(h, s, v, used_ns, SLOWER_BY_SLACK);
}

static void pshed_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_release(h, s, v, used_ns, SLOWER_BY_SLACK);
}

static const struct hls_policy pshed_policy = {
    .name = "pshed",
    .what = "uniformly slower processors, by the slack of each server",
    .source = "Lipari, Carpenter and Baruah, RTSS 2000",
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
    .revoke = pshed_revoke,
    .release = pshed_release,
    .preempts = slower_preempts,
    .timer = slower_timer,
    .told = slower_told,
    .message = slower_message,
    .check_invariants = slower_check_invariants,
};
