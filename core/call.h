/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of the core's entry points as data: which is called, with which arguments, and its result. A tape is a list of
 * calls; the same tape gives the same results, and leaves the same bytes in the domain, in every build of the core. By
 * such calls user space also reaches the core that runs in the kernel.
 */
#ifndef HLS_CALL_H
#define HLS_CALL_H

#include "core.h"

/*
 * The entry points: OP(number, NAME, expression), where `h` is the domain and `c` the call. The numbers are part of the
 * tape format, and are never used again for another entry point.
 *
 * An entry point returns
 *   s64: an index, the policy's answer (hls_tell) or 0; or an enum hls_error, negated;
 *   u64: `kick`, the CPUs on which hls_schedule() is due; but hls_expires_at() and hls_timer_at() a time;
 *   u32: a VP (hls_schedule) or an enum hls_invariant (hls_check), or 0.
 */
#define HLS_CALLS(OP)                                                        \
	OP(1, ADD_CPU, hls_add_cpu(h, c->a))                                 \
	OP(2, CREATE_SCHEDULER, hls_create_scheduler(h, c->a, &c->params))   \
	OP(3, DESTROY_SCHEDULER, hls_destroy_scheduler(h, c->a))             \
	OP(4, ATTACH_ROOT, hls_attach_root(h, c->a, c->b))                   \
	OP(5, ATTACH, hls_attach(h, c->a, c->b, &c->params, c->now_ns))      \
	OP(6, DETACH, hls_detach(h, c->a, c->now_ns))                        \
	OP(7, MOVE, hls_move(h, c->a, c->b, &c->params, c->now_ns))          \
	OP(8, SET_AFFINITY, hls_set_affinity(h, c->a, c->value, c->now_ns))  \
	OP(9, WATCH, hls_watch(h, c->a, c->b))                               \
	OP(10, REQUEST, hls_request(h, c->a, c->now_ns))                     \
	OP(11, RELEASE, hls_release(h, c->a, c->now_ns))                     \
	OP(12, YIELD, hls_yield(h, c->a, c->now_ns))                         \
	OP(13, SET_PARAM, hls_set_param(h, c->a, c->b, c->value, c->now_ns)) \
	OP(14, EXPIRE, hls_expire(h, c->a, c->now_ns))                       \
	OP(15, TIMERS, hls_timers(h, c->now_ns))                             \
	OP(16, STEAL, hls_steal(h, c->a, c->value, c->now_ns))               \
	OP(17, EXPIRES_AT, hls_expires_at(h, c->a))                          \
	OP(18, TIMER_AT, hls_timer_at(h))                                    \
	OP(19, SCHEDULE, hls_schedule(h, c->a, c->now_ns))                   \
	OP(20, CHECK, hls_check(h))                                          \
	OP(21, OFFLINE, hls_offline(h, c->a, c->now_ns))                     \
	OP(22, ONLINE, hls_online(h, c->a, c->now_ns))                       \
	OP(23, TELL, hls_tell(h, c->a, c->b, &c->params, c->now_ns))         \
	OP(24, REPLACE, hls_replace(h, c->a, c->b, &c->params, c->now_ns))   \
	OP(25, SET_PACE, hls_set_pace(h, c->value))                          \
	OP(26, STALL, hls_stall(h, c->a, c->now_ns))                         \
	OP(27, WRITE_PAGE, hls_write_page(h, c->a, c->b, c->value))          \
	OP(28, RENEW_PAGES, hls_renew_pages(h, c->a, c->now_ns))             \
	OP(29, SUSPEND, hls_suspend(h, c->a, c->b, c->now_ns))               \
	OP(30, LET_PAY, hls_let_pay(h, c->a))                                \
	OP(31, OWE, hls_owe(h, c->a, c->value, c->now_ns))

#define HLS_CALL_NUMBER(number, name, call) HLS_CALL_##name = number,
enum hls_call_op { HLS_CALLS(HLS_CALL_NUMBER) };

#define HLS_CALL_BIT(name) (1ULL << HLS_CALL_##name)

/*
 * The entry points that only the platform calls, which runs the hierarchy: events, the decision, and when a slice ends;
 * a bit each, by its number. TIMER_AT is not among them: user space makes it to learn the kernel's time.
 */
#define HLS_PLATFORM_CALLS                                                                              \
	(HLS_CALL_BIT(REQUEST) | HLS_CALL_BIT(RELEASE) | HLS_CALL_BIT(STALL) | HLS_CALL_BIT(YIELD) |    \
	 HLS_CALL_BIT(EXPIRE) | HLS_CALL_BIT(TIMERS) | HLS_CALL_BIT(STEAL) | HLS_CALL_BIT(EXPIRES_AT) | \
	 HLS_CALL_BIT(SCHEDULE) | HLS_CALL_BIT(OWE))

struct hls_call {
	u64 now_ns;
	u64 value;      /* the entry point's 64-bit argument: a parameter's value, CPUs, or nanoseconds */
	u32 op;         /* enum hls_call_op */
	u32 a, b;       /* its 32-bit arguments in order: scheduler, VP, CPU, policy, parameter, message */
	u32 generation; /* the kernel engine refuses the call unless VP `a` has its thread of this number; 0: any */
	struct hls_params params;
	s64 result; /* what the entry point returned */
};
typedef struct hls_call __arena call_t;

#endif
