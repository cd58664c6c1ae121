//! Round robin. HLS section 5.4 uses it to give away slack, and states no guarantee for it.

use super::{Entry, Instance, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "round-robin",
    source: "HLS, section 5.4",
    accepts: "NULL, which anything implies",
    provides: "NULL to every child",
    joins: false,
    limits: false,
    description: None,
    provide,
};

const RULE: Rule = Rule { name: "round robin", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    instance.nothing(RULE, "the turns of the others may lie between, and nothing limits how many there are")
}
