/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The descriptions of loaded policies, as data: a table that crates/hls-core (description.rs) reads in the object to
 * which this file is compiled. That object is never linked, and nothing in it is run.
 */
#include "../core.c"
#include "description.h"

HLS_LOADED_POLICIES(HLS_DESCRIBE_LISTS)

struct hls_loaded_policy {
	const struct hls_policy *policy;
	const struct hls_param_description *params, *vp_params;
	const struct hls_message_description *messages;
	u32 number, nr_params, nr_vp_params, nr_messages;
};

/* The reader has the same numbers. */
_Static_assert(sizeof(struct hls_loaded_policy) == 48, "an entry of the table has 48 bytes");
_Static_assert(offsetof(struct hls_policy, state_version) == 40, "five texts, then numbers");
_Static_assert(offsetof(struct hls_policy, joins) == 48, "two numbers, then its properties, a byte each");

#define LOADED(no, fn, CONST, ...)   \
	{&fn##_policy,               \
	 fn##_params,                \
	 fn##_vp_params,             \
	 fn##_messages,              \
	 no,                         \
	 HLS_LENGTH(fn##_params),    \
	 HLS_LENGTH(fn##_vp_params), \
	 HLS_LENGTH(fn##_messages)},
const struct hls_loaded_policy hls_loaded_policies[] = {HLS_LOADED_POLICIES(LOADED)};
