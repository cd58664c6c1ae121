/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Uses floating point, which BPF lacks. */
#include "../core/policy.h"
struct floating {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(floating);

static u32 floating_grant(hls_t *h, u32 s, u32 cpu)
{
	floating_t *all = POLICY_STATE(floating, s);
	u32 v = hls_first_usable(h, &all->queue, cpu);
	h->slice_ns = (u64)(1.5 * (double)h->vp[v].nr_grants); /* found by clang */
	return v;
}
