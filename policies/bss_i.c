/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BSS-I (G. Lipari, S. K. Baruah, "Efficient Scheduling of Real-Time Multi-Task Applications in Dynamic Systems", RTAS
 * 2000; RTSS 2001, section 5.1): each child has a uniformly slower processor. Its bandwidth sharing server has the
 * deadline of its most urgent job, and keeps a list of budgets, one for each deadline. After it has run, no earlier
 * deadline has a greater budget than the deadline for which it ran: each budget in the list is what may be used.
 * slower.h has the rest.
 *
 * Where it differs from the publication: lists have a bound; a server without budget waits for its deadline.
 */
#include "../core/slower.h"

#define BSS_I_PARAMS(P)                                                           \
	P(BSS_I_PERIOD, "period", HLS_TIME, HLS_MS(10), HLS_US(100), HLS_S(3600), \
	  "time to the deadline of a child that tells none")
#define BSS_I_VP_PARAMS(P)                                                 \
	P(BSS_I_RATE, "rate-ppm", HLS_COUNT, HLS_REQUIRED, 1, SLOWER_UNIT, \
	  "speed of the VP in millionths of what its parent has")
#define BSS_I_DEADLINE_FIELDS(P)                                        \
	P(BSS_I_IN, "in", HLS_TIME, HLS_REQUIRED, 0, SLOWER_MOST_AHEAD, \
	  "how far off the deadline is; 0: it has none")
#define BSS_I_MESSAGES(M) M(BSS_I_DEADLINE, BSS_I_DEADLINE_FIELDS, "deadline", "the deadline of the thread's job")

enum { BSS_I_PARAMS(HLS_PARAM_INDEX) };
enum { BSS_I_VP_PARAMS(HLS_PARAM_INDEX) };
enum { BSS_I_DEADLINE_FIELDS(HLS_PARAM_INDEX) };
enum { BSS_I_MESSAGES(HLS_MESSAGE_INDEX) };

static s64 bss_i_register_vp(hls_t *h, u32 s, u32 v)
{
	slower_register(h, s, v);
	return 0;
}

static void bss_i_unregister_vp(hls_t *h, u32 s, u32 v)
{
	slower_unregister(h, s, v);
}

static void bss_i_request(hls_t *h, u32 s, u32 v)
{
	slower_request(h, s, v);
}

static void bss_i_withdraw(hls_t *h, u32 s, u32 v)
{
	slower_withdraw(h, s, v);
}

static u32 bss_i_grant(hls_t *h, u32 s, u32 cpu)
{
	return slower_grant(h, s, cpu);
}

static void bss_i_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_revoke(h, s, v, used_ns, SLOWER_BY_BUDGET);
}

static void bss_i_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_release(h, s, v, used_ns, SLOWER_BY_BUDGET);
}

static bool bss_i_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return slower_preempts(h, ready, running);
}

static u32 bss_i_timer(hls_t *h, u32 s)
{
	return slower_timer(h, s);
}

static void bss_i_told(hls_t *h, u32 s, u32 v)
{
	slower_told(h, s, v);
}

static s64 bss_i_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	(void)message;
	slower_thread_tells(h, s, v, payload->value[BSS_I_IN]);
	return 0;
}

static bool bss_i_check_invariants(hls_t *h, u32 s)
{
	return slower_is_sound(h, s);
}

static const struct hls_policy bss_i_policy = {
    .name = "bss-i",
    .what = "uniformly slower processors, by a list of budgets for each server",
    .source = "Lipari and Baruah, RTAS 2000",
    .most_children = SLOWER_CHILDREN,
    .slows = true,
    .strict = true,
    .serial = true,
    .tells_deadlines = true,
    .register_vp = bss_i_register_vp,
    .unregister_vp = bss_i_unregister_vp,
    .request = bss_i_request,
    .withdraw = bss_i_withdraw,
    .grant = bss_i_grant,
    .revoke = bss_i_revoke,
    .release = bss_i_release,
    .preempts = bss_i_preempts,
    .timer = bss_i_timer,
    .told = bss_i_told,
    .message = bss_i_message,
    .check_invariants = bss_i_check_invariants,
};
