/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A user-level scheduler in C++: the first candidate. */
#include "hls_scheduler.h"

static unsigned first(struct hls_scheduler *, unsigned, hls_word candidates)
{
	return hls_first_slot(candidates);
}

static const struct hls_user_policy policy = {nullptr, nullptr, nullptr, nullptr, nullptr,
					      nullptr, nullptr, first,	 0};

HLS_SCHEDULER_PROGRAM(policy, int)
