/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lists of a policy as tables, for crates/hls-core: parameters of its schedulers and of their children, messages
 * and what they carry. Relies on the macros that policies define (core/policy.h); includes nothing.
 */
#ifndef HLS_DESCRIPTION_H
#define HLS_DESCRIPTION_H

struct hls_param_description {
	const char *name, *doc;
	u64 unit, preset, least, greatest;
};

struct hls_message_description {
	const char *name, *doc;
	const struct hls_param_description *fields;
	u64 nr_fields;
};

/* A table ends with an entry of zeros, which its length does not count. */
#define HLS_LENGTH(table) (sizeof(table) / sizeof((table)[0]) - 1)

#define HLS_DESCRIBE_PARAM(constant, name, unit, preset, least, greatest, doc) \
	{name, doc, unit, preset, least, greatest},
#define HLS_FIELDS_TABLE(fields) ((const struct hls_param_description[]){fields(HLS_DESCRIBE_PARAM){0}})
#define HLS_DESCRIBE_MESSAGE(constant, fields, name, doc) \
	{name, doc, HLS_FIELDS_TABLE(fields), HLS_LENGTH(HLS_FIELDS_TABLE(fields))},

/* The tables of a policy: fn_params, fn_vp_params and fn_messages. */
#define HLS_DESCRIBE_LISTS(number, fn, CONST, ...)                                                               \
	static const struct hls_param_description fn##_params[] = {CONST##_PARAMS(HLS_DESCRIBE_PARAM){0}};       \
	static const struct hls_param_description fn##_vp_params[] = {CONST##_VP_PARAMS(HLS_DESCRIBE_PARAM){0}}; \
	static const struct hls_message_description fn##_messages[] = {CONST##_MESSAGES(HLS_DESCRIBE_MESSAGE){0}};

#endif
