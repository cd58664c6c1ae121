/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Does not compile.
 *
 * Noticed: by the compiler
 */
#include "../core/policy.h"

#define NO_C_PARAMS(P)
#define NO_C_VP_PARAMS(P)
#define NO_C_MESSAGES(M)

struct no_c {
	struct hls_list queue;
};

struct no_c_vp {
	u64 count;
};

POLICY_WORDS(no_c);

static void no_c_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(no_c, s)->queue, v);
}

static void no_c_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(no_c, s)->queue, v);
}

static u32 no_c_grant(hls_t *h, u32 s, u32 cpu)
{
	no_c_t *state = POLICY_STATE(no_c, s);
	(void)cpu;
	return list_first(&state->queue); /* here */
}

static void no_c_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	no_c_request(h, s, v);
}

static const struct hls_policy no_c_policy = {
    .name = "no-c",
    .what = "is bad on purpose",
    .source = "none",
    .request = no_c_request,
    .withdraw = no_c_withdraw,
    .grant = no_c_grant,
    .revoke = no_c_revoke,
};
