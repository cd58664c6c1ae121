//! Windows 2000's time-sharing scheduler, as HLS section 5.1 describes it: like most time-sharing schedulers it
//! provides no guarantee; where there is a CPU for each child, levels do not matter.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "windows-2000",
    source: "HLS, section 5.1",
    accepts: "anything",
    provides: "NULL to every child; ALL where there is a CPU for each",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "Windows 2000", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let reason = "priorities are boosted and decay, so nothing is promised";
    instance.a_cpu_each().unwrap_or_else(|| instance.nothing(RULE, reason))
}
