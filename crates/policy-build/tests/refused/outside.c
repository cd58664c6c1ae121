/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls a function that does not exist: the linker notices, or the loader of the BPF object. */
#include "../core/policy.h"
struct outside {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(outside);

u32 outside_pick(struct hls_list __arena *queue, u32 cpu); /* found by verifier */

static u32 outside_grant(hls_t *h, u32 s, u32 cpu)
{
	outside_t *all = POLICY_STATE(outside, s);
	return outside_pick(&all->queue, cpu); /* found by cc */
}
