/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Does not compile. */
#include "../core/policy.h"
struct syntax {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(syntax);

static u32 syntax_grant(hls_t *h, u32 s, u32 cpu)
{
	syntax_t *all = POLICY_STATE(syntax, s);
	return hls_first_usable(h, &all->queue, cpu) /* found by cc, clang */
}
