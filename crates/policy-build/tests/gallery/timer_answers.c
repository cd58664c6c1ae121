/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Answers every call of its timer hook with a child, so that the hook is called again, for ever.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

#define TIMER_ANSWERS_PARAMS(P)
#define TIMER_ANSWERS_VP_PARAMS(P)
#define TIMER_ANSWERS_MESSAGES(M)

struct timer_answers {
	struct hls_list queue;
};

struct timer_answers_vp {
	u64 count;
};

POLICY_WORDS(timer_answers);

static void timer_answers_request(hls_t *h, u32 s, u32 v)
{
	hls_set_timer(h, s, h->now_ns);
	list_push_tail(h, &POLICY_STATE(timer_answers, s)->queue, v);
}

static void timer_answers_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(timer_answers, s)->queue, v);
}

static u32 timer_answers_grant(hls_t *h, u32 s, u32 cpu)
{
	timer_answers_t *state = POLICY_STATE(timer_answers, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void timer_answers_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	timer_answers_request(h, s, v);
}

static u32 timer_answers_timer(hls_t *h, u32 s)
{
	return h->scheduler[s].first_child;
}

static const struct hls_policy timer_answers_policy = {
    .name = "timer-answers",
    .what = "is bad on purpose",
    .source = "none",
    .request = timer_answers_request,
    .withdraw = timer_answers_withdraw,
    .grant = timer_answers_grant,
    .revoke = timer_answers_revoke,
    .timer = timer_answers_timer,
};
