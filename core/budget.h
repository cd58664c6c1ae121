/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For policies that give a VP a budget of CPU time in every period: what the VP has left, and what it owes.
 *
 * A timer goes off late, by some microseconds or by a tick, and meanwhile the VP gets more than its budget: it
 * overruns. The overrun is a debt, and the next budgets of the same VP pay it: each period begins with the budget less
 * the debt, and a debt that no budget covers passes on to the next period. Only budgets pay; time does not. A VP that
 * sleeps keeps its debt, since otherwise it would overrun, sleep for a moment, and overrun again.
 *
 *                                        timer late
 *      left  budget |\                       |
 *                   | \      period ends     v           |\     budget less debt
 *                 0 +--\---------|-----------------------|-\----------> time
 *                       \________|   (the debt)
 *
 * So in n consecutive periods a VP has at most n budgets and one overrun. Its siblings may wait longer by that overrun;
 * and because budgets pay for it, the wait does not grow. While a debt lasts, the VP gets less than its promise, by
 * as much as it overran before.
 *
 * A period that ends while the VP runs ends on time even if its timer is late: what the VP had until then is charged to
 * that period, what is left of the budget lapses, and the rest is charged to the periods that follow.
 *
 * Stolen time (hls_steal) is not CPU time of the VP, and is not charged, even where it makes a timer late: what is
 * stolen after the end of a period, in the last stretch of stolen time, is no CPU time of the next. A debt is
 * HLS_MOST_DEBT_NS at most: that is a tick of the slowest clock of Linux, and no timer is later. If a VP seems to have
 * overrun by more, the machine stood still and did not report it; the VP must not pay for that for a long time.
 */
#ifndef HLS_BUDGET_H
#define HLS_BUDGET_H

#include "policy.h"

#define HLS_MOST_DEBT_NS HLS_MS(10)

struct hls_budget {
	s64 left_ns; /* in this period; below 0: the debt */
	u64 end_at;  /* of this period */
};
typedef struct hls_budget __arena budget_t;

/* The VP v, which gets `amount_ns` in every period, begins one that lasts until end_at. */
static __always_inline void budget_begin(hls_t *h, u32 v, budget_t *budget, u64 amount_ns, u64 end_at)
{
	budget->left_ns = (s64)amount_ns + (budget->left_ns < 0 ? budget->left_ns : 0);
	budget->end_at = end_at;
	hls_emit(h, v, HLS_REC_REPLENISH, budget->left_ns > 0 ? budget->left_ns : 0, end_at);
}

/* If the period is over, begins the current one. The periods between, which a late timer missed, pay debts only. */
static __always_inline void budget_renew_if_over(hls_t *h, u32 v, budget_t *budget, u64 amount_ns, u64 period_ns)
{
	if (h->now_ns < budget->end_at)
		return;
	u64 missed = (h->now_ns - budget->end_at) / period_ns;
	if (budget->left_ns < 0) {
		budget->left_ns += missed * amount_ns;
		if (budget->left_ns > 0)
			budget->left_ns = 0;
	}
	budget_begin(h, v, budget, amount_ns, budget->end_at + period_ns * (missed + 1));
}

static __always_inline void budget_use(budget_t *budget, u64 used_ns)
{
	budget->left_ns -= used_ns;
	if (budget->left_ns < -(s64)HLS_MOST_DEBT_NS)
		budget->left_ns = -(s64)HLS_MOST_DEBT_NS;
}

/* The VP had a CPU for used_ns up to now. If its period is over, what it had since then counts for later periods. */
static __always_inline void budget_charge(hls_t *h, u32 v, budget_t *budget, u64 amount_ns, u64 period_ns,
					  u64 used_ns)
{
	if (likely(h->now_ns <= budget->end_at)) {
		budget_use(budget, used_ns);
		return;
	}
	u64 late_ns = h->now_ns - budget->end_at - hls_stolen_since_ns(h, v, budget->end_at);
	if (late_ns > used_ns)
		late_ns = used_ns;
	budget_use(budget, used_ns - late_ns);
	if (budget->left_ns > 0)
		budget->left_ns = 0;
	u64 present_ns = (h->now_ns - budget->end_at) % period_ns;
	if (present_ns > late_ns)
		present_ns = late_ns;
	budget_use(budget, late_ns - present_ns);
	budget_renew_if_over(h, v, budget, amount_ns, period_ns);
	budget_use(budget, present_ns);
}

#endif
