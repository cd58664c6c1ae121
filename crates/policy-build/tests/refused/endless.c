/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A loop that ends where a list does; the verifier does not know that lists end. */
#include "../core/policy.h"
struct endless {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(endless);

static u32 endless_grant(hls_t *h, u32 s, u32 cpu)
{
	endless_t *all = POLICY_STATE(endless, s);
	u32 v = all->queue.head;
	while (v && !hls_usable(&h->vp[v], cpu)) /* found by verifier */
		v = h->node[v].next;
	return v;
}
