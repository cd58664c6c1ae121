/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls through a pointer. */
#include "../core/policy.h"

/* at no line: found by verifier */

struct pointer {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(pointer);

static u32 pointer_choose(hls_t *h, const list_t *queue, u32 cpu)
{
	return hls_first_usable(h, queue, cpu);
}

static u32 pointer_grant(hls_t *h, u32 s, u32 cpu)
{
	pointer_t *all = POLICY_STATE(pointer, s);
	u32 (*volatile choose)(hls_t *, const list_t *, u32) = pointer_choose;
	return choose(h, &all->queue, cpu);
}
