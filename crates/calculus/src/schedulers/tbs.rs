//! Total bandwidth servers, with hard budgets and background slack (M. Spuri, G. Buttazzo, "Scheduling Aperiodic Tasks
//! in Dynamic Priority Systems", Real-Time Systems 1996; HLS section 5.1).
//!
//! As published, job k, released at r_k with the length C_k, has the deadline d_k = max(r_k, d_(k-1)) + C_k/U. Two
//! things are missing for a guarantee. A child that always wants the CPU has its next job at once, runs ahead while
//! others sleep, and then waits for long: so here job k+1 is not served before d_k (a hard budget), except in time that
//! nothing else wants, which costs no budget. And a child that blocks again and again would put its deadline off each
//! time: so a child that wakes at w with a rest c of its job, due at d, goes on with that job where c <= (d-w)*U, and
//! begins a new one otherwise. With jobs of `budget`, and U = budget/period, these are the servers of the reservation
//! scheduler, soft.

use super::{Entry, Instance, Limits, Provided, reservation};
use crate::derivation::Rule;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    policy: "tbs",
    source: "Spuri and Buttazzo, Real-Time Systems 1996, with hard budgets and background slack",
    accepts: "ALL (of one CPU or several), RESU, or any supply that carries the demand",
    provides: "RESBS budget,period to every child",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "TBS", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let mut provided = reservation::provide(instance).by(RULE);
    for label in &mut provided.labels {
        label.guarantee = label.guarantee.softened();
        Arc::make_mut(&mut label.derivation).conclusion = label.guarantee.clone();
    }
    provided
}
