/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asked times: the sample scheduler of Vassal (G. M. Candea, M. B. Jones, "Vassal: Loadable Scheduler Support for
 * Multi-Policy Scheduling", USENIX NT Symposium 1998, section 5). By a message, a thread asks for a time at which it
 * wants to run, and runs then, before all threads that have asked for none. A time that cannot be kept is refused at
 * once.
 *
 *   tell run-in        its time comes         `slot` is used up, or it blocks
 *  ------------> asked -------------> due -------------------------------------> others
 *
 * Before its time a thread that has asked is throttled: this policy does not run it. Below a join another scheduler
 * may.
 */
#include "../core/policy.h"

#define ASKED_TIMES_PARAMS(P)                                                     \
	P(ASKED_TIMES_SLOT, "slot", HLS_TIME, HLS_US(100), HLS_US(10), HLS_S(10), \
	  "how long a thread runs undisturbed at its time, and then in its turn")
#define ASKED_TIMES_VP_PARAMS(P)
#define ASKED_TIMES_RUN_IN_FIELDS(P) \
	P(ASKED_TIMES_DELAY, "delay", HLS_TIME, HLS_REQUIRED, 0, HLS_S(3600), "from now on")
#define ASKED_TIMES_MESSAGES(M)                                    \
	M(ASKED_TIMES_RUN_IN, ASKED_TIMES_RUN_IN_FIELDS, "run-in", \
	  "run this thread after this delay, and not before")

enum { ASKED_TIMES_PARAMS(HLS_PARAM_INDEX) };
enum { ASKED_TIMES_MESSAGES(HLS_MESSAGE_INDEX) };
enum { ASKED_TIMES_RUN_IN_FIELDS(HLS_PARAM_INDEX) };

struct asked_times {
	u32 asked;              /* heap of VPs with a time to come, by that time */
	struct hls_queue due;   /* VPs with a time that has come, by that time */
	struct hls_fifo others; /* VPs that have asked for no time, in turn */
};

struct asked_times_vp {
	u64 at;      /* the time that the thread has asked for; 0: none */
	u64 left_ns; /* of its slot */
};

POLICY_WORDS(asked_times);

static void asked_times_set_timer(hls_t *h, u32 s)
{
	u32 first = POLICY_STATE(asked_times, s)->asked;
	hls_set_timer(h, s, first ? h->node[first].key : HLS_NEVER);
}

/* Puts the READY VP v where it belongs: among VPs with a time to come, with a time that has come, or without a time. */
static void asked_times_enqueue(hls_t *h, u32 s, u32 v)
{
	asked_times_t *state = POLICY_STATE(asked_times, s);
	asked_times_vp_t *vp = POLICY_VP(asked_times, v);
	if (vp->at > h->now_ns) {
		hls_throttle(h, v);
		heap_push(h, &state->asked, v, vp->at, h->seq++);
		asked_times_set_timer(h, s);
	} else if (vp->at) {
		queue_push(h, &state->due, v, vp->at);
	} else {
		fifo_push(h, &state->others, v, true);
	}
}

static void asked_times_request(hls_t *h, u32 s, u32 v)
{
	POLICY_VP(asked_times, v)->left_ns = h->scheduler[s].param[ASKED_TIMES_SLOT];
	asked_times_enqueue(h, s, v);
}

static void asked_times_withdraw(hls_t *h, u32 s, u32 v)
{
	asked_times_t *state = POLICY_STATE(asked_times, s);
	if (h->vp[v].flags & HLS_THROTTLED)
		heap_remove(h, &state->asked, v);
	else if (POLICY_VP(asked_times, v)->at)
		queue_remove(h, &state->due, v);
	else
		fifo_remove(h, &state->others, v);
	asked_times_set_timer(h, s);
}

static u32 asked_times_grant(hls_t *h, u32 s, u32 cpu)
{
	asked_times_t *state = POLICY_STATE(asked_times, s);
	u32 v = queue_first_usable(h, &state->due, cpu);
	if (v) {
		queue_remove(h, &state->due, v);
	} else {
		v = fifo_first_usable(h, &state->others, cpu);
		if (v)
			fifo_remove(h, &state->others, v);
	}
	if (v)
		h->slice_ns = POLICY_VP(asked_times, v)->left_ns;
	return v;
}

static void asked_times_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	asked_times_vp_t *vp = POLICY_VP(asked_times, v);
	if (hls_turn_over(h, v, &vp->left_ns, used_ns)) {
		vp->left_ns = h->scheduler[s].param[ASKED_TIMES_SLOT];
		if (vp->at <= h->now_ns)
			vp->at = 0;
	}
	asked_times_enqueue(h, s, v);
}

static void asked_times_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)s, (void)used_ns;
	if (POLICY_VP(asked_times, v)->at <= h->now_ns)
		POLICY_VP(asked_times, v)->at = 0;
}

/* A VP with a time that has come preempts one without a time, and one with a later time. */
static bool asked_times_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	u64 asked = POLICY_VP(asked_times, ready)->at, had = POLICY_VP(asked_times, running)->at;
	(void)s;
	return asked && (!had || asked < had);
}

/* Whether another VP has asked for a time that is less than a slot away from at_ns. */
static bool asked_times_is_taken(hls_t *h, u32 s, u32 v, u64 at_ns)
{
	u64 slot_ns = h->scheduler[s].param[ASKED_TIMES_SLOT];
	u32 other = POLICY_STATE(asked_times, s)->asked;
	for (u32 i = opaque(0); i < HLS_MAX_VPS && other && can_loop; i++) {
		u64 key = h->node[other].key;
		if (other != v && key < at_ns + slot_ns && at_ns < key + slot_ns)
			return true;
		other = heap_next(h, other);
	}
	return false;
}

static s64 asked_times_message(hls_t *h, u32 s, u32 v, u32 message, const params_t *payload)
{
	u64 at_ns = h->now_ns + payload->value[ASKED_TIMES_DELAY];
	(void)message;
	if (asked_times_is_taken(h, s, v, at_ns))
		return -HLS_E_BUSY;
	bool is_ready = h->vp[v].state == HLS_READY;
	if (is_ready)
		asked_times_withdraw(h, s, v);
	if (h->vp[v].flags & HLS_THROTTLED)
		hls_unthrottle(h, v);
	POLICY_VP(asked_times, v)->at = at_ns;
	if (is_ready)
		asked_times_request(h, s, v);
	else if (h->vp[v].state == HLS_RUNNING)
		hls_recheck(h, v);
	return 0;
}

static u32 asked_times_timer(hls_t *h, u32 s)
{
	asked_times_t *state = POLICY_STATE(asked_times, s);
	u32 v = state->asked;
	if (!v || h->node[v].key > h->now_ns) {
		asked_times_set_timer(h, s);
		return 0;
	}
	heap_remove(h, &state->asked, v);
	hls_unthrottle(h, v);
	POLICY_VP(asked_times, v)->left_ns = h->scheduler[s].param[ASKED_TIMES_SLOT];
	queue_push(h, &state->due, v, h->node[v].key);
	return v;
}

static const struct hls_policy asked_times_policy = {
    .name = "asked-times",
    .what = "runs each thread at the time that it has asked for",
    .source = "Vassal, USENIX NT Symposium 1998, section 5",
    .strict = true,
    .request = asked_times_request,
    .withdraw = asked_times_withdraw,
    .grant = asked_times_grant,
    .revoke = asked_times_revoke,
    .release = asked_times_release,
    .preempts = asked_times_preempts,
    .timer = asked_times_timer,
    .message = asked_times_message,
};
