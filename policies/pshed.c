/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * PShED, processor sharing with earliest deadlines first (G. Lipari, J. Carpenter, S. K. Baruah, "A Framework for
 * Achieving Inter-Application Isolation in Multiprogrammed, Hard Real-Time Environments", RTSS 2000; RTSS 2001, section
 * 5.1): each child has a uniformly slower processor, as below BSS-I. But a server keeps its slack at each deadline: CPU
 * time is taken off the slack at the deadline for which it runs and at all later ones; earlier ones are not walked
 * over. What may be used by a deadline is the least slack from that deadline on. slower.h has the rest.
 *
 * Where it differs from the publication: the deadlines of a server have a bound, and lie in a list, not in a tree; a
 * server without budget waits for its deadline.
 */
#include "../core/slower.h"

#define PSHED_PARAMS(P)                                                           \
	P(PSHED_PERIOD, "period", HLS_TIME, HLS_MS(10), HLS_US(100), HLS_S(3600), \
	  "time to the deadline of a child that tells none")
#define PSHED_VP_PARAMS(P)                                                 \
	P(PSHED_RATE, "rate-ppm", HLS_COUNT, HLS_REQUIRED, 1, SLOWER_UNIT, \
	  "speed of the VP in millionths of what its parent has")
#define PSHED_DEADLINE_FIELDS(P)                                        \
	P(PSHED_IN, "in", HLS_TIME, HLS_REQUIRED, 0, SLOWER_MOST_AHEAD, \
	  "how far off the deadline is; 0: it has none")
#define PSHED_MESSAGES(M) M(PSHED_DEADLINE, PSHED_DEADLINE_FIELDS, "deadline", "the deadline of the thread's job")

enum { PSHED_PARAMS(HLS_PARAM_INDEX) };
enum { PSHED_VP_PARAMS(HLS_PARAM_INDEX) };
enum { PSHED_DEADLINE_FIELDS(HLS_PARAM_INDEX) };
enum { PSHED_MESSAGES(HLS_MESSAGE_INDEX) };

static s64 pshed_register_vp(hls_t *h, u32 s, u32 v)
{
	slower_register(h, s, v);
	return 0;
}

static void pshed_unregister_vp(hls_t *h, u32 s, u32 v)
{
	slower_unregister(h, s, v);
}

static void pshed_request(hls_t *h, u32 s, u32 v)
{
	slower_request(h, s, v);
}

static void pshed_withdraw(hls_t *h, u32 s, u32 v)
{
	slower_withdraw(h, s, v);
}

static u32 pshed_grant(hls_t *h, u32 s, u32 cpu)
{
	return slower_grant(h, s, cpu);
}

static void pshed_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_revoke(h, s, v, used_ns, SLOWER_BY_SLACK);
}

static void pshed_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	slower_release(h, s, v, used_ns, SLOWER_BY_SLACK);
}

static bool pshed_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)s;
	return slower_preempts(h, ready, running);
}

static u32 pshed_timer(hls_t *h, u32 s)
{
	return slower_timer(h, s);
}

static void pshed_told(hls_t *h, u32 s, u32 v)
{
	slower_told(h, s, v);
}

static s64 pshed_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	(void)message;
	slower_thread_tells(h, s, v, payload->value[PSHED_IN]);
	return 0;
}

static bool pshed_check_invariants(hls_t *h, u32 s)
{
	return slower_is_sound(h, s);
}

static const struct hls_policy pshed_policy = {
    .name = "pshed",
    .what = "uniformly slower processors, by the slack of each server",
    .source = "Lipari, Carpenter and Baruah, RTSS 2000",
    .most_children = SLOWER_CHILDREN,
    .slows = true,
    .strict = true,
    .serial = true,
    .tells_deadlines = true,
    .register_vp = pshed_register_vp,
    .unregister_vp = pshed_unregister_vp,
    .request = pshed_request,
    .withdraw = pshed_withdraw,
    .grant = pshed_grant,
    .revoke = pshed_revoke,
    .release = pshed_release,
    .preempts = pshed_preempts,
    .timer = pshed_timer,
    .told = pshed_told,
    .message = pshed_message,
    .check_invariants = pshed_check_invariants,
};
