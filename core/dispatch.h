/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a scheduler to its policy: for each hook of the contract a switch over the registry. No function pointers,
 * so that the compiler sees through and the BPF verifier can follow. It wants a number of each function that it
 * looks at by itself: where a hook has nothing to say that is 0.
 *
 * Hooks of policies that were loaded are called within guards, and not at all when their scheduler is to be taken out.
 */
#ifndef HLS_DISPATCH_H
#define HLS_DISPATCH_H

#include "../policies/registry.h"

/* Calls a hook: of a policy that was loaded within guards, and not at all when s is to be taken out. */
#define CALL(number, hook, about, call)                                                \
	if (number < HLS_FIRST_LOADED || hls_begin_hook(h, s, HLS_HOOK_##hook, about)) \
		call;                                                                  \
	if (number >= HLS_FIRST_LOADED)                                                \
		hls_end_hook(h, s);

HLS_GLOBAL_FUNC u32 policy_init(hls_t *h __arg_arena, u32 s)
{
#define CASE(number, fn, ...)                          \
	case number:                                   \
		CALL(number, INIT, 0, fn##_init(h, s)) \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_GLOBAL_FUNC u32 policy_deinit(hls_t *h __arg_arena, u32 s)
{
#define CASE(number, fn, ...)                              \
	case number:                                       \
		CALL(number, DEINIT, 0, fn##_deinit(h, s)) \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_GLOBAL_FUNC s64 policy_register_vp(hls_t *h __arg_arena, u32 s, u32 v)
{
	s64 answer = 0;
#define CASE(number, fn, ...)                                                    \
	case number:                                                             \
		CALL(number, REGISTER_VP, v, answer = fn##_register_vp(h, s, v)) \
		return number < HLS_FIRST_LOADED ? answer : hls_checked_refusal(answer);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return -HLS_E_NOT_FOUND;
}

HLS_GLOBAL_FUNC u32 policy_unregister_vp(hls_t *h __arg_arena, u32 s, u32 v)
{
#define CASE(number, fn, ...)                                               \
	case number:                                                        \
		CALL(number, UNREGISTER_VP, v, fn##_unregister_vp(h, s, v)) \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

/* Whether the VP may have a CPU: it may be out of budget. */
HLS_GLOBAL_FUNC bool policy_request(hls_t *h __arg_arena, u32 s, u32 v)
{
#define CASE(number, fn, ...)                                   \
	case number:                                            \
		CALL(number, REQUEST, v, fn##_request(h, s, v)) \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return !(h->vp[v].flags & HLS_THROTTLED);
}

HLS_GLOBAL_FUNC u32 policy_withdraw(hls_t *h __arg_arena, u32 s, u32 v)
{
#define CASE(number, fn, ...)                                     \
	case number:                                              \
		CALL(number, WITHDRAW, v, fn##_withdraw(h, s, v)) \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_GLOBAL_FUNC u32 policy_grant(hls_t *h __arg_arena, u32 s, u32 cpu)
{
	u32 answer = 0;
#define CASE(number, fn, ...)                                            \
	case number:                                                     \
		CALL(number, GRANT, cpu, answer = fn##_grant(h, s, cpu)) \
		return number < HLS_FIRST_LOADED ? answer : hls_checked_grant(h, s, answer, cpu);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_GLOBAL_FUNC u32 policy_revoke(hls_t *h __arg_arena, u32 s, u32 v, u64 used_ns)
{
#define CASE(number, fn, ...)                                          \
	case number:                                                   \
		CALL(number, REVOKE, v, fn##_revoke(h, s, v, used_ns)) \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_GLOBAL_FUNC u32 policy_release(hls_t *h __arg_arena, u32 s, u32 v, u64 used_ns)
{
#define CASE(number, fn, ...)                                            \
	case number:                                                     \
		CALL(number, RELEASE, v, fn##_release(h, s, v, used_ns)) \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_GLOBAL_FUNC bool policy_preempts(hls_t *h __arg_arena, u32 s, u32 ready, u32 running)
{
	bool answer = false;
#define CASE(number, fn, ...)                                                               \
	case number:                                                                        \
		CALL(number, PREEMPTS, ready, answer = fn##_preempts(h, s, ready, running)) \
		return answer;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

HLS_GLOBAL_FUNC u32 policy_timer(hls_t *h __arg_arena, u32 s)
{
	u32 answer = 0;
#define CASE(number, fn, ...)                                     \
	case number:                                              \
		CALL(number, TIMER, 0, answer = fn##_timer(h, s)) \
		return number < HLS_FIRST_LOADED ? answer : hls_checked_timer(h, s, answer);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

/* What the policy answers to a message about its VP v. */
HLS_GLOBAL_FUNC s64 policy_message(hls_t *h __arg_arena, u32 s, u32 v, u32 message,
				   const params_t *payload __arg_arena)
{
	s64 answer = -HLS_E_UNKNOWN;
	keep_argument(v);
	keep_argument(message);
	keep_argument(payload);
#define CASE(number, fn, ...)                                                              \
	case number:                                                                       \
		CALL(number, MESSAGE, v, answer = fn##_message(h, s, v, message, payload)) \
		return answer;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return answer;
}

HLS_GLOBAL_FUNC bool policy_check_invariants(hls_t *h __arg_arena, u32 s)
{
	bool answer = true;
#define CASE(number, fn, ...)                                                \
	case number:                                                         \
		CALL(number, CHECK, 0, answer = fn##_check_invariants(h, s)) \
		return number < HLS_FIRST_LOADED ? answer : hls_checked_invariants(h, s, answer);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return true;
}

#undef CALL

/*
 * The hooks that a switch calls at every level, for its loops: those of policies that are near become part of the
 * caller, and throttle nobody; the others are called as above.
 */
static __always_inline bool near_request(hls_t *h, u32 s, u32 v)
{
#define NEAR(number, fn, ...)                                                      \
	if (fn##_policy.near && in_register(&h->scheduler[s])->policy == number) { \
		fn##_request(h, s, v);                                             \
		return true;                                                       \
	}
	HLS_BUILT_IN_POLICIES(NEAR)
#undef NEAR
	return policy_request(h, s, v);
}

static __always_inline u32 near_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
#define NEAR(number, fn, ...)                                                      \
	if (fn##_policy.near && in_register(&h->scheduler[s])->policy == number) { \
		fn##_release(h, s, v, used_ns);                                    \
		return 0;                                                          \
	}
	HLS_BUILT_IN_POLICIES(NEAR)
#undef NEAR
	return policy_release(h, s, v, used_ns);
}

static __always_inline u32 near_grant(hls_t *h, u32 s, u32 cpu)
{
#define NEAR(number, fn, ...)                                                    \
	if (fn##_policy.near && in_register(&h->scheduler[s])->policy == number) \
		return fn##_grant(h, s, cpu);
	HLS_BUILT_IN_POLICIES(NEAR)
#undef NEAR
	return policy_grant(h, s, cpu);
}

/* What the policy says of itself; none: there is no such policy. */
#define SAID(type, what, none, fn_says)                       \
	static __always_inline type policy_##what(u32 policy) \
	{                                                     \
		switch (policy) {                             \
			HLS_POLICIES(fn_says)                 \
		}                                             \
		return none;                                  \
	}

/* Whether its schedulers hold VPs of several parents and request all of them at once. */
#define JOINS(number, fn, ...) \
	case number:           \
		return fn##_policy.joins;
SAID(bool, joins, false, JOINS)
#undef JOINS

/* Whether no READY child ever waits beside a RUNNING one that it would preempt. */
#define STRICT(number, fn, ...) \
	case number:            \
		return fn##_policy.strict;
SAID(bool, strict, false, STRICT)
#undef STRICT

/* How many children a scheduler of the policy takes, a join one; 0: there is no such policy. */
#define MOST(number, fn, ...)          \
	case number:                   \
		if (fn##_policy.joins) \
			return 1;      \
		return fn##_policy.most_children ? fn##_policy.most_children : HLS_MAX_VPS;
SAID(u32, most_children, 0, MOST)
#undef MOST
#undef SAID

/*
 * Whether a value is in the range that the policy states for parameter `param` of its schedulers, of its VPs, or of a
 * message; an error where there is no such message.
 */
#define FIELDS(constant, fields, name, doc)     \
	case constant:                          \
		switch (param) {                \
			fields(HLS_PARAM_RANGE) \
		}                               \
		return value == 0;
#define CHECK(number, fn, CONST, ...)                                                     \
	static __always_inline bool fn##_param_in_range(u32 param, u64 value)             \
	{                                                                                 \
		switch (param) {                                                          \
			CONST##_PARAMS(HLS_PARAM_RANGE)                                   \
		}                                                                         \
		return value == 0;                                                        \
	}                                                                                 \
	static __always_inline bool fn##_vp_param_in_range(u32 param, u64 value)          \
	{                                                                                 \
		switch (param) {                                                          \
			CONST##_VP_PARAMS(HLS_PARAM_RANGE)                                \
		}                                                                         \
		return value == 0;                                                        \
	}                                                                                 \
	static __always_inline s64 fn##_field_in_range(u32 message, u32 param, u64 value) \
	{                                                                                 \
		(void)param, (void)value;                                                 \
		switch (message) {                                                        \
			CONST##_MESSAGES(FIELDS)                                          \
		}                                                                         \
		return -HLS_E_UNKNOWN;                                                    \
	}
HLS_POLICIES(CHECK)
#undef CHECK
#undef FIELDS

static __always_inline bool policy_param_in_range(u32 policy, u32 param, u64 value)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_param_in_range(param, value);
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

static __always_inline bool policy_vp_param_in_range(u32 policy, u32 param, u64 value)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_vp_param_in_range(param, value);
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

static __always_inline s64 policy_field_in_range(u32 policy, u32 message, u32 param, u64 value)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_field_in_range(message, param, value);
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return -HLS_E_UNKNOWN;
}

#endif
