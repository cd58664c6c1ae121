//! Constant bandwidth servers, hard (L. Abeni, G. Buttazzo, "Integrating Multimedia Applications in Hard Real-Time
//! Systems", RTSS 1998; HLS section 5.1).
//!
//! Two things differ from the first publication. In the publication a server that has used its budget gets a new one at
//! once, with a later deadline: a greedy child runs ahead while others sleep, and then has nothing for a long time.
//! That is no reservation, so the servers here sleep until the deadline, and then have budget and deadline renewed. And
//! there a server (x in every y) that wakes up at w, before its deadline d, with more budget c than (d-w)*x/y begins a
//! new period at once: the lower bound holds, but children that sleep and wake then have up to 2x + (t-2x)*x/y in a
//! window of length t, more than RESBH allows. So here c is cut to (d-w)*x/y. That is no less than RESBH promises,
//! since d-w is at most y. The servers demand what those of the reservation scheduler do, so the analysis of that
//! scheduler holds.

use super::{Entry, Instance, Limits, Provided, reservation};
use crate::derivation::Rule;
use crate::description::{BUDGET, Description, PERIOD};

pub(super) const ENTRY: Entry = Entry {
    policy: "cbs",
    source: "Abeni and Buttazzo, RTSS 1998, with hard budgets that are cut on waking",
    accepts: "ALL (of one CPU or several), RESU, or any supply that carries the demand",
    provides: "RESBH budget,period to every child",
    joins: false,
    limits: Limits::PaidBudget,
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
