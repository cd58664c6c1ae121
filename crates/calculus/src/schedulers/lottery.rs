//! Lottery scheduling (C. A. Waldspurger, W. E. Weihl, "Lottery Scheduling: Flexible Proportional-Share Resource
//! Management", OSDI 1994; HLS section 5.1).
//!
//! Each quantum goes to the child that holds the drawn ticket. A share is what a child has in expectation, and in the
//! limit with probability one; nothing holds in any finite window, which is what PS says. Children that sleep leave the
//! draw, so that the chances of the others only grow. Compensation tickets keep the share of a child that uses part of
//! its quanta, and take no more than its share from the others.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::{Guarantee, Kind};
use crate::rewrite::rewrite;

pub(super) const ENTRY: Entry = Entry {
    policy: "lottery",
    source: "Waldspurger and Weihl, OSDI 1994",
    accepts: "PS s and whatever implies it",
    provides: "PS s*r to every child, r being its part of all shares: an expectation",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "lottery, expectation", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let held = match instance.single_vp() {
        Ok(label) => label.absolute(),
        Err(found) => return instance.nothing(RULE, found),
    };
    let Some(weights) = instance.weights() else {
        return instance.nothing_because(RULE, "a share above 0 for every child", "one without");
    };
    let Some((Guarantee::Ps { share }, _)) = rewrite(&held, Kind::Ps) else {
        return instance.nothing(RULE, "shares of nothing that is promised");
    };
    instance.shares_in_the_long_run(&share, weights, RULE)
}
