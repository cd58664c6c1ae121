//! Linux's time-sharing scheduler until 2.4, as HLS section 5.1 describes it: like most time-sharing schedulers it
//! provides no guarantee; where there is a CPU for each child, goodness does not matter. EEVDF, which Linux has had
//! since 6.6, is analysed in `eevdf.rs`.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "linux",
    source: "HLS, section 5.1",
    accepts: "anything",
    provides: "NULL to every child; ALL where there is a CPU for each",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "Linux", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let reason = "a child that sleeps saves counter and goes first, so nothing is promised";
    instance.a_cpu_each().unwrap_or_else(|| instance.nothing(RULE, reason))
}
