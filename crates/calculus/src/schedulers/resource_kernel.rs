//! The resource kernel: reserves by rate monotonic priorities (S. Oikawa, R. Rajkumar, "Portable RK", RTAS 1999; HLS
//! section 5.1).
//!
//! A reserve's budget is renewed at fixed instants, and what is not used stays there until the next instant: a child
//! that sleeps and wakes finds the rest of its budget (a deferrable server). So a reserve can use its budget at the end
//! of one period and again at the start of the next, and the plain response time analysis, with ceil(t/T)*C, is unsound
//! here: see `responses.rs`. A reserve that wants the CPU from any instant has its budget, or all that is left of it,
//! within R. Firm and soft reserves also have what nothing else wants, below all budgets.

use super::responses::{self, Asleep};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use num_traits::Zero;

pub(super) const ENTRY: Entry = Entry {
    policy: "resource-kernel",
    source: "Oikawa and Rajkumar, RTAS 1999, with deferrable reserves",
    accepts: "ALL of one CPU, or any supply",
    provides: "RESBH budget,period to every child that is reached in time; RESBS to those with kind=1 or kind=2",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule {
    name: "resource kernel",
    source: "response time among deferrable servers: R = C + sum of ceil((R+T-C)/T)*C over shorter periods",
};

fn provide(instance: &Instance) -> Provided {
    responses::provide(
        instance,
        RULE,
        Asleep::Kept,
        |_, claim| claim.period.clone(),
        |child, claim, _| {
            let is_hard = instance.child_param(child, "kind").is_none_or(|kind| kind.is_zero());
            if is_hard { claim.guarantee() } else { claim.guarantee().softened() }
        },
    )
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::{claimed, labels};

    #[test]
    fn a_reserve_may_be_firm_or_soft() {
        for kind in 0..3 {
            let promised = if kind == 0 { "RESBH 2ns 5ns" } else { "RESBS 2ns 5ns" };
            let params = [("budget", 2), ("period", 5), ("kind", kind)];
            assert_eq!(labels("resource-kernel", "ALL", &[], &[&params]), [promised]);
        }
    }

    /// It is not known here which of two reserves of one period goes first: 2 + 2*2 = 6.
    #[test]
    fn equal_periods_count_each_other() {
        assert_eq!(claimed("resource-kernel", "ALL", &[(2, 6), (2, 6)]), ["RESBH 2ns 6ns"; 2]);
        assert!(claimed("resource-kernel", "ALL", &[(2, 5), (2, 5)]).is_empty());
    }
}
