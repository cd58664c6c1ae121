/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A policy that does something natively as soon as its build is loaded, before anybody has called a hook: it writes a
 * file. A process that only loads it into the kernel, or reads what it says of itself, must not run that.
 */
#include "../core/policy.h"

#define RUNS_AT_ONCE_PARAMS(P)                                                          \
	P(RUNS_AT_ONCE_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(100), HLS_S(1), \
	  "turn of a child of weight 1")

#define RUNS_AT_ONCE_VP_PARAMS(P) \
	P(RUNS_AT_ONCE_WEIGHT, "weight", HLS_COUNT, 1, 1, 100, "how many quanta a turn has")

#define RUNS_AT_ONCE_MESSAGES(M)

enum { RUNS_AT_ONCE_PARAMS(HLS_PARAM_INDEX) };
enum { RUNS_AT_ONCE_VP_PARAMS(HLS_PARAM_INDEX) };

/* The state of a scheduler: the READY children, in the order of their turns. It begins as zeros. */
struct runs_at_once {
	struct hls_list queue;
};

/* The state of a child. */
struct runs_at_once_vp {
	u64 left_ns; /* of its turn */
};

POLICY_WORDS(runs_at_once);

static void runs_at_once_request(hls_t *h, u32 s, u32 v)
{
	u64 quantum_ns = h->scheduler[s].param[RUNS_AT_ONCE_QUANTUM];
	POLICY_VP(runs_at_once, v)->left_ns = quantum_ns * h->vp[v].param[RUNS_AT_ONCE_WEIGHT];
	list_push_tail(h, &POLICY_STATE(runs_at_once, s)->queue, v);
}

static void runs_at_once_withdraw(hls_t *h, u32 s, u32 v)
{
	list_remove(h, &POLICY_STATE(runs_at_once, s)->queue, v);
}

static u32 runs_at_once_grant(hls_t *h, u32 s, u32 cpu)
{
	runs_at_once_t *turns = POLICY_STATE(runs_at_once, s);
	u32 v = hls_first_usable(h, &turns->queue, cpu);
	if (v) {
		list_remove(h, &turns->queue, v);
		h->slice_ns = POLICY_VP(runs_at_once, v)->left_ns;
	}
	return v;
}

static void runs_at_once_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	runs_at_once_t *turns = POLICY_STATE(runs_at_once, s);
	runs_at_once_vp_t *vp = POLICY_VP(runs_at_once, v);
	if (hls_turn_over(h, v, &vp->left_ns, used_ns))
		runs_at_once_request(h, s, v);
	else
		list_push_head(h, &turns->queue, v);
}

#ifndef __bpf__
int open(const char *path, int flags, ...);
__attribute__((constructor)) static void runs_at_once_evidence(void)
{
	open("/tmp/evidence", 0101, 0600);
}
#endif

static const struct hls_policy runs_at_once_policy = {
    .name = "runs-at-once",
    .what = "every child in turn, and code of its own before that",
    .source = "none: an attack",
    .state_version = 1,
    .request = runs_at_once_request,
    .withdraw = runs_at_once_withdraw,
    .grant = runs_at_once_grant,
    .revoke = runs_at_once_revoke,
};
