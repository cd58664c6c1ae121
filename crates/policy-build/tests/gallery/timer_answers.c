/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Answers every call of its timer hook with a child, for ever.
 *
 * Noticed: it had itself called more often than every 10 us
 */
#include "../core/policy.h"

static const struct hls_policy timer_answers_policy = {
    .name = "timer-answers",
    .what = "is bad on purpose",
    .source = "none",
};

#define TIMER_ANSWERS_PARAMS(P)
#define TIMER_ANSWERS_VP_PARAMS(P)
#define TIMER_ANSWERS_MESSAGES(M)

struct timer_answers {
	struct hls_list queue;
};

struct timer_answers_vp {
	u64 count;
};

POLICY_FITS(struct timer_answers, struct timer_answers_vp);

static void timer_answers_request(hls_t *h, u32 s, u32 v)
{
	hls_set_timer(h, s, h->now_ns);
	list_push_tail(h->node, &POLICY_STATE(struct timer_answers, s)->queue, v);
}

static void timer_answers_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h->node, &POLICY_STATE(struct timer_answers, s)->queue, v);
}

static u32 timer_answers_grant(hls_t *h, u32 s, u32 cpu)
{
	struct timer_answers __arena *state = POLICY_STATE(struct timer_answers, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h->node, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void timer_answers_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	timer_answers_request(h, s, v);
}

static void timer_answers_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)h, (void)s, (void)v, (void)used_ns; /* Nothing is kept. */
}

static u32 timer_answers_timer(hls_t *h, u32 s)
{
	return h->scheduler[s].first_child;
}

#define timer_answers_init hls_no_init
#define timer_answers_deinit hls_no_init
#define timer_answers_register_vp hls_no_register_vp
#define timer_answers_unregister_vp hls_no_unregister_vp
#define timer_answers_preempts hls_no_preempts
#define timer_answers_message hls_no_message
#define timer_answers_check_invariants hls_no_check_invariants
