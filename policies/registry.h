/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The policies that there are: one line each, from which the enum, the switches, the names and the Rust side come.
 *
 * P(number, function prefix, CONSTANT prefix)
 *
 * Numbers are explicit and never used again for another policy: tapes and running kernels know policies by them.
 *
 * A build may have further policies than those that are built in: HLS_LOADED names a file that includes theirs and
 * defines HLS_LOADED_POLICIES(P) with lines like those below, and numbers from HLS_FIRST_LOADED on. Their hooks are
 * guarded; see ../core/guard.h. Beyond that they are like the others, and with its line moved here, so are their files.
 */
#ifndef HLS_REGISTRY_H
#define HLS_REGISTRY_H

#include "../core/guard.h"

#include "fixed_priority.c"
#include "time_sharing.c"
#include "proportional_share.c"
#include "reservation.c"
#include "join.c"
#include "limit.c"
#include "round_robin.c"

#define HLS_BUILT_IN_POLICIES(P)                     \
	P(1, fixed_priority, FIXED_PRIORITY)         \
	P(2, time_sharing, TIME_SHARING)             \
	P(3, proportional_share, PROPORTIONAL_SHARE) \
	P(4, reservation, RESERVATION)               \
	P(5, join, JOIN)                             \
	P(6, limit, LIMIT)                           \
	P(7, round_robin, ROUND_ROBIN)

#ifdef HLS_LOADED
#include "../core/guard_queues.h"
#pragma push_macro("can_loop")
#pragma push_macro("POLICY_VP")
#undef can_loop
#undef POLICY_VP
#define can_loop hls_may_step(h)
#define POLICY_VP(type, v) ((type __arena *)hls_checked_words(h, v))
#define hls_throttle hls_checked_throttle
#define hls_unthrottle hls_checked_unthrottle
#define hls_recheck hls_checked_recheck
#define hls_set_timer hls_checked_set_timer
#define list_push_tail hls_checked_push_tail
#define list_push_head hls_checked_push_head
#define list_pop hls_checked_pop
#define list_remove hls_checked_remove
#define levels_push hls_checked_levels_push
#define levels_remove hls_checked_levels_remove
#define levels_take hls_checked_levels_take
#define heap_push hls_checked_heap_push
#define heap_begin hls_checked_heap_begin
#define heap_remove hls_checked_heap_remove
#define heap_pop hls_checked_heap_pop
#include HLS_LOADED
#undef hls_throttle
#undef hls_unthrottle
#undef hls_recheck
#undef hls_set_timer
#undef list_push_tail
#undef list_push_head
#undef list_pop
#undef list_remove
#undef levels_push
#undef levels_remove
#undef levels_take
#undef heap_push
#undef heap_begin
#undef heap_remove
#undef heap_pop
#pragma pop_macro("POLICY_VP")
#pragma pop_macro("can_loop")
#else
#define HLS_LOADED_POLICIES(P)
#endif

#define HLS_POLICIES(P) HLS_BUILT_IN_POLICIES(P) HLS_LOADED_POLICIES(P)

#define HLS_POLICY_NUMBER(number, fn, CONST) POLICY_##CONST = number,
enum hls_policy_number { POLICY_NONE, HLS_POLICIES(HLS_POLICY_NUMBER) };

#endif
