/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An index that may lie outside of its array. */
#include "../core/policy.h"
struct beyond {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(beyond);

static u32 beyond_grant(hls_t *h, u32 s, u32 cpu)
{
	beyond_t *all = POLICY_STATE(beyond, s);
	u32 v = hls_first_usable(h, &all->queue, cpu);
	u64 seen[4] = {0};
	seen[v & 3] = 1;
	h->slice_ns = seen[cpu]; /* found by verifier */
	return v;
}
