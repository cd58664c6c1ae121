/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In one of eight calls of a hook, does something at random that an author might do after misunderstanding the
 * contract: calls its functions for the wrong child, scheduler, level or time, twice, or not at all. In the other
 * calls, the first ready child that can use the CPU runs. The parameter seeds the random numbers of each scheduler.
 */
#include "../core/policy.h"

#define ANYTHING_PARAMS(P) P(ANYTHING_SEED, "seed", HLS_COUNT, HLS_REQUIRED, 0, 1 << 20, "how it is confused")
#define ANYTHING_VP_PARAMS(P)
#define ANYTHING_MESSAGES(M)

enum { ANYTHING_PARAMS(HLS_PARAM_INDEX) };

struct anything {
	u64 random;
	struct hls_list list;
	u32 heap;
	struct hls_levels levels;
	struct hls_queue queue;
	struct hls_fifo fifo;
};

struct anything_vp {
	u64 count;
};

POLICY_WORDS(anything);

static u32 anything_below(hls_t *h, u32 s, u32 n)
{
	anything_t *state = POLICY_STATE(anything, s);
	state->random = (state->random + h->scheduler[s].param[ANYTHING_SEED]) * 6364136223846793005ULL + 1;
	return (u32)(state->random >> 40) % n;
}

/* v, a child of the scheduler, or any VP. */
static u32 anything_child(hls_t *h, u32 s, u32 v)
{
	switch (anything_below(h, s, 4)) {
	case 0:
		return h->scheduler[s].first_child;
	case 1:
		return anything_below(h, s, 40);
	default:
		return v;
	}
}

/* One of the operations on queues, at random, with the VP v. */
static void anything_queues(hls_t *h, u32 s, u32 v)
{
	anything_t *state = POLICY_STATE(anything, s);
	/* Some VPs have a level that does not exist. */
	u64 level = v % 4 ? v % HLS_LEVELS : HLS_LEVELS + anything_below(h, s, 256);
	switch (anything_below(h, s, 13)) {
	case 0:
		list_push_tail(h, &state->list, v);
		break;
	case 1:
		list_push_head(h, &state->list, v);
		break;
	case 2:
		list_remove(h, &state->list, v);
		break;
	case 3:
		heap_push(h, &state->heap, v, h->now_ns, h->seq++);
		break;
	case 4:
		heap_remove(h, &state->heap, v);
		break;
	case 5:
		if (state->heap)
			heap_pop(h, &state->heap);
		break;
	case 6:
		levels_push(h, &state->levels, level, v, anything_below(h, s, 2));
		break;
	case 7:
		levels_remove(h, &state->levels, level, v);
		break;
	case 8:
		queue_push(h, &state->queue, v, h->now_ns);
		break;
	case 9:
		queue_remove(h, &state->queue, v);
		break;
	case 10:
		fifo_push(h, &state->fifo, v, anything_below(h, s, 2));
		break;
	case 11:
		fifo_remove(h, &state->fifo, v);
		break;
	default:
		if (state->levels.occupied || state->levels.tree)
			levels_take(h, &state->levels, 0);
	}
	POLICY_VP(anything, v)->count++;
}

static u64 anything_time(hls_t *h, u32 s)
{
	switch (anything_below(h, s, 4)) {
	case 0:
		return 0;
	case 1:
		return h->now_ns;
	case 2:
		return 0 - (u64)anything_below(h, s, 1000);
	default:
		return h->now_ns + anything_below(h, s, 10000000);
	}
}

/* Does something wrong, one time in eight; returns whether the hook's own answer is to be wrong, too. */
static bool anything_else(hls_t *h, u32 s, u32 v)
{
	if (anything_below(h, s, 8))
		return false;
	switch (anything_below(h, s, 10)) {
	case 0:
		hls_throttle(h, anything_child(h, s, v));
		break;
	case 1:
		hls_unthrottle(h, anything_child(h, s, v));
		break;
	case 2:
		hls_recheck(h, anything_child(h, s, v));
		break;
	case 3:
		hls_set_timer(h, anything_below(h, s, 3) ? s : anything_child(h, s, v), anything_time(h, s));
		break;
	case 4:
		h->now_ns = anything_time(h, s);
		break;
	case 5:
		h->slice_ns = anything_time(h, s);
		break;
	case 6:
		for (u32 i = opaque(0); i < HLS_MAX_VPS && can_loop; i++)
			h->slice_ns += i;
		break;
	case 7:
		anything_queues(h, s, anything_child(h, s, v));
		break;
	default:
		return true;
	}
	return anything_below(h, s, 2);
}

static void anything_request(hls_t *h, u32 s, u32 v)
{
	anything_else(h, s, v);
	anything_queues(h, s, v);
}

static void anything_withdraw(hls_t *h, u32 s, u32 v)
{
	anything_else(h, s, v);
	anything_queues(h, s, v);
}

static u32 anything_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 first = 0;
	for_each_child (h, v, s) {
		const vp_t *vp = &h->vp[v];
		if (vp->state == HLS_READY && !(vp->flags & HLS_THROTTLED) && hls_usable(vp, cpu)) {
			first = v;
			break;
		}
	}
	h->slice_ns = HLS_MS(5);
	return anything_else(h, s, first) ? anything_child(h, s, first) : first;
}

static void anything_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	anything_request(h, s, v);
}

static void anything_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	(void)used_ns;
	anything_else(h, s, v);
}

static void anything_init(hls_t *h, u32 s)
{
	anything_else(h, s, 0);
}

static s64 anything_register_vp(hls_t *h, u32 s, u32 v)
{
	return anything_else(h, s, v) ? (s64)anything_below(h, s, 9) - 4 : 0;
}

static void anything_unregister_vp(hls_t *h, u32 s, u32 v)
{
	anything_else(h, s, v);
}

static bool anything_preempts(hls_t *h, u32 s, u32 ready, u32 running)
{
	(void)running;
	return anything_else(h, s, ready);
}

static u32 anything_timer(hls_t *h, u32 s)
{
	return anything_else(h, s, 0) ? anything_child(h, s, 0) : 0;
}

static bool anything_check_invariants(hls_t *h, u32 s)
{
	return anything_below(h, s, 64);
}

static const struct hls_policy anything_policy = {
    .name = "anything",
    .what = "does anything at random",
    .source = "none",
    .strict = true,
    .init = anything_init,
    .deinit = anything_init,
    .register_vp = anything_register_vp,
    .unregister_vp = anything_unregister_vp,
    .request = anything_request,
    .withdraw = anything_withdraw,
    .grant = anything_grant,
    .revoke = anything_revoke,
    .release = anything_release,
    .preempts = anything_preempts,
    .timer = anything_timer,
    .check_invariants = anything_check_invariants,
};
