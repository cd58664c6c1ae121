/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Needs more stack than a BPF function may have. */
#include "../core/policy.h"
struct large_stack {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(large_stack);

static u32 large_stack_grant(hls_t *h, u32 s, u32 cpu)
{
	large_stack_t *all = POLICY_STATE(large_stack, s);
	u64 seen[100];
	for (u32 i = opaque(0); i < 100 && can_loop; i++) /* found by clang */
		seen[i] = h->node[i].key;
	for (u32 i = opaque(0); i < 100 && can_loop; i++)
		h->node[i].key = seen[99 - i];
	return hls_first_usable(h, &all->queue, cpu);
}
