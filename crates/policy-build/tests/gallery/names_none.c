/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Always answers that no child gets the CPU, while children are ready.
 *
 * Noticed: its grant hook chose no VP while a ready child could use the CPU
 */
#include "../core/policy.h"

#define NAMES_NONE_PARAMS(P)
#define NAMES_NONE_VP_PARAMS(P)
#define NAMES_NONE_MESSAGES(M)

struct names_none {
	struct hls_list queue;
};

struct names_none_vp {
	u64 count;
};

POLICY_WORDS(names_none);

static void names_none_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(names_none, s)->queue, v);
}

static void names_none_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(names_none, s)->queue, v);
}

static u32 names_none_grant(hls_t *h, u32 s, u32 cpu)
{
	(void)h, (void)s, (void)cpu;
	return 0;
}

static void names_none_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	names_none_request(h, s, v);
}

static const struct hls_policy names_none_policy = {
    .name = "names-none",
    .what = "is bad on purpose",
    .source = "none",
    .request = names_none_request,
    .withdraw = names_none_withdraw,
    .grant = names_none_grant,
    .revoke = names_none_revoke,
};
