//! Sporadic servers (Sprunt, Sha and Lehoczky, Real-Time Systems 1989).
//!
//! Each piece of a server's budget is a task: its jobs begin when the child could use the piece first, a period apart
//! at least, and wait or run until the piece is used or given up. So to the servers below it all pieces together are a
//! periodic task: see `responses.rs`. What comes back later than it could (`policies/sporadic_server.c` keeps two
//! times) only makes jobs later.
//!
//! A child that wakes up at t, and wants the CPU from then on, has all of its budget back by t + T: what is not back
//! yet was used from before t on; and of what it has at t, what comes back later for want of a third time comes back at
//! t + T. From then on no more than two pieces are left, and nothing has to wait any more: each comes within R, and
//! again a period later. So the child has nothing for T + R - C at the longest, as behind a polling server, and the
//! promise is the polling server's, too.
//!
//! Nothing limits what a child has: a piece that could have been used since t comes back at t + T, and while the
//! scheduler itself waits for a CPU, periods pass. Then several budgets are used in a row.

use super::responses::{self, Asleep};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use std::cmp::Reverse;

pub(super) const ENTRY: Entry = Entry {
    policy: "sporadic-server",
    source: "Sprunt, Sha and Lehoczky, Real-Time Systems 1989",
    accepts: "ALL of one CPU, or any supply",
    provides: "PSBE C/T, (C/T)*(T+R-C) to every child with budget C, period T that is reached within R <= T",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule {
    name: "sporadic server",
    source: "a period until all is back, then R = C + sum of ceil(R/T)*C over higher priorities",
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
    fn those_below_see_a_periodic_task() {
        let low = [("budget", 4), ("period", 10), ("priority", 1)];
        let high = [("budget", 2), ("period", 5), ("priority", 2)];
        let promised = |children: &[&[(&str, u64)]]| labels("sporadic-server", "ALL", &[], children);
        // Below a deferrable server 4 + 3*2 = 10 would be the response time, too late by nothing; here it is 8.
        assert_eq!(promised(&[&low, &high]), ["PSBE 2/5 28/5ns", "PSBE 2/5 2ns"]);
        let more = [("budget", 6), ("period", 10), ("priority", 1)];
        assert_eq!(promised(&[&more, &high]), ["PSBE 3/5 42/5ns", "PSBE 2/5 2ns"]);
    }
}
