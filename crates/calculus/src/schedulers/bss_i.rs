//! BSS-I: uniformly slower processors (G. Lipari, S. K. Baruah, "Efficient Scheduling of Real-Time Multi-Task
//! Applications in Dynamic Systems", RTAS 2000; HLS section 5.1).
//!
//! Each child is a bandwidth sharing server. It has the deadline of its most urgent job, and a budget for that
//! deadline of the rate times the time up to it, less what jobs with later deadlines must still find.

use super::{Entry, Instance, Limits, Provided, slower};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "bss-i",
    source: "Lipari and Baruah, RTAS 2000",
    accepts: "ALL or RESU; rates of at most 100% together",
    provides: "RESU rate to every child, to be used by one that has deadlines",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "BSS-I", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    slower::provide(instance, RULE)
}
