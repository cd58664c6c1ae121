//! PShED: uniformly slower processors (G. Lipari, J. Carpenter, S. K. Baruah, "A Framework for Achieving
//! Inter-Application Isolation in Multiprogrammed, Hard Real-Time Environments", RTSS 2000; HLS section 5.1).
//!
//! PShED promises what BSS-I promises. BSS-I keeps a list of budgets for each server; here a server's budgets follow
//! from its slack at each deadline, which makes events cheaper.

use super::{Entry, Instance, Limits, Provided, slower};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "pshed",
    source: "Lipari, Carpenter and Baruah, RTSS 2000",
    accepts: "ALL or RESU; rates of at most 100% together",
    provides: "RESU rate to every child, to be used by one that has deadlines",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "PShED", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    slower::provide(instance, RULE)
}
