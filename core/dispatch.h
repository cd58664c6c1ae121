/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a scheduler to its policy: for each hook of the contract a switch over the registry. No function pointers,
 * so that the compiler sees through and the BPF verifier can follow. It wants a number of each function that it
 * looks at by itself: where a hook has nothing to say that is 0.
 */
#ifndef HLS_DISPATCH_H
#define HLS_DISPATCH_H

#include "../policies/registry.h"

HLS_ONCE u32 policy_init(hls_t *h ARENA_ARG, u32 s)
{
#define CASE(number, fn, ...)    \
	case number:             \
		fn##_init(h, s); \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_ONCE u32 policy_deinit(hls_t *h ARENA_ARG, u32 s)
{
#define CASE(number, fn, ...)      \
	case number:               \
		fn##_deinit(h, s); \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_ONCE s64 policy_register_vp(hls_t *h ARENA_ARG, u32 s, u32 v)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_register_vp(h, s, v);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return -HLS_E_NOT_FOUND;
}

HLS_ONCE u32 policy_unregister_vp(hls_t *h ARENA_ARG, u32 s, u32 v)
{
#define CASE(number, fn, ...)                \
	case number:                         \
		fn##_unregister_vp(h, s, v); \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

/* Whether the VP may have a CPU: it may be out of budget. */
HLS_ONCE bool policy_request(hls_t *h ARENA_ARG, u32 s, u32 v)
{
#define CASE(number, fn, ...)          \
	case number:                   \
		fn##_request(h, s, v); \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return !(h->vp[v].flags & HLS_THROTTLED);
}

HLS_ONCE u32 policy_withdraw(hls_t *h ARENA_ARG, u32 s, u32 v)
{
#define CASE(number, fn, ...)           \
	case number:                    \
		fn##_withdraw(h, s, v); \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_ONCE u32 policy_grant(hls_t *h ARENA_ARG, u32 s, u32 cpu)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_grant(h, s, cpu);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_ONCE u32 policy_revoke(hls_t *h ARENA_ARG, u32 s, u32 v, u64 used_ns)
{
#define CASE(number, fn, ...)                  \
	case number:                           \
		fn##_revoke(h, s, v, used_ns); \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_ONCE u32 policy_release(hls_t *h ARENA_ARG, u32 s, u32 v, u64 used_ns)
{
#define CASE(number, fn, ...)                   \
	case number:                            \
		fn##_release(h, s, v, used_ns); \
		break;
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_ONCE bool policy_preempts(hls_t *h ARENA_ARG, u32 s, u32 ready, u32 running)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_preempts(h, s, ready, running);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

HLS_ONCE u32 policy_timer(hls_t *h ARENA_ARG, u32 s)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_timer(h, s);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

HLS_ONCE bool policy_check_invariants(hls_t *h ARENA_ARG, u32 s)
{
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_check_invariants(h, s);
	switch (h->scheduler[s].policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return true;
}

/*
 * The hooks that a switch calls at every level, for its loops: those of policies that are near become part of the
 * caller, and throttle nobody; the others are called as above.
 */
static inline bool near_request(hls_t *h, u32 s, u32 v)
{
#define NEAR(number, fn, CONST, name, most, joins, strict, near, ...) \
	if (near && kept(&h->scheduler[s])->policy == number) {       \
		fn##_request(h, s, v);                                \
		return true;                                          \
	}
	HLS_POLICIES(NEAR)
#undef NEAR
	return policy_request(h, s, v);
}

static inline u32 near_release(hls_t *h, u32 s, u32 v, u64 used_ns)
{
#define NEAR(number, fn, CONST, name, most, joins, strict, near, ...) \
	if (near && kept(&h->scheduler[s])->policy == number) {       \
		fn##_release(h, s, v, used_ns);                       \
		return 0;                                             \
	}
	HLS_POLICIES(NEAR)
#undef NEAR
	return policy_release(h, s, v, used_ns);
}

static inline u32 near_grant(hls_t *h, u32 s, u32 cpu)
{
#define NEAR(number, fn, CONST, name, most, joins, strict, near, ...) \
	if (near && kept(&h->scheduler[s])->policy == number)         \
		return fn##_grant(h, s, cpu);
	HLS_POLICIES(NEAR)
#undef NEAR
	return policy_grant(h, s, cpu);
}

/*
 * Whether the policy is one of those whose schedulers hold VPs of several parents and request all of them at once.
 */
static inline bool policy_joins(u32 policy)
{
#define CASE(number, fn, CONST, name, most, joins, ...) \
	case number:                                    \
		return joins;
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

/* Whether no READY child ever waits beside a RUNNING one that it would preempt. */
static inline bool policy_strict(u32 policy)
{
#define CASE(number, fn, CONST, name, most, joins, strict, ...) \
	case number:                                            \
		return strict;
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

/* How many children a scheduler of the policy takes; 0: there is no such policy. */
static inline u32 policy_most_children(u32 policy)
{
#define CASE(number, fn, CONST, name, most, ...) \
	case number:                             \
		return most;
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return 0;
}

/* Whether a value is in the range that the policy states for parameter `param` of its schedulers, or of its VPs. */
#define CHECK(number, fn, CONST, ...)                                   \
	static inline bool fn##_param_in_range(u32 param, u64 value)    \
	{                                                               \
		switch (param) {                                        \
			CONST##_PARAMS(HLS_PARAM_RANGE)                 \
		}                                                       \
		return value == 0;                                      \
	}                                                               \
	static inline bool fn##_vp_param_in_range(u32 param, u64 value) \
	{                                                               \
		switch (param) {                                        \
			CONST##_VP_PARAMS(HLS_PARAM_RANGE)              \
		}                                                       \
		return value == 0;                                      \
	}
HLS_POLICIES(CHECK)
#undef CHECK

static inline bool policy_param_in_range(u32 policy, u32 param, u64 value)
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

static inline bool policy_vp_param_in_range(u32 policy, u32 param, u64 value)
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

#endif
