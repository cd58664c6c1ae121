/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The policies: a line each, from which the enum, the dispatch to their hooks, their names and the Rust side come.
 *
 *   P(number, function prefix, CONSTANT prefix, ...)      where `...` is what P needs besides, passed on by each line
 *
 * Numbers are explicit and never used again for another policy: tapes and running kernels know policies by them.
 *
 * Every core has the standard policies. The others, from HLS_FIRST_OPTIONAL on, are policies of the literature, and
 * optional: a build may choose some by defining HLS_LITERATURE_POLICIES with their lines below, so that the kernel's
 * verifier need not look at the rest.
 *
 * A build includes all C files of this folder before the core (-include), so that no list of them is kept.
 *
 * A build may have loaded policies beside these built-in ones: HLS_LOADED names a file that includes theirs and defines
 * HLS_LOADED_POLICIES(P, ...) with lines like those below, and numbers from HLS_FIRST_LOADED on. Their hooks are
 * guarded (core/guard.h), but not the headers of this folder that built-in policies share. A loaded policy becomes a
 * built-in one when its file moves here and its line stands below.
 */
#ifndef HLS_REGISTRY_H
#define HLS_REGISTRY_H

#include "../core/guard.h"

#define HLS_STANDARD_POLICIES(P, ...)                             \
	P(1, fixed_priority, FIXED_PRIORITY, __VA_ARGS__)         \
	P(2, time_sharing, TIME_SHARING, __VA_ARGS__)             \
	P(3, proportional_share, PROPORTIONAL_SHARE, __VA_ARGS__) \
	P(4, reservation, RESERVATION, __VA_ARGS__)               \
	P(5, join, JOIN, __VA_ARGS__)                             \
	P(6, limit, LIMIT, __VA_ARGS__)                           \
	P(7, round_robin, ROUND_ROBIN, __VA_ARGS__)

#ifndef HLS_LITERATURE_POLICIES
#define HLS_LITERATURE_POLICIES(P, ...)                                              \
	P(8, bvt, BVT, __VA_ARGS__)                                                  \
	P(9, stride, STRIDE, __VA_ARGS__)                                            \
	P(10, sfq, SFQ, __VA_ARGS__)                                                 \
	P(11, sfs, SFS, __VA_ARGS__)                                                 \
	P(12, lottery, LOTTERY, __VA_ARGS__)                                         \
	P(13, eevdf, EEVDF, __VA_ARGS__)                                             \
	P(14, cbs, CBS, __VA_ARGS__)                                                 \
	P(15, tbs, TBS, __VA_ARGS__)                                                 \
	P(16, constant_utilisation_server, CONSTANT_UTILISATION_SERVER, __VA_ARGS__) \
	P(17, deferrable_server, DEFERRABLE_SERVER, __VA_ARGS__)                     \
	P(18, polling_server, POLLING_SERVER, __VA_ARGS__)                           \
	P(19, sporadic_server, SPORADIC_SERVER, __VA_ARGS__)                         \
	P(20, grub, GRUB, __VA_ARGS__)                                               \
	P(21, resource_kernel, RESOURCE_KERNEL, __VA_ARGS__)                         \
	P(22, linux, LINUX, __VA_ARGS__)                                             \
	P(23, windows_2000, WINDOWS_2000, __VA_ARGS__)                               \
	P(24, rialto, RIALTO, __VA_ARGS__)                                           \
	P(25, rialto_nt, RIALTO_NT, __VA_ARGS__)                                     \
	P(27, bss_i, BSS_I, __VA_ARGS__)                                             \
	P(28, pshed, PSHED, __VA_ARGS__)                                             \
	P(29, least_slack, LEAST_SLACK, __VA_ARGS__)                                 \
	P(30, background, BACKGROUND, __VA_ARGS__)                                   \
	P(31, linux_eevdf, LINUX_EEVDF, __VA_ARGS__)                                 \
	P(32, spring, SPRING, __VA_ARGS__)                                           \
	P(33, user_level, USER_LEVEL, __VA_ARGS__)
#endif

#define HLS_BUILT_IN_POLICIES(P, ...) HLS_STANDARD_POLICIES(P, __VA_ARGS__) HLS_LITERATURE_POLICIES(P, __VA_ARGS__)

#ifdef HLS_LOADED
#include "../core/guard_queues.h"

/* While loaded policies are compiled, they call the checking functions. */
#undef HLS_GUARD
#define HLS_GUARD(function) checked_##function
#include HLS_LOADED
#undef HLS_GUARD
#define HLS_GUARD(function) function
#else
#define HLS_LOADED_POLICIES(P, ...)
#endif

#define HLS_POLICIES(P, ...) HLS_BUILT_IN_POLICIES(P, __VA_ARGS__) HLS_LOADED_POLICIES(P, __VA_ARGS__)

#define HLS_POLICY_NUMBER(number, fn, CONST, ...) POLICY_##CONST = number,
enum hls_policy_number { POLICY_NONE, HLS_POLICIES(HLS_POLICY_NUMBER) };

#endif
