/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Needs more stack than the core's functions, which call it, leave. */
#include "../core/policy.h"

/* at no line: found by verifier */

struct deep_stack {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(deep_stack);

static u32 deep_stack_grant(hls_t *h, u32 s, u32 cpu)
{
	deep_stack_t *all = POLICY_STATE(deep_stack, s);
	u64 seen[44];
	for (u32 i = 0; i < 44; i++)
		((volatile u64 *)seen)[i] = h->node[i + cpu].key;
	for (u32 i = 0; i < 44; i++)
		h->node[i].key = ((volatile u64 *)seen)[43 - i];
	return hls_first_usable(h, &all->queue, cpu);
}
