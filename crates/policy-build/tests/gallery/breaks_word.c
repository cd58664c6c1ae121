/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Promises each child CPU time in every period, and lets the child that came first run as long as it likes.
 *
 * Noticed: by the monitor
 */
#include "../core/policy.h"

#define BREAKS_WORD_PARAMS(P)
#define BREAKS_WORD_VP_PARAMS(P)                                                                    \
	P(BREAKS_WORD_BUDGET, "budget", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "promised") \
	P(BREAKS_WORD_PERIOD, "period", HLS_TIME, HLS_REQUIRED, HLS_US(1), HLS_S(3600), "in which")
#define BREAKS_WORD_MESSAGES(M)

enum { BREAKS_WORD_VP_PARAMS(HLS_PARAM_INDEX) };

struct breaks_word {
	struct hls_list queue;
};

struct breaks_word_vp {
	u64 count;
};

POLICY_WORDS(breaks_word);

static void breaks_word_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(breaks_word, s)->queue, v);
}

static void breaks_word_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(breaks_word, s)->queue, v);
}

static u32 breaks_word_grant(hls_t *h, u32 s, u32 cpu)
{
	breaks_word_t *state = POLICY_STATE(breaks_word, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	return v;
}

/* The child lost the CPU, since its scheduler did: it is still the first of the queue. */
static void breaks_word_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	list_push_head(h, &POLICY_STATE(breaks_word, s)->queue, v);
}

static const struct hls_policy breaks_word_policy = {
    .name = "breaks-word",
    .what = "is bad on purpose",
    .source = "none",
    .accepts = "ALL or RESBH",
    .provides = "RESBS budget period when sum(budget / period) <= 1",
    .request = breaks_word_request,
    .withdraw = breaks_word_withdraw,
    .grant = breaks_word_grant,
    .revoke = breaks_word_revoke,
};
