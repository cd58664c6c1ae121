/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clears a large struct as a whole: the compiler makes that a call of memset, which BPF lacks. */
#include "../core/policy.h"

/* at no line: found by clang */

struct whole {
	struct hls_list queue;
};
POLICY_SCHEDULER_WORDS(whole);

struct whole_large {
	u64 word[300];
};

static u32 whole_grant(hls_t *h, u32 s, u32 cpu)
{
	whole_t *all = POLICY_STATE(whole, s);
	u32 v = hls_first_usable(h, &all->queue, cpu);
	*(struct whole_large __arena *)h->record = (struct whole_large){0};
	return v;
}
