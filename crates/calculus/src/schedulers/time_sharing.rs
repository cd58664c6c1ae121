//! Time sharing: multi-level queues with decay and boost. HLS section 5.1: accepts anything, promises nothing;
//! where there is a CPU for each child, priorities do not matter.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "time-sharing",
    source: "HLS, section 5.1",
    accepts: "anything",
    provides: "NULL to every child; ALL where there is a CPU for each",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "time sharing", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let reason = "priorities move with behaviour, so nothing is promised";
    instance.a_cpu_each().unwrap_or_else(|| instance.nothing(RULE, reason))
}
