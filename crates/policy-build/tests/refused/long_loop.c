/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A loop that has a bound, and lacks can_loop in its condition. */
#include "../core/policy.h"
struct long_loop {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(long_loop);

static u32 long_loop_grant(hls_t *h, u32 s, u32 cpu)
{
	long_loop_t *all = POLICY_STATE(long_loop, s);
	u32 v = hls_first_usable(h, &all->queue, cpu);
	for (u32 i = opaque(0); i < HLS_MAX_VPS; i++) /* found by log */
		h->node[i].key++;                     /* found by log */
	return v;
}
