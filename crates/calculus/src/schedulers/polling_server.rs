//! Polling servers (Lehoczky, Sha and Strosnider, RTSS 1987).
//!
//! To the servers below it a server is a periodic task: see `responses.rs`. A child that wakes up waits for the start
//! of the next period, at most T later, and has a budget C within R of each start from then on. So for T + R - C at the
//! longest it has nothing, and then at least what PSBE C/T, (C/T)*(T+R-C) promises. That is a period less than what
//! reservations promise, which begin a period with a wake-up.

use super::responses::{self, Asleep};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use std::cmp::Reverse;

pub(super) const ENTRY: Entry = Entry {
    policy: "polling-server",
    source: "Lehoczky, Sha and Strosnider, RTSS 1987",
    accepts: "ALL of one CPU, or any supply",
    provides: "PSBE C/T, (C/T)*(T+R-C) to every child with budget C, period T that is reached within R <= T",
    limits: Limits::Budget,
    provide,
};

const RULE: Rule = Rule {
    name: "polling server",
    source: "a period until it is asked, then R = C + sum of ceil(R/T)*C over higher priorities",
};

fn provide(instance: &Instance) -> Provided {
    responses::provide(
        instance,
        RULE,
        Asleep::Paid,
        |child, _| Reverse(instance.child_param(child, "priority")),
        |_, claim, response| responses::a_period_later(claim, response),
    )
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::labels;

    #[test]
    fn a_child_may_wait_for_a_period_first() {
        let low = [("budget", 4), ("period", 10), ("priority", 1)];
        let high = [("budget", 2), ("period", 5), ("priority", 2)];
        let promised = |children: &[&[(&str, u64)]]| labels("polling-server", "ALL", &[], children);
        // R = 8: 2/5 of 10 + 8 - 4. R = 2: 2/5 of 5.
        assert_eq!(promised(&[&low, &high]), ["PSBE 2/5 28/5ns", "PSBE 2/5 2ns"]);
        let more = [("budget", 7), ("period", 10), ("priority", 1)];
        assert_eq!(promised(&[&more, &high]), ["NULL", "PSBE 2/5 2ns"]);
    }
}
