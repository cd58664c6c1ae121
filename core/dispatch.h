/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a scheduler to its policy: for each hook of the contract a function policy_HOOK(), a switch over the registry.
 * The compiler resolves the pointers in the policies' structs: hooks are called directly or inlined, so that the BPF
 * verifier can follow.
 *
 * Hooks of loaded policies are called between hls_begin_hook() and hls_end_hook(), and not at all where their scheduler
 * is faulty (guard.h).
 */
#ifndef HLS_DISPATCH_H
#define HLS_DISPATCH_H

#include "../policies/registry.h"

/*
 * If a policy lacks a required hook: a call of a function that does not exist. The compiler reports each such call that
 * it has not dropped.
 */
#define OPTIONAL(fn, hook)
#define SMALL(fn, hook)
#define LONG(fn, hook)
#define REQUIRED(fn, hook)                                                                                     \
	if (!fn##_policy.hook) {                                                                               \
		void fn##_lacks_hook_##hook(void) __attribute__((error("every policy has the hook ." #hook))); \
		fn##_lacks_hook_##hook();                                                                      \
	}

/*
 * Hooks of standard policies are inlined into standard_HOOK(), hooks of loaded policies into loaded_HOOK(). Hooks of
 * the optional policies, from the literature, are functions of their own: so a chain of calls needs as much of the BPF
 * stack as the largest of these hooks, however many there are. Small ones are inlined all the same, and long ones into
 * literature_HOOK(): a BPF program has 256 functions at most.
 */
#define INLINES_OPTIONAL 0
#define INLINES_REQUIRED 0
#define INLINES_SMALL 1
#define INLINES_LONG 1
#define CALL_OPTIONAL(fn, hook, arguments) fn##_##hook##_apart arguments
#define CALL_REQUIRED(fn, hook, arguments) fn##_##hook##_apart arguments
#define CALL_SMALL(fn, hook, arguments) fn##_policy.hook arguments
#define CALL_LONG(fn, hook, arguments) fn##_policy.hook arguments
#define TOLD_APART(number, fn, CONST, hook, need, parameters, arguments, type) \
	HLS_RARE_FUNC u32 fn##_##hook##_apart parameters                       \
	{                                                                      \
		if (fn##_policy.hook && !INLINES_##need)                       \
			fn##_policy.hook arguments;                            \
		return 0;                                                      \
	}
#define ASKED_APART(number, fn, CONST, hook, need, parameters, arguments, type)              \
	HLS_RARE_FUNC type fn##_##hook##_apart parameters                                    \
	{                                                                                    \
		return fn##_policy.hook && !INLINES_##need ? fn##_policy.hook arguments : 0; \
	}

#define TELL(number, fn, CONST, hook, need, arguments) \
	case number:                                   \
		need(fn, hook);                        \
		if (fn##_policy.hook)                  \
			fn##_policy.hook arguments;    \
		break;
#define TELL_APART(number, fn, CONST, hook, need, arguments) \
	case number:                                         \
		need(fn, hook);                              \
		if (fn##_policy.hook)                        \
			CALL_##need(fn, hook, arguments);    \
		break;
#define TELL_LOADED(number, fn, CONST, hook, need, about, arguments) \
	case number:                                                 \
		need(fn, hook);                                      \
		if (!fn##_policy.hook)                               \
			break;                                       \
		if (hls_begin_hook(h, s, HLS_HOOK_##hook, about))    \
			fn##_policy.hook arguments;                  \
		hls_end_hook(h, s);                                  \
		break;

#define ASK(number, fn, CONST, hook, need, arguments)      \
	case number:                                       \
		need(fn, hook);                            \
		if (fn##_policy.hook)                      \
			return fn##_policy.hook arguments; \
		break;
#define ASK_APART(number, fn, CONST, hook, need, arguments)      \
	case number:                                             \
		need(fn, hook);                                  \
		if (fn##_policy.hook)                            \
			return CALL_##need(fn, hook, arguments); \
		break;
#define ASK_LOADED(number, fn, CONST, hook, need, about, arguments) \
	case number:                                                \
		need(fn, hook);                                     \
		if (!fn##_policy.hook)                              \
			break;                                      \
		if (hls_begin_hook(h, s, HLS_HOOK_##hook, about))   \
			answer = fn##_policy.hook arguments;        \
		hls_end_hook(h, s);                                 \
		return hls_checked_answer_of_##hook(h, s, about, answer);

/*
 * For the same reason standard_HOOK() and loaded_HOOK() are functions only where hooks need much of the stack or are
 * long, loaded_HOOK() only where a policy is loaded, and literature_HOOK() where the hooks are long.
 */
#define STANDARD_REQUIRED HLS_GLOBAL_FUNC
#define STANDARD_OPTIONAL static __always_inline
#define STANDARD_SMALL static __always_inline
#define STANDARD_LONG HLS_GLOBAL_FUNC
#ifdef HLS_LOADED
#define LOADED_REQUIRED HLS_GLOBAL_FUNC
#else
#define LOADED_REQUIRED static __always_inline
#endif
#define LOADED_OPTIONAL static __always_inline
#define LOADED_SMALL static __always_inline
#define LOADED_LONG static __always_inline
#define LITERATURE_REQUIRED static __always_inline
#define LITERATURE_OPTIONAL static __always_inline
#define LITERATURE_SMALL static __always_inline
#define LITERATURE_LONG HLS_RARE_FUNC

/*
 * A function that calls a hook of the scheduler's policy, by one of the `cases`; `value` if the policy lacks the hook.
 */
#define BY_POLICY(linkage, type, name, parameters, cases, value) \
	linkage type name parameters                             \
	{                                                        \
		switch (h->scheduler[s].policy) {                \
			cases                                    \
		}                                                \
		return value;                                    \
	}
#define ANY_POLICY(type, hook, parameters, arguments)     \
	HLS_GLOBAL_FUNC type policy_##hook parameters     \
	{                                                 \
		u32 policy = h->scheduler[s].policy;      \
		if (likely(policy < HLS_FIRST_OPTIONAL))  \
			return standard_##hook arguments; \
		if (policy >= HLS_FIRST_LOADED)           \
			return loaded_##hook arguments;   \
		return literature_##hook arguments;       \
	}

#define EVENT(number, hook, need, about, parameters, arguments, type, value)             \
	HLS_LITERATURE_POLICIES(TOLD_APART, hook, need, parameters, arguments, type)     \
	BY_POLICY(STANDARD_##need, type, standard_##hook, parameters,                    \
		  HLS_STANDARD_POLICIES(TELL, hook, need, arguments), value)             \
	BY_POLICY(LOADED_##need, type, loaded_##hook, parameters,                        \
		  HLS_LOADED_POLICIES(TELL_LOADED, hook, need, about, arguments), value) \
	BY_POLICY(LITERATURE_##need, type, literature_##hook, parameters,                \
		  HLS_LITERATURE_POLICIES(TELL_APART, hook, need, arguments), value)     \
	ANY_POLICY(type, hook, parameters, arguments)

#define QUESTION(number, hook, need, about, parameters, arguments, type, value)       \
	HLS_LITERATURE_POLICIES(ASKED_APART, hook, need, parameters, arguments, type) \
	BY_POLICY(STANDARD_##need, type, standard_##hook, parameters,                 \
		  HLS_STANDARD_POLICIES(ASK, hook, need, arguments), value)           \
	LOADED_##need type loaded_##hook parameters                                   \
	{                                                                             \
		type answer = value;                                                  \
		switch (h->scheduler[s].policy) {                                     \
			HLS_LOADED_POLICIES(ASK_LOADED, hook, need, about, arguments) \
		}                                                                     \
		return answer;                                                        \
	}                                                                             \
	BY_POLICY(LITERATURE_##need, type, literature_##hook, parameters,             \
		  HLS_LITERATURE_POLICIES(ASK_APART, hook, need, arguments), value)   \
	ANY_POLICY(type, hook, parameters, arguments)

/* Where no policy is loaded, loaded_HOOK() uses none of its parameters. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
HLS_HOOKS(EVENT, QUESTION)
#pragma GCC diagnostic pop

#undef QUESTION
#undef EVENT
#undef ANY_POLICY
#undef BY_POLICY
#undef LITERATURE_LONG
#undef LITERATURE_SMALL
#undef LITERATURE_OPTIONAL
#undef LITERATURE_REQUIRED
#undef LOADED_LONG
#undef LOADED_SMALL
#undef STANDARD_LONG
#undef STANDARD_SMALL
#undef STANDARD_OPTIONAL
#undef STANDARD_REQUIRED
#undef LOADED_OPTIONAL
#undef LOADED_REQUIRED
#undef ASK_LOADED
#undef ASK_APART
#undef ASK
#undef TELL_LOADED
#undef TELL_APART
#undef TELL
#undef ASKED_APART
#undef TOLD_APART
#undef CALL_LONG
#undef CALL_SMALL
#undef CALL_REQUIRED
#undef CALL_OPTIONAL
#undef INLINES_LONG
#undef INLINES_SMALL
#undef INLINES_REQUIRED
#undef INLINES_OPTIONAL
#undef REQUIRED
#undef LONG
#undef SMALL
#undef OPTIONAL

/*
 * policy_HOOK_inline(): for the loops of a decision, which call these hooks at every level. The hooks of policies with
 * `inline_hooks` become part of the caller, and the hooks of standard ones among them throttle no VP. Policies of the
 * literature are tested last; their hooks that are not SMALL are called. The other policies are called by
 * policy_HOOK().
 */
#define IS_POLICY(number) (in_register(&h->scheduler[s])->policy == number)
#define HAS_INLINE_HOOKS(number, fn) \
	(fn##_policy.inline_hooks && \
	 (number < HLS_FIRST_OPTIONAL ? IS_POLICY(number) : unlikely(IS_POLICY(number))))

/* Returns whether v may get a CPU; false: v is throttled. */
static __always_inline bool policy_request_inline(hls_t *h, u32 s, u32 v)
{
#define REQUEST(number, fn, ...)              \
	if (HAS_INLINE_HOOKS(number, fn)) {   \
		fn##_policy.request(h, s, v); \
		return true;                  \
	}
#define REQUEST_APART(number, fn, ...)                                   \
	if (HAS_INLINE_HOOKS(number, fn)) {                              \
		fn##_request_apart(h, s, v);                             \
		return !(in_register(&h->vp[v])->flags & HLS_THROTTLED); \
	}
	HLS_STANDARD_POLICIES(REQUEST)
	HLS_LITERATURE_POLICIES(REQUEST_APART)
#undef REQUEST_APART
#undef REQUEST
	return policy_request(h, s, v);
}

/* `small_ones`: small hooks of the literature also become part of the caller, if its frame has room for them. */
static __always_inline void policy_release_inline(hls_t *h, u32 s, u32 v, u64 used_ns, bool small_ones)
{
#define RELEASE(number, fn, ...)                               \
	if (HAS_INLINE_HOOKS(number, fn)) {                    \
		if (fn##_policy.release)                       \
			fn##_policy.release(h, s, v, used_ns); \
		return;                                        \
	}
	HLS_STANDARD_POLICIES(RELEASE)
	if (small_ones) {
		HLS_LITERATURE_POLICIES(RELEASE)
	}
#undef RELEASE
	policy_release(h, s, v, used_ns);
}

static __always_inline u32 policy_grant_inline(hls_t *h, u32 s, u32 cpu)
{
#define GRANT(number, fn, ...)            \
	if (HAS_INLINE_HOOKS(number, fn)) \
		return fn##_policy.grant(h, s, cpu);
#define GRANT_APART(number, fn, ...)      \
	if (HAS_INLINE_HOOKS(number, fn)) \
		return fn##_grant_apart(h, s, cpu);
	HLS_STANDARD_POLICIES(GRANT)
	HLS_LITERATURE_POLICIES(GRANT_APART)
#undef GRANT_APART
#undef GRANT
	return policy_grant(h, s, cpu);
}

static __always_inline bool policy_preempts_inline(hls_t *h, u32 s, u32 ready, u32 running)
{
#define PREEMPTS(number, fn, ...)         \
	if (HAS_INLINE_HOOKS(number, fn)) \
		return fn##_policy.preempts && fn##_policy.preempts(h, s, ready, running);
	HLS_BUILT_IN_POLICIES(PREEMPTS)
#undef PREEMPTS
	return policy_preempts(h, s, ready, running);
}
#undef HAS_INLINE_HOOKS
#undef IS_POLICY

/* policy_WHAT(): a property of a policy, from its struct; `none` where there is no such policy. */
#define SAID(type, what, none, fn_says)                       \
	static __always_inline type policy_##what(u32 policy) \
	{                                                     \
		switch (policy) {                             \
			HLS_POLICIES(fn_says)                 \
		}                                             \
		return none;                                  \
	}

#define JOINS(number, fn, ...) \
	case number:           \
		return fn##_policy.joins;
SAID(bool, joins, false, JOINS)
#undef JOINS

#define HEARS(number, fn, ...) \
	case number:           \
		return fn##_policy.told != NULL;
SAID(bool, hears, false, HEARS)
#undef HEARS

#define SLOWS(number, fn, ...) \
	case number:           \
		return fn##_policy.slows;
SAID(bool, slows, false, SLOWS)
#undef SLOWS

#define HAS_PAGES(number, fn, ...) \
	case number:               \
		return fn##_policy.has_pages;
SAID(bool, has_pages, false, HAS_PAGES)
#undef HAS_PAGES

#define STRICT(number, fn, ...) \
	case number:            \
		return fn##_policy.strict;
SAID(bool, strict, false, STRICT)
#undef STRICT

/* How many children a scheduler of the policy takes: a join one. 0: there is no such policy. */
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

HLS_RARE_FUNC bool policy_param_in_range(u32 policy, u32 param, u64 value)
{
	keep_argument(policy);
	keep_argument(param);
	keep_argument(value);
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_param_in_range(param, value);
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

HLS_RARE_FUNC bool policy_vp_param_in_range(u32 policy, u32 param, u64 value)
{
	keep_argument(policy);
	keep_argument(param);
	keep_argument(value);
#define CASE(number, fn, ...) \
	case number:          \
		return fn##_vp_param_in_range(param, value);
	switch (policy) {
		HLS_POLICIES(CASE)
	}
#undef CASE
	return false;
}

HLS_RARE_FUNC s64 policy_field_in_range(u32 policy, u32 message, u32 param, u64 value)
{
	keep_argument(policy);
	keep_argument(message);
	keep_argument(param);
	keep_argument(value);
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
