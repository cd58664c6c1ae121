//! Windows 2000's time-sharing scheduler, as HLS section 5.1 describes it: like most time-sharing schedulers it
//! provides no guarantee.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::description::Description;

pub(super) const ENTRY: Entry = Entry {
    policy: "windows-2000",
    source: "HLS, section 5.1",
    accepts: "NULL, which anything implies",
    provides: "NULL to every child",
    joins: false,
    limits: Limits::Nothing,
    description: Some(Description {
        doc: "the time-sharing scheduler of Windows 2000",
        scheduler_params: &[],
        vp_params: &[],
    }),
    provide,
};

const RULE: Rule = Rule { name: "Windows 2000", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    instance.nothing(RULE, "priorities are boosted and decay, so nothing is promised")
}
