/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polling servers (J. P. Lehoczky, L. Sha, J. K. Strosnider, "Enhanced Aperiodic Responsiveness in Hard Real-Time
 * Environments", RTSS 1987, which compares deferrable servers with them): each VP is a server with a budget of CPU time
 * in every period, at a fixed priority.
 *
 * At the start of a period the server looks whether its child wants the CPU. If so, the child has the budget, until it
 * sleeps or has used it. What is left when it sleeps is lost; and if it does not want the CPU at the start of a period,
 * all of that period's budget is lost. So to lower priorities a server is a periodic task, and a child that wakes up
 * first waits for the start of the next period.
 *
 *                     start of a period             grant
 *     request --> throttled ------------------> READY ------> RUNNING
 *                 ^   ^                           ^  revoke   |    |
 *                 |   |                           +-----------+    | release: the rest of the budget is lost
 *                 |   +--- revoke, no budget -----------------+    v
 *                 +--------------- request --------------------- WAITING
 *
 * The first request begins the first period. No VP gains by sleeping, and a sleep forgives no debt. server.h has what
 * is as for deferrable servers.
 */
#include "../policies/server.h"

#define POLLING_SERVER_PARAMS(P)
#define POLLING_SERVER_VP_PARAMS SERVER_VP_PARAMS
#define POLLING_SERVER_MESSAGES(M)

/* What is left of the budget is lost; a debt is not. */
static void polling_server_lose(hls_t *h, u32 v)
{
	budget_t *budget = &POLICY_VP(server, v)->budget;
	if (budget->left_ns > 0)
		budget->left_ns = 0;
}

static void polling_server_request(hls_t *h, u32 s, u32 v)
{
	budget_t *budget = &POLICY_VP(server, v)->budget;
	h->vp[v].flags &= ~HLS_RESUMED;
	if (unlikely(!budget->end_at))
		budget->end_at = h->now_ns;
	if (h->now_ns >= budget->end_at) {
		bool begins = (h->now_ns - budget->end_at) % h->vp[v].param[SERVER_PERIOD] == 0;
		server_renew_if_over(h, v);
		if (!begins)
			polling_server_lose(h, v);
	}
	server_enqueue(h, s, v, true);
}

static void polling_server_withdraw(hls_t *h, u32 s, u32 v)
{
	server_withdraw(h, s, v);
	polling_server_lose(h, v);
}

static void polling_server_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	server_release(h, s, v, used_ns);
	polling_server_lose(h, v);
}

static const struct hls_policy polling_server_policy = {
    .name = "polling-server",
    .what = "a budget in every period at a fixed priority, for a child that wants it when the period begins",
    .source = "Lehoczky, Sha and Strosnider, RTSS 1987",
    .strict = true,
    .serial = true,
    .register_vp = server_register_vp,
    .request = polling_server_request,
    .withdraw = polling_server_withdraw,
    .grant = server_grant,
    .revoke = server_revoke,
    .release = polling_server_release,
    .preempts = server_preempts,
    .timer = server_timer,
    .check_invariants = server_check_invariants,
};
