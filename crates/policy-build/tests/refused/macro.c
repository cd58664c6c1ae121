/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The error is in a macro of the core, which this file uses wrongly. */
#include "../core/policy.h"

struct macro {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(macro);
POLICY_SCHEDULER_WORDS(nothing); /* found by cc, clang */

static u32 macro_grant(hls_t *h, u32 s, u32 cpu)
{
	u32 v = POLICY_STATE(macro, s)->queue.head;
	return hls_usable(&h->vp[v], cpu) ? v : 0;
}
