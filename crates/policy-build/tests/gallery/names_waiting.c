/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grants the CPU to the child that was requested last, whether the child is ready or not.
 *
 * Noticed: its grant hook chose a VP that is not a ready child
 */
#include "../core/policy.h"

#define NAMES_WAITING_PARAMS(P)
#define NAMES_WAITING_VP_PARAMS(P)
#define NAMES_WAITING_MESSAGES(M)

struct names_waiting {
	struct hls_list queue;
};

struct names_waiting_vp {
	u64 count;
};

POLICY_WORDS(names_waiting);

static void names_waiting_request(hls_t *h, u32 s, u32 v)
{
	(void)h, (void)s, (void)v; /* Nobody is queued. */
}

static void names_waiting_withdraw(hls_t *h, u32 s, u32 v)
{
	(void)h, (void)s, (void)v; /* Nobody is queued. */
}

static u32 names_waiting_grant(hls_t *h, u32 s, u32 cpu)
{
	(void)cpu;
	return h->scheduler[s].first_child;
}

static void names_waiting_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	names_waiting_request(h, s, v);
}

static const struct hls_policy names_waiting_policy = {
    .name = "names-waiting",
    .what = "is bad on purpose",
    .source = "none",
    .request = names_waiting_request,
    .withdraw = names_waiting_withdraw,
    .grant = names_waiting_grant,
    .revoke = names_waiting_revoke,
};
