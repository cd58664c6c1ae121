//! Constant bandwidth servers, hard (L. Abeni, G. Buttazzo, "Integrating Multimedia Applications in Hard Real-Time
//! Systems", RTSS 1998; HLS section 5.1).
//!
//! As first published a server that has used its budget gets a new one at once, with a later deadline: a greedy child
//! runs ahead while others sleep, and then has nothing for a long time. That is no reservation. The servers here sleep
//! until the deadline and then have budget and deadline renewed. On waking with more budget c than (d-t)*x/y, a server
//! starts a new period, as published. These are the servers of the reservation scheduler, and its analysis holds.

use super::description::{BUDGET, Description, PERIOD};
use super::{Entry, Instance, Provided, reservation};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "cbs",
    source: "Abeni and Buttazzo, RTSS 1998, with hard budgets",
    accepts: "ALL (of one CPU or several), RESU, or any supply that carries the demand",
    provides: "RESBH budget,period to every child",
    joins: false,
    description: Some(Description {
        doc: "constant bandwidth servers that sleep when their budget is used",
        scheduler_params: &[],
        vp_params: &[BUDGET, PERIOD],
    }),
    provide,
};

const RULE: Rule = Rule { name: "hard CBS", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    reservation::provide(instance).by(RULE)
}
