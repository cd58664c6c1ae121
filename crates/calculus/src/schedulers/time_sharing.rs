//! Time sharing: multi-level queues with decay and boost. HLS section 5.1: accepts anything, promises nothing.

use super::{Entry, Instance, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "time-sharing",
    source: "HLS, section 5.1",
    accepts: "NULL, which anything implies",
    provides: "NULL to every child",
    joins: false,
    limits: false,
    description: None,
    provide,
};

const RULE: Rule = Rule { name: "time sharing", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    instance.nothing(RULE, "priorities move with behaviour, so nothing is promised")
}
