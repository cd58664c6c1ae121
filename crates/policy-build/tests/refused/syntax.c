/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Does not compile. */
#include "../core/policy.h"

struct syntax {
	struct hls_list queue;
};

static u32 syntax_grant(hls_t *h, u32 s, u32 cpu)
{
	struct syntax __arena *all = POLICY_STATE(struct syntax, s);
	return hls_first_usable(h, &all->queue, cpu) /* found by cc, clang */
}
