//! Round robin. HLS section 5.4 uses it to give away slack, and states no guarantee for it. Where there is a CPU for
//! each child there are no turns.

use super::{Entry, Instance, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "round-robin",
    source: "HLS, section 5.4",
    accepts: "anything",
    provides: "NULL to every child; ALL where there is a CPU for each",
    joins: false,
    limits: false,
    description: None,
    provide,
};

const RULE: Rule = Rule { name: "round robin", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let reason = "the turns of the others may lie between, and nothing limits how many there are";
    instance.a_cpu_each().unwrap_or_else(|| instance.nothing(RULE, reason))
}
