//! Deferrable servers (Lehoczky, Sha and Strosnider, RTSS 1987; Strosnider, Lehoczky and Sha, 1995).
//!
//! A server's budget stays until the period ends while its child sleeps: see `responses.rs`. A child that wants the CPU
//! from any instant has the budget, or all that is left of it, within R, and the next one a period later; nothing more.

use super::responses::{self, Asleep};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use std::cmp::Reverse;

pub(super) const ENTRY: Entry = Entry {
    policy: "deferrable-server",
    source: "Lehoczky, Sha and Strosnider, RTSS 1987",
    accepts: "ALL of one CPU, or any supply",
    provides: "RESBH budget,period to every child that is reached in time",
    limits: Limits::Budget,
    provide,
};

const RULE: Rule = Rule {
    name: "deferrable server",
    source: "response time: R = C + sum of ceil((R+T-C)/T)*C over higher priorities",
};

fn provide(instance: &Instance) -> Provided {
    responses::provide(
        instance,
        RULE,
        Asleep::Kept,
        |child, _| Reverse(instance.child_param(child, "priority")),
        |_, claim, _| claim.guarantee(),
    )
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::labels;

    #[test]
    fn servers_above_may_take_two_budgets_in_a_row() {
        let low = [("budget", 3), ("period", 9), ("priority", 1)];
        let high = [("budget", 2), ("period", 5), ("priority", 2)];
        let promised = |children: &[&[(&str, u64)]]| labels("deferrable-server", "ALL", &[], children);
        // 3 + 2*2 = 7; with 4 in place of 3: 4 + 3*2 = 10.
        assert_eq!(promised(&[&low, &high]), ["RESBH 3ns 9ns", "RESBH 2ns 5ns"]);
        let more = [("budget", 4), ("period", 9), ("priority", 1)];
        assert_eq!(promised(&[&more, &high]), ["NULL", "RESBH 2ns 5ns"]);
        // The priority counts, not the period: 2 + ceil((5+6)/9)*3 = 8 > 5.
        let upside_down = [("budget", 3), ("period", 9), ("priority", 3)];
        assert_eq!(promised(&[&upside_down, &high]), ["RESBH 3ns 9ns", "NULL"]);
        // Servers of equal priority count each other.
        let equal = [("budget", 3), ("period", 9), ("priority", 2)];
        assert_eq!(promised(&[&equal, &high]), ["RESBH 3ns 9ns", "NULL"]);
    }
}
