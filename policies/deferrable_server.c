/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deferrable servers (J. P. Lehoczky, L. Sha, J. K. Strosnider, "Enhanced Aperiodic Responsiveness in Hard Real-Time
 * Environments", RTSS 1987; J. K. Strosnider, J. P. Lehoczky, L. Sha, "The Deferrable Server Algorithm", IEEE
 * Transactions on Computers, 1995): each VP is a server with a budget of CPU time in every period, at a fixed priority.
 *
 * A server keeps its budget while its child sleeps, until the period ends; then it has a whole one, and nothing more.
 * So a child that wakes up is served at once, at the server's priority, if it has not used the budget in this period.
 * That is all in server.h.
 *
 * It can be cheated, as the papers say themselves: a VP that uses its budget at the end of a period has the next one at
 * once, and takes twice the budget in a row from lower priorities. The analysis accounts for that; sporadic_server.c
 * does not allow it.
 */
#include "../policies/server.h"

#define DEFERRABLE_SERVER_PARAMS(P)
#define DEFERRABLE_SERVER_VP_PARAMS SERVER_VP_PARAMS
#define DEFERRABLE_SERVER_MESSAGES(M)

static const struct hls_policy deferrable_server_policy = {
    .name = "deferrable-server",
    .what = "a budget in every period at a fixed priority, kept while the child sleeps",
    .source = "Lehoczky, Sha and Strosnider, RTSS 1987",
    .strict = true,
    .serial = true,
    .register_vp = server_register_vp,
    .request = server_request,
    .withdraw = server_withdraw,
    .grant = server_grant,
    .revoke = server_revoke,
    .release = server_release,
    .preempts = server_preempts,
    .timer = server_timer,
    .check_invariants = server_check_invariants,
};
