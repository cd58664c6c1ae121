/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A build of the core whose decisions are those of the kernel's dispatch operation: schedule_fast(). */
#define hls_library usual_library
#include "../../../core/port/native.c"
#undef hls_library

static void play_fast(struct hls *h, struct hls_call *c)
{
	if (c->op == HLS_CALL_SCHEDULE)
		c->result = schedule_fast(h, c->a, c->now_ns);
	else
		play(h, c);
}

const struct usual_library hls_library = {.sizes = sizes,
					  .describe_policy = describe_policy,
					  .invariants = invariant_table,
					  .violations = violation_table,
					  .hooks = hook_table,
					  .play = play_fast};
