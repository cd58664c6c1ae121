/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A policy to begin with: every READY child in turn, for a quantum of CPU time times its weight. It promises nothing.
 *
 * This file is the whole policy. It is compiled together with the scheduling infrastructure, natively for the simulator
 * and as BPF for the kernel. `hls policy contract` prints all that a policy must do and may call; in short:
 *
 *   - Everything that the file defines begins with its name.
 *   - A child is a virtual processor (VP), named by its index v in h->vp; 0 is none. The scheduler that a hook is
 *     called for is h->scheduler[s]. There may be many schedulers of one policy: no state lies in the file's variables.
 *   - Nothing is allocated, and no hook waits. The time is h->now_ns. The counter of a loop starts at opaque(0), and
 *     the loop's condition has a named bound, such as HLS_MAX_VPS, and can_loop.
 *   - If a policy violates the contract, its scheduler gets round robin in its place, and the report says why.
 */
#include "../core/policy.h"

/*
 * The parameters of a scheduler: the constant by which the code finds the parameter, its name in hierarchy files, the
 * unit, preset, least and greatest value, and what it is. Other values are refused before any hook is called.
 */
#define WEIGHTED_TURNS_PARAMS(P)                                                          \
	P(WEIGHTED_TURNS_QUANTUM, "quantum", HLS_TIME, HLS_MS(10), HLS_US(100), HLS_S(1), \
	  "turn of a child of weight 1")

/* The parameters of each child. HLS_REQUIRED in place of the preset would make one that must be given. */
#define WEIGHTED_TURNS_VP_PARAMS(P) \
	P(WEIGHTED_TURNS_WEIGHT, "weight", HLS_COUNT, 1, 1, 100, "how many quanta a turn has")

/* The messages that threads may send to their scheduler: none. */
#define WEIGHTED_TURNS_MESSAGES(M)

enum { WEIGHTED_TURNS_PARAMS(HLS_PARAM_INDEX) };
enum { WEIGHTED_TURNS_VP_PARAMS(HLS_PARAM_INDEX) };

/* The state of a scheduler: the READY children, in the order of their turns. It begins as zeros. */
struct weighted_turns {
	struct hls_fifo queue;
};

/* The state of a child. */
struct weighted_turns_vp {
	u64 left_ns; /* of its turn */
};

/* Hooks reach the two by POLICY_STATE(weighted_turns, s) and POLICY_VP(weighted_turns, v). */
POLICY_WORDS(weighted_turns);

/* A child wants a CPU: WAITING becomes READY. */
static void weighted_turns_request(hls_t *h, u32 s, u32 v)
{
	u64 quantum_ns = h->scheduler[s].param[WEIGHTED_TURNS_QUANTUM];
	POLICY_VP(weighted_turns, v)->left_ns = quantum_ns * h->vp[v].param[WEIGHTED_TURNS_WEIGHT];
	fifo_push(h, &POLICY_STATE(weighted_turns, s)->queue, v, true);
}

/* A READY child wants no CPU any more: READY becomes WAITING. */
static void weighted_turns_withdraw(hls_t *h, u32 s, u32 v)
{
	fifo_remove(h, &POLICY_STATE(weighted_turns, s)->queue, v);
}

/*
 * The scheduler has a CPU: which READY child gets it? Not every child can use every CPU: its threads have affinities.
 * If the child is still RUNNING after slice_ns, it is revoked.
 */
static u32 weighted_turns_grant(hls_t *h, u32 s, u32 cpu)
{
	weighted_turns_t *turns = POLICY_STATE(weighted_turns, s);
	u32 v = fifo_first_usable(h, &turns->queue, cpu);
	if (v) {
		fifo_remove(h, &turns->queue, v);
		h->slice_ns = POLICY_VP(weighted_turns, v)->left_ns;
	}
	return v;
}

/* A child has lost its CPU after used_ns, and wants to go on: RUNNING becomes READY. */
static void weighted_turns_revoke(hls_t *h, u32 s, u32 v, u64 used_ns)
{
	weighted_turns_t *turns = POLICY_STATE(weighted_turns, s);
	weighted_turns_vp_t *vp = POLICY_VP(weighted_turns, v);
	if (hls_turn_over(h, v, &vp->left_ns, used_ns))
		weighted_turns_request(h, s, v);
	else
		fifo_push(h, &turns->queue, v, false);
}

/*
 * The policy: its name in hierarchy files, what `hls policies` says of it, and its hooks. A hook that is not named here
 * does what the contract states.
 */
static const struct hls_policy weighted_turns_policy = {
    .name = "weighted-turns",
    .what = "every child in turn, for a quantum times its weight",
    .source = "round robin, with turns of different lengths",
    .state_version = 1, /* to be counted up when the structs above change */
    .request = weighted_turns_request,
    .withdraw = weighted_turns_withdraw,
    .grant = weighted_turns_grant,
    .revoke = weighted_turns_revoke,
    /* No .release: the next request begins a new turn. */
};
