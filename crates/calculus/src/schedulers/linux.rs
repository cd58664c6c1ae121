//! Linux's time-sharing scheduler, as HLS section 5.1 describes it: like most time-sharing schedulers it provides no
//! guarantee. EEVDF, which Linux has had since, is analysed in `eevdf.rs`.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::description::Description;

pub(super) const ENTRY: Entry = Entry {
    policy: "linux",
    source: "HLS, section 5.1",
    accepts: "NULL, which anything implies",
    provides: "NULL to every child",
    joins: false,
    limits: Limits::Nothing,
    description: Some(Description {
        doc: "the time-sharing scheduler of Linux",
        scheduler_params: &[],
        vp_params: &[],
    }),
    provide,
};

const RULE: Rule = Rule { name: "Linux", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    instance.nothing(RULE, "priorities follow behaviour, so nothing is promised")
}
