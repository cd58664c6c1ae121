/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Uses a number as an address. */
#include "../core/policy.h"
struct address {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(address);

static u32 address_grant(hls_t *h, u32 s, u32 cpu)
{
	address_t *all = POLICY_STATE(address, s);
	u32 v = *(volatile u32 *)(u64)all->queue.head; /* found by verifier */
	return hls_usable(&h->vp[v], cpu) ? v : 0;
}
