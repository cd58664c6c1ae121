/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Throttles a running child when the thread of the child sends it a message.
 *
 * Noticed: one of its hooks throttled, unthrottled, rechecked or set a timer where it must not
 */
#include "../core/policy.h"

#define WRONG_MESSAGE_PARAMS(P)
#define WRONG_MESSAGE_VP_PARAMS(P)
#define WRONG_MESSAGE_WAIT_FIELDS(P)
#define WRONG_MESSAGE_MESSAGES(M) M(WRONG_MESSAGE_WAIT, WRONG_MESSAGE_WAIT_FIELDS, "wait", "run no more")

enum { WRONG_MESSAGE_MESSAGES(HLS_MESSAGE_INDEX) };

struct wrong_message {
	struct hls_list queue;
};

struct wrong_message_vp {
	u64 count;
};

POLICY_WORDS(wrong_message);

static void wrong_message_request(hls_t *h, u32 s, u32 v)
{
	list_push_tail(h, &POLICY_STATE(wrong_message, s)->queue, v);
}

static void wrong_message_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(wrong_message, s)->queue, v);
}

static u32 wrong_message_grant(hls_t *h, u32 s, u32 cpu)
{
	wrong_message_t *state = POLICY_STATE(wrong_message, s);
	u32 v = hls_first_usable(h, &state->queue, cpu);
	if (v)
		list_remove(h, &state->queue, v);
	h->slice_ns = HLS_MS(5);
	return v;
}

static void wrong_message_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	wrong_message_request(h, s, v);
}

static s64 wrong_message_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	(void)s, (void)message, (void)payload;
	if (h->vp[v].state != HLS_READY)
		hls_throttle(h, v);
	return 0;
}

static const struct hls_policy wrong_message_policy = {
    .name = "wrong-message",
    .what = "is bad on purpose",
    .source = "none",
    .request = wrong_message_request,
    .withdraw = wrong_message_withdraw,
    .grant = wrong_message_grant,
    .revoke = wrong_message_revoke,
    .message = wrong_message_message,
};
